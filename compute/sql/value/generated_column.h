// Columns whose values are calculated from the other columns of their rows, by the writers of the rows: the
// text by which the catalog keeps that as the column's default. It begins with a byte that no text of SQL can
// have.
//   0 expression               GENERATED ALWAYS AS (expression) STORED
//   0 expression 0 predicate   likewise, but NULL in rows that do not meet the predicate
// Indexes on expressions and of a part of a table are indexes on such columns. Clients do not see these; they
// have names that SQL cannot have, and stand behind all that clients see, before that of row_id.h.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "common/layout/schema.h"

namespace namdb::sql {

struct Generation {
  std::string expression;
  std::string predicate;  // empty: of all rows

  friend bool operator==(const Generation&, const Generation&) = default;
};

std::string generation_default(const Generation& generation);
// nullopt: clients write the column.
std::optional<Generation> generation_of(const layout::Column& column);

// A column of an index.
inline bool is_index_column(const layout::Column& column) {
  return column.name.starts_with('\0');
}
std::string index_column_name(std::size_t number);

// A column that clients see and do not write.
inline bool is_generated(const layout::Column& column) {
  return column.default_text && column.default_text->starts_with('\0') && !is_index_column(column);
}

}  // namespace namdb::sql
