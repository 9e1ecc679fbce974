// The loops and statements of a routine, and its call.
#include <utility>

#include "compute/sql/execute/routine_checks.h"
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

Task<Status> RoutineRun::evaluate_range(const RangeLoopStep* loop, Datum* first, Datum* last, Datum* step) {
  if (Status status = co_await evaluate_value(loop->first.get(), first); !status.ok()) co_return status;
  if (first->null) co_return Status(ErrorCode::null_not_allowed, "lower bound of FOR loop cannot be null");
  if (Status status = co_await evaluate_value(loop->last.get(), last); !status.ok()) co_return status;
  if (last->null) co_return Status(ErrorCode::null_not_allowed, "upper bound of FOR loop cannot be null");
  if (loop->step == nullptr) co_return Status();
  if (Status status = co_await evaluate_value(loop->step.get(), step); !status.ok()) co_return status;
  if (step->null) co_return Status(ErrorCode::null_not_allowed, "BY value of FOR loop cannot be null");
  if (step->integer <= 0)
    co_return Status(ErrorCode::invalid_parameter_value, "BY value of FOR loop must be greater than zero");
  co_return Status();
}

Task<Status> RoutineRun::run_range(const RangeLoopStep* loop, Flow* flow) {
  Datum first;
  Datum last;
  Datum step = Datum::of_integer(1);
  if (Status status = co_await evaluate_range(loop, &first, &last, &step); !status.ok()) co_return status;
  std::uint64_t passes = 0;
  // Of int4: the sums below do not overflow.
  for (std::int64_t value = first.integer; loop->reverse ? value >= last.integer : value <= last.integer;
       value += loop->reverse ? -step.integer : step.integer) {
    ++passes;
    if (Status status = co_await pass_turn(); !status.ok()) co_return status;
    if (Status status = set(loop->slot, Datum::of_integer(value)); !status.ok()) co_return status;
    if (Status status = co_await run_steps(&loop->steps, flow); !status.ok()) co_return status;
    if (ends_loop(*flow, loop->label)) break;
  }
  values_[routine_->found_slot] = Datum::of_boolean(passes > 0);
  co_return Status();
}

// The query has run to its end before the first pass: it sees nothing of what the passes change.
Task<Status> RoutineRun::run_over_rows(const QueryLoopStep* loop, Flow* flow) {
  StepRows rows(message_sink());
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
    if (!status.ok()) co_return status;
    status = co_await assign_row(&loop->targets, rows[i]);
    if (!status.ok()) co_return status;
    status = co_await run_steps(&loop->steps, flow);
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
    if (!status.ok()) co_return status;
    const std::span<const Datum> row(&element, 1);
    status = co_await assign_row(targets, row);
    if (!status.ok()) co_return status;
    status = co_await run_steps(&loop->steps, flow);
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
  Status status = check_statement(run_, *routine_, *plan);
  if (status.ok() && run_.checks_rights) status = co_await run_.waiting.check_rights(plan->rights);
  if (!status.ok()) co_return status;
  Run run = run_.nested(*rows, arena_, work_, {});
  run.statement = plan;
  run.whole = nullptr;
  if (const auto* select = plan->as<SelectPlan>()) {
    const std::unique_ptr<Query> query = run.start_query(*select);
    while (rows->count() < max_rows) {
      const std::uint64_t before = rows->count();
      const std::uint64_t portion = std::min(kPortionRows, max_rows - before);
      if (Status read = co_await query->fetch(run, portion); !read.ok()) co_return read;
      if (Status counted = rows->count_memory(run.client_memory); !counted.ok()) co_return counted;
      if (query->done() || rows->count() - before < portion) break;
    }
    *affected = rows->count();
    co_return Status();
  }
  status = co_await run_to_end(run, *plan);
  if (!status.ok()) co_return status;
  *affected = run.affected;
  co_return rows->count_memory(run.client_memory);
}

