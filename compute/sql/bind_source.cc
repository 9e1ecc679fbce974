#include "compute/sql/bind_statement.h"
#include "compute/sql/check_status.h"
#include "compute/sql/virtual_table.h"

namespace namdb::sql {
namespace {

// The conditions that AND connects.
void conjuncts(const Expr& filter, std::vector<const Expr*>& out) {
  if (filter.kind != ExprKind::logical_and) {
    out.push_back(&filter);
    return;
  }
  for (const ExprPtr& part : filter.args) conjuncts(*part, out);
}

// Whether equality of the column with such a value is equality of what is stored: then the value, converted,
// is the key. Comparisons that convert the column (integer = 1.5::float8) are not.
bool decides_key(const Expr& column, const Expr& value) {
  return column.kind == ExprKind::column && column.type.type_class() == value.type.type_class() &&
         is_row_independent(value);
}

// `integer_column = 1.5` compares as numeric; the column is below a cast.
const Expr* without_cast(const Expr& expr) {
  if (expr.kind != ExprKind::cast || expr.explicit_cast) return &expr;
  const Expr& inner = *expr.args[0];
  const bool exact =
      inner.type.is_string() && expr.type.id != TypeId::bpchar && inner.type.id != TypeId::bpchar;
  const bool integer_to_numeric = inner.type.is_integer() && expr.type.id == TypeId::numeric;
  return exact || integer_to_numeric ? &inner : &expr;
}

}  // namespace

std::vector<ExprPtr> find_key(const storage::Table& table, const Expr* filter) {
  if (filter == nullptr) return {};
  std::vector<const Expr*> conditions;
  conjuncts(*filter, conditions);
  std::vector<ExprPtr> key;
  for (const std::uint32_t column : table.schema.key()) {
    ExprPtr found;
    for (const Expr* condition : conditions) {
      if (condition->kind != ExprKind::compare || condition->op != '=') continue;
      for (std::size_t side = 0; side < 2 && found == nullptr; ++side) {
        const Expr* left = without_cast(*condition->args[side]);
        const Expr* right = condition->args[1 - side].get();
        if (left->kind != ExprKind::column || left->index != column) continue;
        // An integer column compared as numeric: the key exists only if the number is whole.
        const bool numeric_for_integer =
            left->type.is_integer() && right->type.id == TypeId::numeric && is_row_independent(*right);
        if (decides_key(*left, *right) || numeric_for_integer) found = clone(*right);
      }
      if (found != nullptr) break;
    }
    if (found == nullptr) return {};
    key.push_back(std::move(found));
  }
  return key;
}

Result<std::string> relation_name(const Json& range_var) {
  NAMDB_SQL_CHECK(only(range_var, "a table name",
                       {"schemaname", "relname", "inh", "relpersistence", "alias", "catalogname"}));
  const std::string_view schema = text(range_var, "schemaname");
  const std::string_view name = text(range_var, "relname");
  if (!text(range_var, "catalogname").empty()) return unsupported("a name with a database");
  if (text(range_var, "relpersistence") == "t") return unsupported("a temporary table");
  if (!schema.empty() && schema != "public") {
    return Status(ErrorCode::undefined_table,
                  "relation \"" + std::string(schema) + "." + std::string(name) + "\" does not exist",
                  "the one schema is public");
  }
  return std::string(name);
}

Result<storage::TableRef> bind_table(const StatementBinder& binder, const Json& range_var) {
  NAMDB_SQL_ASSIGN(const std::string name, relation_name(range_var));
  const auto table = binder.input.tables.find(name);
  if (table == binder.input.tables.end()) {
    if (find_virtual_table("", name) != nullptr) {
      return Status(ErrorCode::insufficient_privilege,
                    "permission denied for table " + name + ": it can only be read");
    }
    return Status(ErrorCode::undefined_table, "relation \"" + name + "\" does not exist");
  }
  return table->second;
}

Result<Source> bind_source(StatementBinder& binder, ExpressionBinder& expressions, const Json& range_var,
                           const Json* where) {
  Source source;
  const std::string_view schema = text(range_var, "schemaname");
  const std::string_view relation = text(range_var, "relname");
  const Json* alias = find(range_var, "alias");
  const bool stored = binder.input.tables.contains(relation) && (schema.empty() || schema == "public");
  if (!stored) source.virtual_table = find_virtual_table(schema, relation);
  if (source.virtual_table == nullptr) {
    NAMDB_SQL_ASSIGN(source.table, bind_table(binder, range_var));
  }
  source.name = relation;
  if (alias != nullptr) {
    NAMDB_SQL_CHECK(only(*alias, "an alias", {"aliasname"}));
    source.name = text(*alias, "aliasname");
  }
  expressions.set_scope(scope_of(source));
  if (where != nullptr) {
    expressions.set_aggregates(nullptr, "WHERE");
    NAMDB_SQL_ASSIGN(source.filter, expressions.bind_condition(*where, "WHERE"));
    if (source.table != nullptr) source.key = find_key(*source.table, source.filter.get());
  }
  return source;
}

}  // namespace namdb::sql
