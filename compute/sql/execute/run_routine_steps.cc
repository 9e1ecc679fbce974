// The loops and statements of a routine, and its call.
#include <utility>

#include "compute/sql/execute/run_routine.h"
#include "compute/sql/execute/run_to_end.h"
#include "compute/sql/value/array.h"

namespace namdb::sql {

using reactor::Task;

bool RoutineRun::ends_loop(Flow& flow, std::string_view label) {
  if (flow.kind == Flow::Kind::next) return false;
  const bool own = flow.label.empty() || flow.label == label;
  if (flow.kind == Flow::Kind::returned || !own) return true;
  const bool ends = flow.kind == Flow::Kind::exits;
  flow = {};
  return ends;
}

Task<Status> RoutineRun::run_loop(const LoopStep* loop, Flow* flow) {
  while (true) {
    Status status = co_await pass_turn();
    bool goes_on = true;
    if (status.ok() && loop->condition != nullptr) status = co_await holds(loop->condition.get(), &goes_on);
    if (!status.ok() || !goes_on) co_return status;
    status = co_await run_steps(&loop->steps, flow);
    if (!status.ok() || ends_loop(*flow, loop->label)) co_return status;
  }
}

Task<Status> RoutineRun::run_range(const RangeLoopStep* loop, Flow* flow) {
  Datum first;
  Datum last;
  Datum step = Datum::of_integer(1);
  Status status = co_await evaluate_value(loop->first.get(), &first);
  if (status.ok() && first.null)
    co_return Status(ErrorCode::null_not_allowed, "lower bound of FOR loop cannot be null");
  if (status.ok()) status = co_await evaluate_value(loop->last.get(), &last);
  if (status.ok() && last.null)
    co_return Status(ErrorCode::null_not_allowed, "upper bound of FOR loop cannot be null");
  if (status.ok() && loop->step != nullptr) status = co_await evaluate_value(loop->step.get(), &step);
  if (!status.ok()) co_return status;
  if (step.null) co_return Status(ErrorCode::null_not_allowed, "BY value of FOR loop cannot be null");
  if (step.integer <= 0)
    co_return Status(ErrorCode::invalid_parameter_value, "BY value of FOR loop must be greater than zero");
  std::uint64_t passes = 0;
  // Of int4: the sums below do not overflow.
  for (std::int64_t value = first.integer; loop->reverse ? value >= last.integer : value <= last.integer;
       value += loop->reverse ? -step.integer : step.integer) {
    ++passes;
    status = co_await pass_turn();
    if (status.ok()) status = set(loop->slot, Datum::of_integer(value));
    if (status.ok()) status = co_await run_steps(&loop->steps, flow);
    if (!status.ok()) co_return status;
    if (ends_loop(*flow, loop->label)) break;
  }
  values_[routine_->found_slot] = Datum::of_boolean(passes > 0);
  co_return Status();
}

// The query has run to its end before the first pass: it sees nothing of what the passes change.
Task<Status> RoutineRun::run_over_rows(const QueryLoopStep* loop, Flow* flow) {
  StepRows rows(caller_.sink);
  rows.clear(~std::uint64_t{0});
  std::uint64_t affected = 0;
  Status status = co_await run_statement(loop->query.get(), &rows, ~std::uint64_t{0}, &affected);
  if (!status.ok()) co_return status;
  const std::uint64_t count = rows.count();
  if (count == 0) {
    status = co_await assign_row(&loop->targets, std::span<const Datum>());
    if (!status.ok()) co_return status;
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    status = co_await pass_turn();
    if (status.ok()) status = co_await assign_row(&loop->targets, rows[i]);
    if (status.ok()) status = co_await run_steps(&loop->steps, flow);
    if (!status.ok()) co_return status;
    if (ends_loop(*flow, loop->label)) break;
  }
  values_[routine_->found_slot] = Datum::of_boolean(count > 0);
  co_return Status();
}

Task<Status> RoutineRun::run_over_array(const ArrayLoopStep* loop, Flow* flow) {
  Datum array;
  Status status = co_await evaluate_value(loop->array.get(), &array);
  if (!status.ok()) co_return status;
  if (array.null) co_return Status(ErrorCode::null_not_allowed, "FOREACH expression must not be null");
  const std::string kept(array.text);
  array.text = kept;
  const TypeId type = loop->array->type.id;
  ArrayReader elements(type, array);
  const std::vector<SlotTarget>* const targets = &loop->targets;
  std::uint64_t passes = 0;
  Datum element;
  while (elements.next(element)) {
    ++passes;
    status = co_await pass_turn();
    const std::span<const Datum> row(&element, 1);
    if (status.ok()) status = co_await assign_row(targets, row);
    if (status.ok()) status = co_await run_steps(&loop->steps, flow);
    if (!status.ok()) co_return status;
    if (ends_loop(*flow, loop->label)) break;
  }
  values_[routine_->found_slot] = Datum::of_boolean(passes > 0);
  co_return Status();
}

Task<Status> RoutineRun::run_statement(const Plan* plan, StepRows* rows, std::uint64_t max_rows,
                                       std::uint64_t* affected) {
  state_.clear();
  run_.next_row();
  Run run = run_.nested(*rows, arena_, work_, {});
  Status status;
  if (const auto* select = plan->as<SelectPlan>()) {
    const std::unique_ptr<Query> query = run.start_query(*select);
    while (status.ok() && rows->count() < max_rows) {
      const std::uint64_t before = rows->count();
      const std::uint64_t portion = std::min(kPortionRows, max_rows - before);
      status = co_await query->fetch(run, portion);
      if (status.ok()) status = rows->count_memory(run.client_memory);
      if (query->done() || rows->count() - before < portion) break;
    }
    *affected = rows->count();
    co_return status;
  }
  status = co_await run_to_end(run, *plan);
  *affected = run.affected;
  if (status.ok()) status = rows->count_memory(run.client_memory);
  co_return status;
}

void RoutineRun::set_found(std::uint64_t rows) {
  values_[routine_->found_slot] = Datum::of_boolean(rows > 0);
  values_[routine_->row_count_slot] = Datum::of_integer(static_cast<std::int64_t>(rows));
}

Task<Status> RoutineRun::run_query(const QueryStep* step) {
  const bool counts = step->strict || step->one_at_most;
  step_rows_.clear(step->into ? 1 : 0);
  std::uint64_t affected = 0;
  const std::uint64_t max_rows = !step->into ? ~std::uint64_t{0} : counts ? 2 : 1;
  Status status = co_await run_statement(step->plan.get(), &step_rows_, max_rows, &affected);
  if (!status.ok()) co_return status;
  if (!step->into) {
    set_found(affected);
    co_return Status();
  }
  const std::uint64_t rows = step_rows_.count();
  if (step->strict && rows == 0) co_return Status(ErrorCode::no_data_found, "query returned no rows");
  if (counts && rows > 1) {
    co_return Status(ErrorCode::too_many_rows, "query returned more than one row",
                     step->strict ? "Make sure the query returns a single row, or use LIMIT 1." : "");
  }
  // A row of the statement that is written by RETURNING counts for FOUND, and no more than one.
  const std::span<const Datum> row = rows == 0 ? std::span<const Datum>() : step_rows_[0];
  status = co_await assign_row(&step->targets, row);
  set_found(std::min<std::uint64_t>(rows, 1));
  co_return status;
}

Task<Status> RoutineRun::invoke(const InvokeStep* step) {
  step_rows_.clear(1);
  std::uint64_t affected = 0;
  Status status = co_await run_statement(step->call.get(), &step_rows_, 1, &affected);
  if (!status.ok() || step->targets.empty()) co_return status;
  co_return co_await assign_row(&step->targets, step_rows_[0]);
}

Task<Status> run_routine_call(Run& run, const CallRoutinePlan& plan, std::span<const ResultColumn> columns) {
  if (run.routine_depth >= kMaxRoutineDepth) {
    co_return Status(ErrorCode::statement_too_complex, "stack depth limit exceeded",
                     "procedures may call each other " + std::to_string(kMaxRoutineDepth) + " levels deep");
  }
  Result<std::shared_ptr<const CompiledRoutine>> compiled =
      co_await run.waiting.compiled_routine(plan.signature);
  if (!compiled.ok()) co_return compiled.status();
  RoutineRun routine(run, *compiled);
  for (std::uint32_t i = 0; i < plan.arguments.size(); ++i) {
    if (plan.arguments[i] == nullptr) continue;
    const EvalContext context = run.context();
    Datum value;
    const auto evaluate_it = [&] { return evaluate(*plan.arguments[i], context, value); };
    Status status = evaluate_it();
    if (run.work.paused()) status = co_await run.resume(evaluate_it);
    if (status.ok()) status = routine.set(i, value);
    if (!status.ok()) co_return status;
  }
  Status status = co_await routine.run();
  if (!status.ok() || columns.empty()) co_return status;
  std::vector<Datum> row;
  for (std::uint32_t i = 0; i < plan.arguments.size(); ++i) {
    if (plan.signature->parameters[i].gives()) row.push_back(routine.value(i));
  }
  run.sink.add_row(row);
  run.affected = 1;
  co_return Status();
}

}  // namespace namdb::sql
