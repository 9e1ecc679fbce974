// Defaults that are called for each row, as the catalog keeps them in the place of a constant's text.
#pragma once

#include <optional>
#include <string_view>

#include "common/layout/schema.h"

namespace namdb::sql {

// The time of the insert, of a column that tells_time(). Constants are kept in ISO 8601.
inline constexpr std::string_view kNowDefault = "now";
// The default of a uuid.
inline constexpr std::string_view kUuidDefault = "gen_random_uuid()";

inline bool tells_time(const layout::Column& column) {
  return column.type == layout::ColumnType::timestamp || column.type == layout::ColumnType::date ||
         column.type == layout::ColumnType::time || column.type == layout::ColumnType::time_with_time_zone ||
         column.type == layout::ColumnType::timestamp_with_time_zone;
}

struct CalledDefault {
  std::string_view function;
  std::string_view shown;  // as definitions show it
};

// nullopt: the default is a constant, or there is none.
inline std::optional<CalledDefault> called_default_of(const layout::Column& column) {
  if (!column.default_text) return std::nullopt;
  if (column.type == layout::ColumnType::uuid && *column.default_text == kUuidDefault)
    return CalledDefault{"gen_random_uuid", kUuidDefault};
  if (!tells_time(column) || *column.default_text != kNowDefault) return std::nullopt;
  if (column.type == layout::ColumnType::date) return CalledDefault{"current_date", "CURRENT_DATE"};
  if (column.type == layout::ColumnType::time) return CalledDefault{"localtime", "LOCALTIME"};
  if (column.type == layout::ColumnType::time_with_time_zone)
    return CalledDefault{"current_time", "CURRENT_TIME"};
  return CalledDefault{"now", "now()"};
}

}  // namespace namdb::sql
