// Generated columns of a table that is altered, and the columns of its indexes on expressions and of a part
// of it.
#include <algorithm>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "compute/sql/bind/bind_generated.h"
#include "compute/sql/bind/check_status.h"
#include "compute/sql/bind/table_draft.h"
#include "compute/sql/value/generated_column.h"

namespace namdb::sql {

Result<std::vector<std::string>> TableDraft::generated_of(std::string_view column, bool of_indexes) const {
  std::vector<std::string> names;
  for (const layout::Column& generated : definition_.columns) {
    if (is_index_column(generated) != of_indexes || generated.name == column) continue;
    NAMDB_SQL_ASSIGN(const std::set<std::string> read,
                     columns_of_generated(binder_, generated, table_->name, definition_.columns));
    if (read.contains(std::string(column))) names.push_back(generated.name);
  }
  return names;
}

Status TableDraft::drop_generated_of(std::string_view column, bool cascades) {
  NAMDB_SQL_ASSIGN(const std::vector<std::string> generated, generated_of(column, false));
  if (!generated.empty() && !cascades) {
    const std::string dropped = "column " + std::string(column) + " of table " + table_->name;
    std::string detail;
    for (const std::string& name : generated) {
      detail += (detail.empty() ? "column " : "\ncolumn ") + name + " of table " + table_->name +
                " depends on " + dropped;
    }
    return detailed(binder_.input.place,
                    Status(ErrorCode::dependent_objects_still_exist,
                           "cannot drop " + dropped + " because other objects depend on it",
                           "Use DROP ... CASCADE to drop the dependent objects too."),
                    std::move(detail));
  }
  for (const std::string& name : generated) {
    cascaded_texts_.push_back("column " + name + " of table " + table_->name);
    NAMDB_SQL_CHECK(drop_column(name, true));
  }
  NAMDB_SQL_ASSIGN(const std::vector<std::string> indexed, generated_of(column, true));
  std::erase_if(others_, [&](const OtherIndex& index) {
    return std::ranges::any_of(indexed, [&](const std::string& name) {
      return std::ranges::find(index.columns, name) != index.columns.end();
    });
  });
  arrange_index_columns();
  return {};
}

Status TableDraft::check_no_generated(std::string_view column) const {
  NAMDB_SQL_ASSIGN(const std::vector<std::string> generated, generated_of(column, false));
  if (!generated.empty()) {
    return detailed(
        binder_.input.place,
        Status(ErrorCode::feature_not_supported, "cannot alter type of a column used by a generated column"),
        "Column \"" + std::string(column) + "\" is used by generated column \"" + generated.front() + "\".");
  }
  NAMDB_SQL_ASSIGN(const std::vector<std::string> indexed, generated_of(column, true));
  if (indexed.empty()) return {};
  return Status(
      ErrorCode::feature_not_supported,
      "cannot alter type of a column that an index on an expression, or of a part of the table, uses",
      "drop the index, and create it again afterwards");
}

Status TableDraft::drop_expression(std::string_view name) {
  NAMDB_SQL_ASSIGN(layout::Column* const found, column(name));
  found->default_text.reset();
  if (table_->schema.find(name)) values_[found->name] = old_value(name);
  return {};
}

std::string TableDraft::add_index_column(layout::Column column) {
  std::size_t number = 1;
  while (definition_.find(index_column_name(number)) != nullptr) ++number;
  column.name = index_column_name(number);
  values_[column.name] = nullptr;
  definition_.columns.push_back(column);
  replaces_rows_ = true;
  return column.name;
}

void TableDraft::add_index(std::string name, std::vector<std::string> columns, std::vector<bool> descending,
                           bool unique, bool hash) {
  others_.push_back({std::move(name), std::move(columns), std::move(descending), unique, hash});
}

void TableDraft::arrange_index_columns() {
  std::erase_if(definition_.columns, [&](const layout::Column& column) {
    return is_index_column(column) && std::ranges::none_of(others_, [&](const OtherIndex& index) {
             return std::ranges::find(index.columns, column.name) != index.columns.end();
           });
  });
  std::vector<layout::Column> behind;
  for (const layout::Column& column : definition_.columns) {
    if (is_index_column(column)) behind.push_back(column);
  }
  std::erase_if(definition_.columns, is_index_column);
  std::ranges::move(behind, std::back_inserter(definition_.columns));
}

}  // namespace namdb::sql
