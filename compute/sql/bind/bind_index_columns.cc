#include "compute/sql/bind/bind_index_columns.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/layout/long_value.h"
#include "compute/sql/bind/bind_column.h"
#include "compute/sql/bind/bind_generated.h"
#include "compute/sql/bind/check_status.h"
#include "compute/sql/bind/table_draft.h"
#include "compute/sql/catalog/definition_text.h"
#include "compute/sql/value/generated_column.h"

namespace namdb::sql {
namespace {

// One that the index shares with the table, or one that it gets.
struct Part {
  layout::Column column;
  Generation generation;  // no expression: it is the table's
  std::string name;       // a part of the name of the index
};

Result<Part> bind_named(const storage::Table& table, std::string_view name) {
  const std::optional<std::uint32_t> column = table.schema.find(name);
  if (!column)
    return Status(ErrorCode::undefined_column, "column \"" + std::string(name) + "\" does not exist");
  return Part{table.schema.columns()[*column], {}, std::string(name)};
}

Result<Part> bind_expression_part(StatementBinder& binder, const storage::Table& table,
                                  const Json& expression) {
  const std::vector<layout::Column>& columns = table.schema.columns();
  NAMDB_SQL_ASSIGN(ExprPtr value,
                   bind_over_columns(binder, expression, table.name, columns, kIndexUse, nullptr));
  if (value->kind == ExprKind::column) {
    const std::string name = columns[value->index].name;
    return bind_named(table, name);
  }
  Part part;
  part.name = column_name_of(expression);
  if (part.name == "?column?") part.name = "expr";
  NAMDB_SQL_ASSIGN(part.generation.expression, kept_text(binder, *value, table.name, columns, kIndexUse));
  const bool is_open = value->type.id == TypeId::unknown;
  NAMDB_SQL_CHECK(set_column_type(part.column, is_open ? Type{TypeId::text} : value->type));
  return part;
}

// A column of its own with the values of the table's column.
void copy_column(Part& part) {
  part.generation.expression = quote_identifier(part.column.name);
  // Room as a column of an index has it.
  if (layout::can_be_long(part.column) && part.column.length_bytes == kRoom_bytes)
    part.column.length_bytes = 0;
  part.column.not_null = false;
}

// PostgreSQL's names of the columns: those that are there already get numbers.
std::vector<std::string> numbered_names(const std::vector<Part>& parts) {
  std::vector<std::string> names;
  for (const Part& part : parts) {
    std::string name = part.name;
    for (std::size_t i = 1; std::ranges::find(names, name) != names.end(); ++i)
      name = part.name + std::to_string(i);
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace

bool needs_index_columns(const Json& body) {
  return find(body, "whereClause") != nullptr ||
         std::ranges::any_of(list(body, "indexParams"),
                             [](const Json& item) { return find(*node(item).body, "expr") != nullptr; });
}

Status bind_index_columns(StatementBinder& binder, const Json& body, CreateIndexPlan& create) {
  const storage::Table& table = *create.table;
  std::vector<Part> parts;
  std::vector<bool> descending;
  for (const Json& item : list(body, "indexParams")) {
    const Json& element = *node(item).body;
    NAMDB_SQL_CHECK(only(element, "CREATE INDEX", {"name", "expr", "ordering", "nulls_ordering", "opclass"}));
    const Json* const expression = find(element, "expr");
    NAMDB_SQL_ASSIGN(Part part, expression != nullptr ? bind_expression_part(binder, table, *expression)
                                                      : bind_named(table, text(element, "name")));
    const bool twice =
        part.generation.expression.empty() && std::ranges::any_of(parts, [&](const Part& other) {
          return other.generation.expression.empty() && other.column.name == part.column.name;
        });
    if (twice) return unsupported("an index that has a column twice");
    NAMDB_SQL_CHECK(check_index_column(part.column, create.hash));
    NAMDB_SQL_ASSIGN(const bool is_descending, bind_index_order(element, part.column, create.hash));
    parts.push_back(std::move(part));
    descending.push_back(is_descending);
  }
  if (const Json* const where = find(body, "whereClause")) {
    const std::vector<layout::Column>& columns = table.schema.columns();
    NAMDB_SQL_ASSIGN(const ExprPtr predicate,
                     bind_over_columns(binder, *where, table.name, columns, kPredicateUse, "WHERE"));
    if (parts.front().generation.expression.empty()) copy_column(parts.front());
    NAMDB_SQL_ASSIGN(parts.front().generation.predicate,
                     kept_text(binder, *predicate, table.name, columns, kPredicateUse));
  }
  if (create.name_is_chosen) {
    const std::vector<std::string> names = numbered_names(parts);
    const std::vector<std::string_view> views(names.begin(), names.end());
    create.name = index_name(table.name, views, "idx");
  }
  if (std::ranges::all_of(parts, [](const Part& part) { return part.generation.expression.empty(); })) {
    for (std::size_t i = 0; i < parts.size(); ++i)
      create.columns.push_back({*table.schema.find(parts[i].column.name), static_cast<bool>(descending[i])});
    return {};
  }
  NAMDB_SQL_ASSIGN(TableDraft draft, TableDraft::of(binder, create.table));
  std::vector<std::string> names;
  for (Part& part : parts) {
    if (part.generation.expression.empty()) {
      names.push_back(part.column.name);
      continue;
    }
    part.column.default_text = generation_default(part.generation);
    names.push_back(draft.add_index_column(std::move(part.column)));
  }
  draft.add_index(create.name, std::move(names), std::move(descending), create.unique, create.hash);
  NAMDB_SQL_ASSIGN(AlterTablePlan change, std::move(draft).finish());
  create.change = std::make_shared<const AlterTablePlan>(std::move(change));
  return {};
}

}  // namespace namdb::sql