void RoutineRun::set_found(std::uint64_t rows) {
  values_[routine_->found_slot] = Datum::of_boolean(rows > 0);
  values_[routine_->row_count_slot] = Datum::of_integer(static_cast<std::int64_t>(rows));
}

Task<Status> RoutineRun::run_query(const QueryStep* step) {
  ask_ahead(*step);
  const bool counts = step->strict || step->one_at_most;
  step_rows_.clear(step->into ? 1 : 0);
  std::uint64_t affected = 0;
  const std::uint64_t max_rows = !step->into ? ~std::uint64_t{0} : counts ? 2 : 1;
  Status status = co_await run_statement(step->plan.get(), &step_rows_, max_rows, &affected);
  if (!status.ok()) co_return status;
  if (!step->into) {
    // As in PostgreSQL, where it is a utility command, TRUNCATE leaves FOUND alone.
    const Datum found = values_[routine_->found_slot];
    const bool keeps_found = step->plan->as<TruncatePlan>() != nullptr;
    set_found(keeps_found ? 0 : affected);
    if (keeps_found) values_[routine_->found_slot] = found;
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

std::vector<Datum> RoutineRun::outputs() const {
  std::vector<Datum> row;
  const std::vector<RoutineParameter>& parameters = routine_->signature->parameters;
  for (std::uint32_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].gives()) row.push_back(values_[i]);
  }
  return row;
}

Status RoutineRun::add_row(std::span<const Datum> row) {
  rows_->rows.push_back(rows_->arena.keep(row));
  const std::size_t bytes = rows_->arena.allocated_bytes() + rows_->rows.size() * sizeof(rows_->rows[0]);
  return rows_memory_->add(caller_.client_memory, bytes - std::exchange(rows_bytes_, bytes));
}

Task<Status> RoutineRun::give_result(const ReturnStep* step) {
  const RoutineSignature& signature = *routine_->signature;
  if (step->value == nullptr) {
    const bool is_missing = step->is_end_of_function && signature.is_function && !signature.returns_nothing &&
                            !signature.returns_set && !signature.has_outputs();
    if (is_missing) {
      co_return Status(ErrorCode::function_without_return, "control reached end of function without RETURN");
    }
    co_return Status();
  }
  Status status = co_await evaluate_value(step->value.get(), &result_);
  if (!status.ok()) co_return status;
  result_step_ = step;
  if (!result_.null && step->value->type.has_bytes()) {
    result_string_.assign(result_.text);
    result_.text = result_string_;
  }
  co_return Status();
}

// At the end of the function, where no block handles its error.
Task<Status> RoutineRun::keep_result() {
  Datum value = result_;
  const Expr* const conversion = result_step_->conversion.get();
  if (conversion != nullptr && !value.null) {
    const std::span<const Datum> row_of_one(&result_, 1);
    Status status = co_await evaluate_value(conversion, &value, row_of_one);
    if (!status.ok()) co_return status;
  }
  co_return set(routine_->result_slot, value);
}

Task<Status> RoutineRun::give_row(const ReturnNextStep* step) {
  if (step->value == nullptr) co_return add_row(outputs());
  Datum value;
  if (Status status = co_await evaluate_value(step->value.get(), &value); !status.ok()) co_return status;
  co_return add_row(std::span<const Datum>(&value, 1));
}

