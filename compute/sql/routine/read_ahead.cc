#include "compute/sql/routine/read_ahead.h"

#include <algorithm>
#include <set>
#include <span>
#include <vector>

#include "compute/sql/plan/key_path.h"
#include "compute/sql/value/row_id.h"

namespace namdb::sql {
namespace {

using Slots = std::set<std::uint32_t>;

// Whether the expression reads variables only, and is worth evaluating twice; adds those that it reads.
bool reads_slots_only(const Expr& expr, Slots& slots) {
  switch (expr.kind) {
    case ExprKind::constant:
    case ExprKind::cast:
    case ExprKind::arithmetic:
    case ExprKind::negate:
      break;
    case ExprKind::parameter:
      slots.insert(expr.index);
      break;
    default:
      return false;
  }
  return std::ranges::all_of(
      expr.args, [&slots](const ExprPtr& argument) { return reads_slots_only(*argument, slots); });
}

// The source of a statement of one row by its key, whose values are those of `slots`; null: the statement is
// another one.
const Source* source_by_key(const Plan& plan, Slots& slots) {
  const Source* source = nullptr;
  if (const auto* query = plan.as<SelectPlan>()) {
    if (query->join == nullptr) source = &query->source;
  } else if (const auto* update = plan.as<UpdatePlan>()) {
    if (update->joined == nullptr) source = &update->source;
  } else if (const auto* deletion = plan.as<DeletePlan>()) {
    if (deletion->joined == nullptr) source = &deletion->source;
  }
  if (source == nullptr || !has_one_key(*source)) return nullptr;
  const bool known = std::ranges::all_of(source->key, [&slots](const std::vector<ExprPtr>& values) {
    return reads_slots_only(*values[0], slots);
  });
  return known ? source : nullptr;
}

// Whether the statement inserts one row whose key is known as those of `slots` are, or may be any.
bool inserts_known_key(const InsertPlan& insert, Slots& slots) {
  const bool one_row = insert.query == nullptr && insert.rows.size() == 1;
  if (!one_row || insert.conflict != nullptr || !insert.returning.empty()) return false;
  const layout::Schema& schema = insert.table->schema;
  return std::ranges::all_of(schema.key(), [&](std::uint32_t column) {
    const ExprPtr& value = insert.rows.front()[column];
    if (value == nullptr) return false;
    const bool any =
        is_row_id(schema.columns()[column]) && value->kind == ExprKind::function && value->args.empty();
    return any || reads_slots_only(*value, slots);
  });
}

// The row that the step will look for, by a key whose values are those of `slots`; nothing if it is not
// known.
QueryStep::Ahead row_of(const Step& step, Slots& slots) {
  const auto* const query = std::get_if<QueryStep>(&step.body);
  if (query == nullptr) return {};
  if (const auto* insert = query->plan->as<InsertPlan>())
    return {nullptr, inserts_known_key(*insert, slots) ? insert : nullptr};
  return {source_by_key(*query->plan, slots), nullptr};
}

// The effect of a step on those behind it.
struct Effect {
  Slots writes;
  bool is_border = false;  // nothing behind it is looked for before it
};

void add_effect(std::span<const Step> steps, const CompiledRoutine& routine, Effect& effect) {
  for (const Step& step : steps) {
    if (const auto* assignment = std::get_if<AssignStep>(&step.body)) {
      effect.writes.insert(assignment->slot);
    } else if (const auto* query = std::get_if<QueryStep>(&step.body)) {
      for (const SlotTarget& target : query->targets) effect.writes.insert(target.slot);
      effect.writes.insert({routine.found_slot, routine.row_count_slot});
    } else if (const auto* branches = std::get_if<IfStep>(&step.body)) {
      for (const IfStep::Branch& branch : branches->branches) add_effect(branch.steps, routine, effect);
    } else if (!std::holds_alternative<RaiseStep>(step.body) &&
               !std::holds_alternative<AssertStep>(step.body)) {
      effect.is_border = true;
    }
  }
}

void plan_list(Steps& steps, const CompiledRoutine& routine);

// The lists of steps within a step.
struct PlanInner {
  const CompiledRoutine& routine;

  void operator()(IfStep& step) const {
    for (IfStep::Branch& branch : step.branches) plan_list(branch.steps, routine);
  }
  void operator()(BlockStep& step) const {
    plan_list(step.steps, routine);
    for (BlockStep::Handler& handler : step.handlers) plan_list(handler.steps, routine);
  }
  template <typename Loop>
    requires requires(Loop& loop) { loop.steps; }
  void operator()(Loop& loop) const {
    plan_list(loop.steps, routine);
  }
  template <typename Other>
  void operator()(Other&) const {}
};

void plan_list(Steps& steps, const CompiledRoutine& routine) {
  std::vector<Effect> effects(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    std::visit(PlanInner{routine}, steps[i].body);
    add_effect(std::span(&steps[i], 1), routine, effects[i]);
    Slots slots;
    const QueryStep::Ahead row = row_of(steps[i], slots);
    if (row.source == nullptr && row.insert == nullptr) continue;
    std::size_t first = i;
    while (first > 0) {
      const Effect& before = effects[first - 1];
      const bool changes =
          std::ranges::any_of(slots, [&before](std::uint32_t slot) { return before.writes.contains(slot); });
      if (before.is_border || changes) break;
      --first;
    }
    for (; first < i; ++first) {
      auto* const earlier = std::get_if<QueryStep>(&steps[first].body);
      if (earlier == nullptr) continue;
      earlier->ahead.push_back(row);
      break;
    }
  }
}

}  // namespace

void plan_reads_ahead(CompiledRoutine& routine) {
  plan_list(routine.block.steps, routine);
  for (BlockStep::Handler& handler : routine.block.handlers) plan_list(handler.steps, routine);
}

}  // namespace namdb::sql
