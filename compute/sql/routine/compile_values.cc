// The values and plans of a routine's steps.
#include <utility>

#include "compute/sql/bind/bind.h"
#include "compute/sql/bind/check_status.h"
#include "compute/sql/routine/routine_compiler.h"

namespace namdb::sql {
namespace {

std::vector<Type> types_of(const std::vector<RoutineSlot>& slots) {
  std::vector<Type> types;
  types.reserve(slots.size());
  for (const RoutineSlot& slot : slots) types.push_back(slot.type);
  return types;
}

}  // namespace

// As PL/pgSQL assigns: where no assignment cast exists the value's text is read.
Status RoutineCompiler::convert(ExpressionBinder& expressions, ExprPtr& expr, Type wanted) {
  const bool assignable =
      expr->type.id == TypeId::unknown || can_cast(expr->type.id, wanted.id, Coercion::assignment);
  if (!assignable) NAMDB_SQL_CHECK(expressions.coerce(expr, {TypeId::text}, Coercion::explicit_cast));
  NAMDB_SQL_CHECK(
      expressions.coerce(expr, Type{wanted.id}, assignable ? Coercion::assignment : Coercion::explicit_cast));
  if (wanted.modifier == -1 || expr->type == wanted) return {};
  // A string that is too long is an error.
  ExprPtr bounded = make_expr(ExprKind::cast, wanted);
  bounded->args.push_back(std::move(expr));
  expr = std::move(bounded);
  return {};
}

Result<ExprPtr> RoutineCompiler::value(const Json& expression, std::optional<Type> wanted) {
  input_.parameters = types_of(routine_->slots);
  StatementBinder binder{input_, input_.parameters};
  ExpressionBinder expressions(binder.parameters, input_.facts, nullptr);
  expressions.set_query(&binder, nullptr);
  expressions.set_aggregates(nullptr, "PL/pgSQL expressions");
  const Node select = source_.fragment(*node(expression).body);
  const Json& target = *node(list(*select.body, "targetList")[0]).body;
  NAMDB_SQL_ASSIGN(ExprPtr bound, expressions.bind(*find(target, "val")));
  if (expressions.has_set_calls()) return unsupported("a function with several rows in this place");
  NAMDB_SQL_CHECK(wanted ? convert(expressions, bound, *wanted) : expressions.decide_unknown(bound));
  routine_->rights.insert(routine_->rights.end(), binder.rights.begin(), binder.rights.end());
  if (!binder.reads.empty()) {
    Plan facts;
    facts.reads = std::move(binder.reads);
    facts.calls_read_only = binder.calls_read_only;
    routine_->reading.emplace(bound.get(), std::make_shared<const Plan>(std::move(facts)));
  }
  return bound;
}

Result<ExprPtr> RoutineCompiler::condition(const Json& expression) {
  return value(expression, Type{TypeId::boolean});
}

Result<std::shared_ptr<const Plan>> RoutineCompiler::plan(const Json& expression) {
  return plan_of(source_.fragment(*node(expression).body));
}

Result<std::shared_ptr<const Plan>> RoutineCompiler::plan_of(Node statement) {
  input_.parameters = types_of(routine_->slots);
  NAMDB_SQL_ASSIGN(Plan bound, bind_statement(statement, input_));
  const bool supported = bound.as<SelectPlan>() || bound.as<InsertPlan>() || bound.as<UpdatePlan>() ||
                         bound.as<DeletePlan>() || bound.as<WithPlan>() || bound.as<TruncatePlan>() ||
                         bound.is_call();
  if (!supported) return unsupported(std::string(bound.tag) + " in a " + kind());
  return std::make_shared<const Plan>(std::move(bound));
}

Result<SlotTarget> RoutineCompiler::target_of(std::uint32_t slot, Type from, Type wanted) {
  SlotTarget target;
  target.slot = slot;
  if (from == wanted) return target;
  std::vector<Type> none;
  ExpressionBinder expressions(none, input_.facts, nullptr);
  ExprPtr column = make_expr(ExprKind::column, from);
  NAMDB_SQL_CHECK(convert(expressions, column, wanted));
  target.conversion = std::move(column);
  return target;
}

Result<std::uint32_t> RoutineCompiler::assignable(std::uint32_t datum) {
  const RoutineVariable* const variable = scope_.variable(datum);
  if (variable == nullptr) return unsupported("an assignment to this variable");
  if (variable->is_record) return unsupported("an assignment to a whole record");
  if (variable->is_constant) {
    return Status(ErrorCode::error_in_assignment, "variable \"" + variable->name + "\" is declared CONSTANT");
  }
  return variable->slot;
}

Result<std::vector<SlotTarget>> RoutineCompiler::targets(const Json& target,
                                                         const std::vector<ResultColumn>& columns) {
  const Json& fields = list(*node(target).body, "fields");
  std::vector<std::uint32_t> slots;
  const auto first = fields.empty() ? 0 : static_cast<std::uint32_t>(integer(fields[0], "varno"));
  RoutineVariable* const record = scope_.variable(first);
  if (fields.size() == 1 && record != nullptr && record->is_record) {
    if (!record->fields) add_fields(*record, columns);
    if (record->fields->size() != columns.size())
      return unsupported("a record with rows of different columns");
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const RoutineVariable::Field& field = (*record->fields)[i];
      const bool same = field.name == columns[i].name && routine_->slots[field.slot].type == columns[i].type;
      if (!same && !record->has_row_type) return unsupported("a record with rows of different columns");
      slots.push_back(field.slot);
    }
  } else {
    for (const Json& field : fields) {
      NAMDB_SQL_ASSIGN(const std::uint32_t slot,
                       assignable(static_cast<std::uint32_t>(integer(field, "varno"))));
      slots.push_back(slot);
    }
  }
  std::vector<SlotTarget> made;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const Type from = i < columns.size() ? columns[i].type : routine_->slots[slots[i]].type;
    NAMDB_SQL_ASSIGN(SlotTarget one, target_of(slots[i], from));
    made.push_back(std::move(one));
  }
  return made;
}

}  // namespace namdb::sql
