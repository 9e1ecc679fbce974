// Intervals and decimal numbers as fields of rows (common/layout/wide_value.h).
#pragma once

#include "common/layout/wide_value.h"
#include "compute/sql/value/datum.h"

namespace namdb::sql {

inline layout::WideField wide_field_of(const Interval& interval) {
  return layout::wide_field(layout::IntervalField{interval.time_us, interval.days, interval.months});
}

inline layout::WideField wide_field_of(const Decimal& number) {
  return layout::wide_field(layout::DecimalField{number.value, static_cast<std::uint8_t>(number.scale)});
}

inline void read_wide(const layout::Column& column, const std::byte* field, Datum& out) {
  if (column.type == layout::ColumnType::interval) {
    const layout::IntervalField interval = layout::interval_of(field);
    out = Datum::of_interval({interval.months, interval.days, interval.time_us});
  } else {
    const layout::DecimalField number = layout::decimal_of(field);
    out = Datum::of_decimal({number.value, number.scale});
  }
}

}  // namespace namdb::sql
