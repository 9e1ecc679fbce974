// Defaults that are called for each row, as the catalog keeps them in the place of a constant's text.
#pragma once

#include <string_view>

#include "common/layout/schema.h"

namespace namdb::sql {

// The time of the insert, of a column that tells_time(). Constants are kept in ISO 8601.
inline constexpr std::string_view kNowDefault = "now";
// Of a uuid.
inline constexpr std::string_view kUuidDefault = "gen_random_uuid()";

inline bool tells_time(const layout::Column& column) {
  return column.type == layout::ColumnType::timestamp || column.type == layout::ColumnType::date ||
         column.type == layout::ColumnType::time ||
         column.type == layout::ColumnType::timestamp_with_time_zone;
}

// The name of the function, or of the SQL value, that gives the column its default; empty: it is a constant.
inline std::string_view called_default_name(const layout::Column& column) {
  if (!column.default_text) return {};
  if (tells_time(column) && *column.default_text == kNowDefault) {
    return column.type == layout::ColumnType::date   ? "CURRENT_DATE"
           : column.type == layout::ColumnType::time ? "LOCALTIME"
                                                     : "now()";
  }
  return column.type == layout::ColumnType::uuid && *column.default_text == kUuidDefault ? kUuidDefault
                                                                                         : std::string_view();
}

}  // namespace namdb::sql
