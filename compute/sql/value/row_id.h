// Tables without a primary key have a column that clients do not see, whose random values are their key. It
// is the last column. Before it stand those of indexes (generated_column.h), which clients do not see either.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "common/layout/schema.h"
#include "compute/sql/value/generated_column.h"

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

inline bool is_hidden(const layout::Column& column) {
  return is_row_id(column) || is_index_column(column);
}

// The columns that clients see.
inline std::span<const layout::Column> shown_columns(const layout::Schema& schema) {
  std::span<const layout::Column> columns = schema.columns();
  while (!columns.empty() && is_hidden(columns.back())) columns = columns.first(columns.size() - 1);
  return columns;
}

}  // namespace namdb::sql
