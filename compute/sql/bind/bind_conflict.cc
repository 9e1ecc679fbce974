// ON CONFLICT of INSERT: the constraints that count, and what becomes of the row that is there.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "compute/sql/bind/bind_generated.h"
#include "compute/sql/bind/bind_role.h"
#include "compute/sql/bind/bind_statement.h"
#include "compute/sql/bind/check_status.h"
#include "compute/sql/plan/index_terms.h"

namespace namdb::sql {
namespace {

bool counts(const storage::IndexRef& index) {
  return index->unique && index->ready() && !index->replaced();
}

std::string key_of_column(std::uint32_t column) {
  Expr reference;
  reference.kind = ExprKind::column;
  reference.index = column;
  return expression_key(reference, 0);
}

// The columns and expressions of a unique index; nullopt: it has not all rows that meet the conditions.
std::optional<std::set<std::string>> keys_of_index(const storage::Index& index, const Source& source,
                                                   std::span<const Expr* const> conditions) {
  std::set<std::string> keys;
  for (const layout::IndexColumn& part : index.shape.columns()) {
    const IndexExpression* own = nullptr;
    if (source.index_expressions != nullptr) {
      for (const IndexExpression& each : *source.index_expressions)
        if (each.column == part.column) own = &each;
    }
    if (own != nullptr && !implies(conditions, own->predicate, 0)) return std::nullopt;
    keys.insert(own == nullptr ? key_of_column(part.column) : expression_key(*own->value, 0));
  }
  return keys;
}

Result<std::set<std::string>> inferred_keys(StatementBinder& binder, const storage::Table& table,
                                            const Json& infer) {
  ErrorPlace* const place = binder.input.place;
  std::set<std::string> columns;
  for (const Json& item : list(infer, "indexElems")) {
    const Json& element = *node(item).body;
    NAMDB_SQL_CHECK(only(element, "ON CONFLICT", {"name", "expr", "ordering", "nulls_ordering"}));
    if (const Json* const expression = find(element, "expr")) {
      constexpr KeptUse kUse = {"ON CONFLICT", "ON CONFLICT", ""};
      NAMDB_SQL_ASSIGN(const ExprPtr value, bind_over_columns(binder, *expression, table.name,
                                                              table.schema.columns(), kUse, nullptr));
      columns.insert(expression_key(*value, 0));
      continue;
    }
    const std::string_view name = text(element, "name");
    const std::optional<std::uint32_t> column = table.schema.find(name);
    if (!column) {
      return located(
          place, infer,
          Status(ErrorCode::undefined_column, "column \"" + std::string(name) + "\" does not exist"));
    }
    columns.insert(key_of_column(*column));
  }
  return columns;
}

Status bind_constraints(StatementBinder& binder, const Source& source,
                        std::span<const storage::IndexRef> indexes, const Json& infer,
                        ConflictPlan& conflict) {
  const storage::Table& table = *source.table;
  NAMDB_SQL_CHECK(only(infer, "ON CONFLICT", {"indexElems", "conname", "whereClause"}));
  if (const std::string_view name = text(infer, "conname"); !name.empty()) {
    conflict.primary_key = name == table.primary_key_name();
    for (const storage::IndexRef& index : indexes) {
      if (counts(index) && index->constraint && index->name == name) conflict.indexes.push_back(index);
    }
    if (conflict.primary_key || !conflict.indexes.empty()) return {};
    return Status(ErrorCode::undefined_object,
                  "constraint \"" + std::string(name) + "\" for table \"" + table.name + "\" does not exist");
  }
  NAMDB_SQL_ASSIGN(const std::set<std::string> columns, inferred_keys(binder, table, infer));
  ExprPtr where;
  if (const Json* const given = find(infer, "whereClause")) {
    constexpr KeptUse kUse = {"ON CONFLICT", "ON CONFLICT", ""};
    NAMDB_SQL_ASSIGN(where,
                     bind_over_columns(binder, *given, table.name, table.schema.columns(), kUse, "WHERE"));
  }
  std::set<std::string> key;
  for (const std::uint32_t column : table.schema.key()) key.insert(key_of_column(column));
  conflict.primary_key = columns == key;
  if (conflict.primary_key) return {};
  const std::vector<const Expr*> conditions =
      where == nullptr ? std::vector<const Expr*>() : conjuncts(*where);
  for (const storage::IndexRef& index : indexes) {
    if (counts(index) && keys_of_index(*index, source, conditions) == columns)
      conflict.indexes.push_back(index);
  }
  if (!conflict.indexes.empty()) return {};
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
    NAMDB_SQL_ASSIGN(source.index_expressions, bind_index_expressions(binder, *table));
    NAMDB_SQL_CHECK(bind_constraints(binder, source, indexes, *infer, *conflict));
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