// The result of a function in SQL that returns no set has one row, of NULLs if the query gives none.
Task<Status> RoutineRun::give_rows(const ReturnQueryStep* step) {
  const bool all = routine_->signature->returns_set;
  StepRows rows(message_sink());
  rows.clear(all ? ~std::uint64_t{0} : 1);
  std::uint64_t affected = 0;
  Status status = co_await run_statement(step->query.get(), &rows, all ? ~std::uint64_t{0} : 1, &affected);
  if (!status.ok()) co_return status;
  const std::size_t columns = step->conversions.size();
  const std::uint64_t count = all ? rows.count() : 1;
  std::vector<Datum> row(columns);
  Arena kept;
  for (std::uint64_t i = 0; i < count; ++i) {
    status = co_await pass_turn();
    if (!status.ok()) co_return status;
    kept.reset();
    for (std::size_t j = 0; j < columns; ++j) {
      row[j] = i < rows.count() ? rows[i][j] : Datum();
      if (step->conversions[j] == nullptr || row[j].null) continue;
      const Datum given = row[j];
      const std::span<const Datum> row_of_one(&given, 1);
      status = co_await evaluate_value(step->conversions[j].get(), &row[j], row_of_one);
      if (!status.ok()) co_return status;
      row[j] = kept.keep(row[j]);
    }
    status = add_row(row);
    if (!status.ok()) co_return status;
  }
  set_found(rows.count());
  co_return Status();
}

Task<Status> RoutineRun::invoke(const InvokeStep* step) {
  step_rows_.clear(1);
  std::uint64_t affected = 0;
  Status status = co_await run_statement(step->call.get(), &step_rows_, 1, &affected);
  if (!status.ok() || step->targets.empty()) co_return status;
  co_return co_await assign_row(&step->targets, step_rows_[0]);
}

namespace {

Task<Result<std::shared_ptr<const CompiledRoutine>>> compiled_routine(
    Run* run, const std::shared_ptr<const RoutineSignature>* signature) {
  if (run->routine_depth >= kMaxRoutineDepth) {
    co_return Status(ErrorCode::statement_too_complex, "stack depth limit exceeded",
                     "procedures may call each other " + std::to_string(kMaxRoutineDepth) + " levels deep");
  }
  co_return co_await run->waiting.compiled_routine(*signature);
}

}  // namespace

Task<Status> run_routine_call(Run& run, const CallRoutinePlan& plan, std::span<const ResultColumn> columns) {
  Result<std::shared_ptr<const CompiledRoutine>> compiled = co_await compiled_routine(&run, &plan.signature);
  if (!compiled.ok()) co_return compiled.status();
  RoutineRun routine(run, *compiled, run.work);
  for (std::uint32_t i = 0; i < plan.arguments.size(); ++i) {
    if (plan.arguments[i] == nullptr) continue;
    const EvalContext context = run.context();
    Datum value;
    const auto evaluate_it = [&] { return evaluate(*plan.arguments[i], context, value); };
    Status status = evaluate_it();
    if (run.work.paused()) status = co_await run.resume(evaluate_it);
    if (!status.ok()) co_return status;
    if (Status taken = routine.set(i, value); !taken.ok()) co_return taken;
  }
  run.next_row();
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

// The expression around the call has not ended, and remembers values in the work and the arena of its run.
Task<Result<Datum>> call_routine(Run* run, const Expr* call, std::span<const Datum> arguments) {
  const RoutineCall& routine_call = *call->routine;
  const std::shared_ptr<const RoutineSignature>* const signature = &routine_call.signature;
  auto compiled = co_await compiled_routine(run, signature);
  if (!compiled.ok()) co_return compiled.status();
  // Duplicates among the rows that the statement around it has buffered are its own error, and no handler's.
  if (run->transaction != nullptr) {
    Status own = co_await run->transaction->fetch();
    if (!own.ok()) co_return own;
  }
  Work work;
  RoutineRun routine(*run, *compiled, work);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    Status status = routine.set(routine_call.parameters[i], arguments[i]);
    if (!status.ok()) co_return status;
  }
  Status status = co_await routine.run();
  run->work.charge(work.units());
  if (!status.ok()) co_return status;
  if (routine_call.gives_rows) {
    run->state.routine_rows[call] = routine.take_rows();
    co_return Datum::of_boolean(true);
  }
  if ((*signature)->returns_nothing) {
    if ((*signature)->language == RoutineLanguage::sql) co_return Datum();
    co_return Datum::of_text("");
  }
  co_return run->arena.keep(routine.value((*compiled)->result_slot));
}

}  // namespace namdb::sql
