// A time that a text shows after a template, as to_date() and to_timestamp() read it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "common/base/error.h"

namespace namdb::sql {

struct ReadTime {
  std::int64_t clock_us = 0;             // µs since 2000-01-01, as the clock shows it
  std::optional<std::int64_t> offset_s;  // the clock's, east of UTC, if the text has it
};

// Parts that the text does not have are those of midnight on January 1 of the year 1 BC. Errors
// invalid_datetime, datetime_out_of_range; feature_not_supported: other patterns (weeks, quarters, FX, TM,
// TH, TZ).
Result<ReadTime> read_time(std::string_view text, std::string_view pattern);

}  // namespace namdb::sql
