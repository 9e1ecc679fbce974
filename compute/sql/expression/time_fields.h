// Fields of timestamps and intervals, as extract() and date_trunc() name them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "common/base/error.h"
#include "compute/sql/value/decimal.h"
#include "compute/sql/value/interval.h"
#include "compute/sql/value/types.h"

namespace namdb::sql {

// The field of a time that a clock shows: µs since 2000-01-01, not infinite. `offset_s` is the clock's, of
// timestamptz. Errors invalid_parameter_value, feature_not_supported: `type` has no such field.
Result<Decimal> clock_field(std::string_view field, TypeId type, std::int64_t clock_us,
                            std::optional<std::int64_t> offset_s);
// The field of a finite date, also of one beyond the range of timestamps.
Result<Decimal> field_of_date(std::string_view field, std::int64_t days);
Result<Decimal> interval_field(std::string_view field, const Interval& interval);
// For an infinite time: false: the field is NULL; true: the field is infinite, too.
bool grows_with_time(std::string_view field);

// Without what is smaller than the field.
Result<std::int64_t> truncate_clock(std::string_view field, TypeId type, std::int64_t clock_us);
Result<Interval> truncate_interval(std::string_view field, const Interval& interval);

}  // namespace namdb::sql
