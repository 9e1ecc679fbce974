// Tables without a primary key have a column that clients do not see, whose random values are their key. It
// is the last column.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "common/layout/schema.h"

namespace namdb::sql {

inline constexpr std::string_view kRowIdColumn = "namdb_row_id";

inline bool is_row_id(const layout::Column& column) {
  return column.type == layout::ColumnType::uuid && column.name == kRowIdColumn;
}

inline bool has_row_id(const layout::Schema& schema) {
  return is_row_id(schema.columns().back());
}

// Its position, in a table that has it.
inline std::uint32_t row_id_column(const layout::Schema& schema) {
  return static_cast<std::uint32_t>(schema.columns().size() - 1);
}

// Those that clients see.
inline std::span<const layout::Column> shown_columns(const layout::Schema& schema) {
  return std::span(schema.columns()).first(schema.columns().size() - (has_row_id(schema) ? 1 : 0));
}

}  // namespace namdb::sql
