// ON CONFLICT of INSERT: the constraints that count, and what becomes of the row that is there.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "compute/sql/bind/bind_role.h"
#include "compute/sql/bind/bind_statement.h"
#include "compute/sql/bind/check_status.h"

namespace namdb::sql {
namespace {

bool counts(const storage::IndexRef& index) {
  return index->unique && index->ready() && !index->replaced();
}

std::set<std::uint32_t> columns_of_index(const storage::Index& index) {
  std::set<std::uint32_t> columns;
  for (const layout::IndexColumn& part : index.shape.columns()) columns.insert(part.column);
  return columns;
}

Result<std::set<std::uint32_t>> inferred_columns(const storage::Table& table, const Json& infer,
                                                 ErrorPlace* place) {
  std::set<std::uint32_t> columns;
  for (const Json& item : list(infer, "indexElems")) {
    const Json& element = *node(item).body;
    if (find(element, "expr") != nullptr) return unsupported("an expression in ON CONFLICT");
    NAMDB_SQL_CHECK(only(element, "ON CONFLICT", {"name", "ordering", "nulls_ordering"}));
    const std::string_view name = text(element, "name");
    const std::optional<std::uint32_t> column = table.schema.find(name);
    if (!column) {
      return located(
          place, infer,
          Status(ErrorCode::undefined_column, "column \"" + std::string(name) + "\" does not exist"));
    }
    columns.insert(*column);
  }
  return columns;
}

Status bind_constraints(const storage::Table& table, std::span<const storage::IndexRef> indexes,
                        const Json& infer, ErrorPlace* place, ConflictPlan& conflict) {
  NAMDB_SQL_CHECK(only(infer, "ON CONFLICT", {"indexElems", "conname"}));
  if (const std::string_view name = text(infer, "conname"); !name.empty()) {
    conflict.primary_key = name == table.primary_key_name();
    for (const storage::IndexRef& index : indexes) {
      if (counts(index) && index->constraint && index->name == name) conflict.indexes.push_back(index);
    }
    if (conflict.primary_key || !conflict.indexes.empty()) return {};
    return Status(ErrorCode::undefined_object,
                  "constraint \"" + std::string(name) + "\" for table \"" + table.name + "\" does not exist");
  }
  NAMDB_SQL_ASSIGN(const std::set<std::uint32_t> columns, inferred_columns(table, infer, place));
  const std::vector<std::uint32_t>& key = table.schema.key();
  conflict.primary_key = columns == std::set<std::uint32_t>(key.begin(), key.end());
  if (conflict.primary_key) return {};
  for (const storage::IndexRef& index : indexes) {
    if (!counts(index) || columns_of_index(*index) != columns) continue;
    conflict.indexes.push_back(index);
    return {};
  }
  return Status(ErrorCode::invalid_column_reference,
                "there is no unique or exclusion constraint matching the ON CONFLICT specification");
}

}  // namespace

Status bind_conflict(StatementBinder& binder, const Json& clause, const storage::TableRef& table,
                     const std::string& name, std::unique_ptr<ConflictPlan>& out) {
  NAMDB_SQL_CHECK(only(clause, "ON CONFLICT", {"action", "infer", "targetList", "whereClause"}));
  auto conflict = std::make_unique<ConflictPlan>();
  conflict->updates = text(clause, "action") == "ONCONFLICT_UPDATE";
  Source source;
  source.table = table;
  source.name = name;
  const std::span<const storage::IndexRef> indexes = indexes_of(binder.input, source);
  if (conflict->updates) require(binder, table, storage::kUpdatePrivilege);
  if (const Json* infer = find(clause, "infer")) {
    require(binder, table, storage::kSelectPrivilege);
    NAMDB_SQL_CHECK(bind_constraints(*table, indexes, *infer, binder.input.place, *conflict));
  } else if (conflict->updates) {
    return Status(ErrorCode::syntax_error,
                  "ON CONFLICT DO UPDATE requires inference specification or constraint name",
                  "For example, ON CONFLICT (column_name).");
  } else {
    conflict->primary_key = true;
    std::ranges::copy_if(indexes, std::back_inserter(conflict->indexes), counts);
  }
  ExpressionBinder expressions(binder.parameters, binder.input.facts, binder.input.place);
  expressions.set_query(&binder, nullptr);
  Scope scope = scope_of(source);
  scope.add("excluded", "", columns_of(source));
  expressions.set_scope(std::move(scope));
  expressions.set_aggregates(nullptr, "UPDATE");
  for (const Json& item : list(clause, "targetList")) {
    NAMDB_SQL_CHECK(
        bind_assignment(expressions, *table, *node(item).body, binder.input.place, conflict->assignments));
  }
  if (conflict->updates)
    NAMDB_SQL_CHECK(bind_where(expressions, find(clause, "whereClause"), conflict->filter));
  out = std::move(conflict);
  return {};
}

}  // namespace namdb::sql
