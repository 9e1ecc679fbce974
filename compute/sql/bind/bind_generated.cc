#include "compute/sql/bind/bind_generated.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "compute/sql/bind/bind_column.h"
#include "compute/sql/bind/check_status.h"
#include "compute/sql/catalog/definition_text.h"
#include "compute/sql/expression/expression_text.h"
#include "compute/sql/expression/immutable.h"
#include "compute/sql/plan/conditions.h"
#include "compute/sql/value/generated_column.h"
#include "compute/sql/value/row_id.h"

namespace namdb::sql {
namespace {

bool holds_subquery(const Json& tree) {
  if (!tree.is_structured()) return false;
  if (tree.is_object() && tree.contains("SubLink")) return true;
  return std::ranges::any_of(tree, holds_subquery);
}

Result<ExprPtr> bind_kept_generated(StatementBinder& binder, const std::string& expression,
                                    const std::string& table, std::span<const layout::Column> columns,
                                    const layout::Column& column) {
  const bool of_index = is_index_column(column);
  const std::string what =
      of_index ? "an index of table \"" + table + "\"" : "column \"" + column.name + "\"";
  return bind_kept(binder, expression, table, columns, of_index ? kIndexUse : kGenerationUse, nullptr, what);
}

Result<ExprPtr> bind_kept_predicate(StatementBinder& binder, const std::string& predicate,
                                    const std::string& table, std::span<const layout::Column> columns) {
  return bind_kept(binder, predicate, table, columns, kPredicateUse, "WHERE",
                   "an index of table \"" + table + "\"");
}

}  // namespace

Result<ExprPtr> bind_over_columns(StatementBinder& binder, const Json& expression, const std::string& table,
                                  std::span<const layout::Column> columns, const KeptUse& use,
                                  const char* construct) {
  if (holds_subquery(expression))
    return Status(ErrorCode::feature_not_supported, "cannot use subquery in " + std::string(use.one));
  ExpressionBinder expressions(binder.parameters, binder.input.facts, binder.input.place);
  expressions.set_aggregates(nullptr, use.several);
  Scope scope;
  std::vector<Scope::Column> scope_columns;
  for (const layout::Column& column : columns)
    scope_columns.push_back({column.name, column_type(column), is_hidden(column)});
  scope.add(table, table, scope_columns);
  expressions.set_scope(std::move(scope));
  Result<ExprPtr> bound =
      construct == nullptr ? expressions.bind(expression) : expressions.bind_condition(expression, construct);
  if (bound.ok() && !use.not_immutable.empty() && !is_immutable(**bound))
    return Status(ErrorCode::invalid_object_definition, std::string(use.not_immutable));
  return bound;
}

Result<ExprPtr> bind_kept(StatementBinder& binder, const std::string& expression, const std::string& table,
                          std::span<const layout::Column> columns, const KeptUse& use, const char* construct,
                          const std::string& what) {
  const auto parsed = parse_sql("SELECT " + expression);
  const auto* const tree = std::get_if<SyntaxTree>(&parsed);
  const Json* target = nullptr;
  if (tree != nullptr && tree->statement_count() == 1) {
    const Json& targets = list(*tree->statement(0).body, "targetList");
    if (targets.size() == 1) target = find(*node(targets[0]).body, "val");
  }
  if (target == nullptr)
    return Status(ErrorCode::corrupt_data, "the expression of " + what + " cannot be read");
  // Its places are not those of the statement's text.
  const BindInput input = [&] {
    BindInput kept;
    kept.facts = binder.input.facts;
    return kept;
  }();
  StatementBinder own{input, {}};
  return bind_over_columns(own, *target, table, columns, use, construct);
}

Result<std::string> kept_text(StatementBinder& binder, const Expr& expression, const std::string& table,
                              std::span<const layout::Column> columns, const KeptUse& use) {
  std::vector<std::string> names;
  for (const layout::Column& column : columns) names.push_back(quote_identifier(column.name));
  std::string text = expression_text(expression, names);
  const Result<ExprPtr> again = bind_kept(binder, text, table, columns, use, nullptr, "a statement");
  if (!again.ok() || (*again)->type.id != expression.type.id) {
    return unsupported("this expression in " + std::string(use.several));
  }
  return text;
}

Result<ExprPtr> bind_generated_value(StatementBinder& binder, const layout::Column& column,
                                     const std::string& table, std::span<const layout::Column> columns) {
  const Generation generation = generation_of(column).value();
  NAMDB_SQL_ASSIGN(ExprPtr value, bind_kept_generated(binder, generation.expression, table, columns, column));
  ExpressionBinder expressions(binder.parameters, binder.input.facts, nullptr);
  NAMDB_SQL_CHECK(coerce_to_column(expressions, value, column));
  if (generation.predicate.empty()) return value;
  NAMDB_SQL_ASSIGN(ExprPtr predicate, bind_kept_predicate(binder, generation.predicate, table, columns));
  ExprPtr chosen = make_expr(ExprKind::case_when, value->type);
  chosen->args.push_back(std::move(predicate));
  chosen->args.push_back(std::move(value));
  return chosen;
}

Status bind_new_generated(StatementBinder& binder, Definition& definition) {
  const std::vector<Definition::NewGenerated> all = std::exchange(definition.new_generated, {});
  for (const Definition::NewGenerated& added : all) {
    layout::Column* const column = definition.find(added.column);
    if (column == nullptr) continue;  // the same statement drops it
    NAMDB_SQL_ASSIGN(ExprPtr value, bind_over_columns(binder, *added.expression, definition.table,
                                                      definition.columns, kGenerationUse, nullptr));
    Status status;
    for_each_column(*value, [&](std::uint32_t position) {
      const layout::Column& read = definition.columns[position];
      const bool is_new = std::ranges::count(all, read.name, &Definition::NewGenerated::column) != 0;
      if (!is_new && !is_generated(read)) return;
      status =
          detailed(binder.input.place,
                   Status(ErrorCode::invalid_object_definition, "cannot use generated column \"" + read.name +
                                                                    "\" in column generation expression"),
                   "A generated column cannot reference another generated column.");
    });
    NAMDB_SQL_CHECK(std::move(status));
    NAMDB_SQL_ASSIGN(std::string text,
                     kept_text(binder, *value, definition.table, definition.columns, kGenerationUse));
    ExpressionBinder expressions(binder.parameters, binder.input.facts, binder.input.place);
    const std::string type(type_name(value->type.id));
    status = coerce_to_column(expressions, value, *column);
    if (!status.ok() && status.code() == ErrorCode::datatype_mismatch) {
      return Status(ErrorCode::datatype_mismatch,
                    "column \"" + column->name + "\" is of type " +
                        std::string(type_name(column_type(*column).id)) +
                        " but default expression is of type " + type,
                    "You will need to rewrite or cast the expression.");
    }
    NAMDB_SQL_CHECK(std::move(status));
    column->default_text = generation_default({std::move(text), {}});
  }
  for (const std::string& name : definition.key) {
    const layout::Column* const column = definition.find(name);
    if (column != nullptr && is_generated(*column)) return unsupported("a generated column in a primary key");
  }
  return {};
}

Result<std::set<std::string>> columns_of_generated(StatementBinder& binder, const layout::Column& column,
                                                   const std::string& table,
                                                   std::span<const layout::Column> columns) {
  std::set<std::string> names;
  const auto generation = generation_of(column);
  if (!generation) return names;
  const auto add = [&](std::uint32_t position) { names.insert(columns[position].name); };
  NAMDB_SQL_ASSIGN(const ExprPtr value,
                   bind_kept_generated(binder, generation->expression, table, columns, column));
  for_each_column(*value, add);
  if (generation->predicate.empty()) return names;
  NAMDB_SQL_ASSIGN(const ExprPtr predicate,
                   bind_kept_predicate(binder, generation->predicate, table, columns));
  for_each_column(*predicate, add);
  return names;
}

Status rename_in_generated(StatementBinder& binder, layout::Column& column, const std::string& table,
                           std::span<const layout::Column> columns, std::span<const layout::Column> renamed) {
  auto generation = generation_of(column);
  if (!generation) return {};
  std::vector<std::string> names;
  for (const layout::Column& other : renamed) names.push_back(quote_identifier(other.name));
  NAMDB_SQL_ASSIGN(const ExprPtr value,
                   bind_kept_generated(binder, generation->expression, table, columns, column));
  generation->expression = expression_text(*value, names);
  if (!generation->predicate.empty()) {
    NAMDB_SQL_ASSIGN(const ExprPtr predicate,
                     bind_kept_predicate(binder, generation->predicate, table, columns));
    generation->predicate = expression_text(*predicate, names);
  }
  column.default_text = generation_default(*generation);
  return {};
}

Result<std::shared_ptr<const std::vector<IndexExpression>>> bind_index_expressions(
    StatementBinder& binder, const storage::Table& table) {
  std::shared_ptr<std::vector<IndexExpression>> found;
  const std::vector<layout::Column>& columns = table.schema.columns();
  for (std::uint32_t i = 0; i < columns.size(); ++i) {
    const auto generation = is_index_column(columns[i]) ? generation_of(columns[i]) : std::nullopt;
    if (!generation) continue;
    if (found == nullptr) found = std::make_shared<std::vector<IndexExpression>>();
    IndexExpression& expression = found->emplace_back();
    expression.column = i;
    NAMDB_SQL_ASSIGN(expression.value,
                     bind_kept_generated(binder, generation->expression, table.name, columns, columns[i]));
    if (generation->predicate.empty()) continue;
    NAMDB_SQL_ASSIGN(ExprPtr predicate,
                     bind_kept_predicate(binder, generation->predicate, table.name, columns));
    expression.predicate = take_conjuncts(std::move(predicate));
  }
  return std::shared_ptr<const std::vector<IndexExpression>>(std::move(found));
}

void keep_changed(std::vector<CheckCondition>& checks, std::set<std::uint32_t>& assigned) {
  std::erase_if(checks, [&](const CheckCondition& check) {
    if (!check.generated) return false;
    const bool stays =
        all_columns(*check.condition, [&](std::uint32_t column) { return !assigned.contains(column); });
    if (!stays) assigned.insert(*check.generated);
    return stays;
  });
}

}  // namespace namdb::sql
