#include "compute/sql/execute/run_routine.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "compute/sql/execute/routine_checks.h"
#include "compute/sql/execute/unique_checks.h"
#include "compute/sql/syntax/condition_names.h"
#include "compute/sql/value/value_format.h"

namespace namdb::sql {

using reactor::Task;

namespace {

// The name of a step in the context of an error.
struct StepName {
  std::string_view operator()(const FailStep& step) const { return step.name; }
  std::string_view operator()(const AssignStep& step) const { return step.of_case ? "CASE" : "assignment"; }
  std::string_view operator()(const IfStep& step) const { return step.of_case ? "CASE" : "IF"; }
  std::string_view operator()(const LoopStep& step) const {
    return step.condition == nullptr ? "LOOP" : "WHILE";
  }
  std::string_view operator()(const RangeLoopStep&) const { return "FOR with integer loop variable"; }
  std::string_view operator()(const QueryLoopStep&) const { return "FOR over SELECT rows"; }
  std::string_view operator()(const ArrayLoopStep&) const { return "FOREACH over array"; }
  std::string_view operator()(const LeaveStep& step) const { return step.continues ? "CONTINUE" : "EXIT"; }
  std::string_view operator()(const ReturnStep&) const { return "RETURN"; }
  std::string_view operator()(const ReturnNextStep&) const { return "RETURN NEXT"; }
  std::string_view operator()(const ReturnQueryStep&) const { return "RETURN QUERY"; }
  std::string_view operator()(const RaiseStep&) const { return "RAISE"; }
  std::string_view operator()(const QueryStep&) const { return "SQL statement"; }
  std::string_view operator()(const InvokeStep&) const { return "CALL"; }
  std::string_view operator()(const AssertStep&) const { return "ASSERT"; }
  std::string_view operator()(const BlockStep&) const { return "statement block"; }
};

std::string routine_text(const RoutineSignature& signature) {
  std::string types;
  for (const RoutineParameter& parameter : signature.parameters) {
    if (!signature.passes(parameter)) continue;
    if (!types.empty()) types += ",";
    types += type_name(parameter.type.id);
  }
  return signature.name + "(" + types + ")";
}

// A conflict ends the transaction, and a cancel request the statement.
bool may_be_handled(const Status& status) {
  return !status.info().retry && status.code() != ErrorCode::query_canceled;
}

bool handles(const BlockStep::Handler& handler, std::string_view sqlstate) {
  return std::ranges::any_of(handler.sqlstates, [sqlstate](const std::string& wanted) {
    if (wanted.empty()) return sqlstate != "P0004";  // OTHERS, except a failed ASSERT
    return wanted == sqlstate || (wanted.ends_with("000") && sqlstate.starts_with(wanted.substr(0, 2)));
  });
}

}  // namespace

RoutineRun::RoutineRun(Run& caller, std::shared_ptr<const CompiledRoutine> routine, Work& work)
    : caller_(caller),
      routine_(std::move(routine)),
      values_(routine_->slots.size()),
      strings_(routine_->slots.size()),
      memory_(caller.client_memory),
      work_(work),
      step_rows_(message_sink()),
      run_{caller.engine,
           caller.transaction,
           values_,
           caller.facts,
           caller.statistics,
           caller.interrupt,
           arena_,
           work_,
           call_scratch_,
           step_rows_,
           caller.client_memory,
           caller.error,
           caller.waiting,
           state_,
           caller.start_query} {
  run_.routine_depth = caller.routine_depth + 1;
  run_.checks_rights = caller.checks_rights;
  run_.around = &caller;
  if (routine_->signature->is_function && routine_->signature->gives_rows()) {
    rows_ = std::make_shared<RoutineRows>();
    rows_memory_ = std::make_shared<GatheredMemory>("the rows of a function can keep", "return fewer rows");
    rows_->memory = rows_memory_;
  }
  values_[routine_->found_slot] = Datum::of_boolean(false);
  values_[routine_->row_count_slot] = Datum::of_integer(0);
}

Status RoutineRun::set(std::uint32_t slot, const Datum& value) {
  const RoutineSlot& definition = routine_->slots[slot];
  if (value.null && definition.not_null) {
    return Status(ErrorCode::null_not_allowed,
                  "null value cannot be assigned to variable \"" + definition.name + "\" declared NOT NULL");
  }
  if (value.null) {
    values_[slot] = Datum();
    return {};
  }
  if (!definition.type.has_bytes()) {
    values_[slot] = value;
    return {};
  }
  std::string& string = strings_[slot];
  const std::size_t before = string.capacity();
  string.assign(value.text);
  values_[slot] = value;
  values_[slot].text = string;
  string_bytes_ += string.capacity() - before;
  Status status = memory_.resize(string_bytes_);
  if (status.ok()) return status;
  // The values that a handler of the error sets must fit again.
  values_[slot] = Datum();
  string_bytes_ -= string.capacity();
  string = std::string();
  string_bytes_ += string.capacity();
  return status;
}

Task<Status> RoutineRun::run() {
  Flow flow;
  Status status = co_await pass_turn();
  if (status.ok() && run_.checks_rights) status = co_await run_.waiting.check_rights(routine_->rights);
  if (!status.ok()) co_return status;
  status = co_await run_block(&routine_->block, &flow);
  if (status.ok() && result_step_ != nullptr) status = co_await keep_result();
  const RoutineSignature& signature = *routine_->signature;
  const bool is_one_row = status.ok() && rows_ != nullptr && !signature.returns_set;
  if (is_one_row && signature.language == RoutineLanguage::plpgsql) status = add_row(outputs());
  co_return status;
}

Task<Status> RoutineRun::pass_turn() {
  work_.charge(Work::kRow_units);
  if (!work_.due()) co_return caller_.interrupt.check();
  had_turn_ = true;
  co_return co_await run_.take_turn();
}

Task<Status> RoutineRun::evaluate_value(const Expr* expr, Datum* out, std::span<const Datum> row) {
  state_.clear();
  run_.next_row();
  EvalContext context = run_.context();
  context.values = row;
  const auto reading = routine_->reading.empty() ? routine_->reading.end() : routine_->reading.find(expr);
  if (reading != routine_->reading.end()) {
    Status status = check_statement(run_, *routine_, *reading->second);
    if (!status.ok()) co_return status;
    run_.statement = reading->second.get();
  }
  const auto evaluate_it = [&] { return evaluate(*expr, context, *out); };
  Status status = evaluate_it();
  if (work_.paused()) status = co_await run_.resume(evaluate_it);
  run_.statement = nullptr;
  co_return status;
}

Task<Status> RoutineRun::holds(const Expr* condition, bool* out) {
  Datum value;
  Status status = co_await evaluate_value(condition, &value);
  *out = status.ok() && value.is_true();
  co_return status;
}

Task<Status> RoutineRun::assign_row(const std::vector<SlotTarget>* targets, std::span<const Datum> row) {
  for (std::size_t i = 0; i < targets->size(); ++i) {
    const SlotTarget& target = (*targets)[i];
    Datum value = i < row.size() ? row[i] : Datum();
    if (target.conversion != nullptr && !value.null) {
      const Datum given = value;
      const std::span<const Datum> row_of_one(&given, 1);
      Status status = co_await evaluate_value(target.conversion.get(), &value, row_of_one);
      if (!status.ok()) co_return status;
    }
    if (Status status = set(target.slot, value); !status.ok()) co_return status;
  }
  co_return Status();
}

Task<Status> RoutineRun::run_steps(const Steps* steps, Flow* flow) {
  for (const Step& step : *steps) {
    Status status;
    Result<AtOnce> attempt = AtOnce::given_up;
    if (const auto* const assignment = std::get_if<AssignStep>(&step.body)) {
      attempt = assign_now(*assignment);
    } else if (const auto* const branches = std::get_if<IfStep>(&step.body)) {
      const Steps* taken = nullptr;
      attempt = choose_now(*branches, taken);
      if (is_done(attempt) && taken != nullptr) status = co_await run_steps(taken, flow);
    } else if (const auto* const query = std::get_if<QueryStep>(&step.body)) {
      QuickStatement statement(*query->plan);
      if (statement.fits() && !UniqueChecks::wanted(run_, *query->plan)) {
        status = check_statement(run_, *routine_, *query->plan);
        if (status.ok() && run_.checks_rights)
          status = co_await run_.waiting.check_rights(query->plan->rights);
        attempt = status.ok() ? begin_now(*query, statement) : Result<AtOnce>(std::move(status));
      }
      if (is_done(attempt)) {
        if (statement.wants_fetch(run_) || std::exchange(had_turn_, false))
          status = co_await run_.transaction->fetch();
        attempt = status.ok() ? end_now(*query, statement) : Result<AtOnce>(std::move(status));
      }
    }
    if (!attempt.ok()) {
      status = attempt.status();
    } else if (*attempt == AtOnce::given_up) {
      status = co_await run_step(&step, flow);
    }
    if (status.ok() && work_.due()) {
      status = co_await run_.take_turn();
      had_turn_ = true;
    }
    if (!status.ok()) {
      add_context(step);
      co_return status;
    }
    if (flow->kind != Flow::Kind::next) break;
  }
  co_return Status();
}

void RoutineRun::add_context(const Step& step) {
  if (has_context_) return;
  has_context_ = true;
  std::string& context = caller_.error.context;
  if (!context.empty()) context += "\n";
  const bool in_sql = routine_->signature->language == RoutineLanguage::sql;
  if (in_sql) {
    const Steps& steps = routine_->block.steps;
    context += "SQL function \"" + routine_->signature->name + "\" statement " +
               std::to_string(&step - steps.data() + 1);
  } else {
    context += "PL/pgSQL function " + routine_text(*routine_->signature);
    if (step.line != 0) {
      context +=
          " line " + std::to_string(step.line) + " at " + std::string(std::visit(StepName(), step.body));
    }
  }
}

Task<Status> RoutineRun::run_step(const Step* step, Flow* flow) {
  const Step::Body& body = step->body;
  if (const auto* assignment = std::get_if<AssignStep>(&body)) co_return co_await assign(assignment);
  if (const auto* query = std::get_if<QueryStep>(&body)) co_return co_await run_query(query);
  if (const auto* branches = std::get_if<IfStep>(&body)) co_return co_await run_if(branches, flow);
  if (const auto* loop = std::get_if<LoopStep>(&body)) co_return co_await run_loop(loop, flow);
  if (const auto* loop = std::get_if<RangeLoopStep>(&body)) co_return co_await run_range(loop, flow);
  if (const auto* loop = std::get_if<QueryLoopStep>(&body)) co_return co_await run_over_rows(loop, flow);
  if (const auto* loop = std::get_if<ArrayLoopStep>(&body)) co_return co_await run_over_array(loop, flow);
  if (const auto* end = std::get_if<LeaveStep>(&body)) co_return co_await leave(end, flow);
  if (const auto* message = std::get_if<RaiseStep>(&body)) co_return co_await raise(message);
  if (const auto* call = std::get_if<InvokeStep>(&body)) co_return co_await invoke(call);
  if (const auto* assertion = std::get_if<AssertStep>(&body)) co_return co_await check(assertion);
  if (const auto* block = std::get_if<BlockStep>(&body)) co_return co_await run_block(block, flow);
  if (const auto* next = std::get_if<ReturnNextStep>(&body)) co_return co_await give_row(next);
  if (const auto* query = std::get_if<ReturnQueryStep>(&body)) co_return co_await give_rows(query);
  if (const auto* failure = std::get_if<FailStep>(&body)) co_return failure->status;
  flow->kind = Flow::Kind::returned;
  co_return co_await give_result(std::get_if<ReturnStep>(&body));
}

Task<Status> RoutineRun::run_block(const BlockStep* block, Flow* flow) {
  for (const AssignStep& variable : block->initial) {
    Status status;
    if (variable.value != nullptr) {
      status = co_await assign(&variable);
    } else {
      const std::string& record = routine_->slots[variable.slot].record;
      values_[variable.slot] = record.empty() ? Datum() : Datum::unassigned(record);
    }
    if (!status.ok()) co_return status;
  }
  if (block->handlers.empty()) {
    Status status = co_await run_steps(&block->steps, flow);
    if (!status.ok()) co_return status;
  } else {
    const txn::Transaction::Savepoint mark = caller_.transaction->savepoint();
    const bool outer_checks = std::exchange(run_.checks_unique, true);  // so that duplicates are handled
    Status status = co_await run_steps(&block->steps, flow);
    run_.checks_unique = outer_checks;
    if (!status.ok()) status = co_await handle(block, mark, std::move(status), flow);
    if (!status.ok()) co_return status;
  }
  // EXIT with the block's label ends the block.
  if (flow->kind == Flow::Kind::exits && !flow->label.empty() && flow->label == block->label) *flow = {};
  co_return Status();
}

Task<Status> RoutineRun::handle(const BlockStep* block, txn::Transaction::Savepoint mark, Status status,
                                Flow* flow) {
  if (!may_be_handled(status)) co_return status;
  const std::string sqlstate(caller_.error.sqlstate.empty() ? status.info().sqlstate
                                                            : std::string_view(caller_.error.sqlstate));
  const auto handler = std::ranges::find_if(
      block->handlers, [&](const BlockStep::Handler& each) { return handles(each, sqlstate); });
  if (handler == block->handlers.end()) co_return status;
  // Nothing is concluded from rows of different moments.
  status = co_await txn::confirm_error(caller_.transaction, std::move(status));
  Status undone;
  if (may_be_handled(status)) undone = caller_.transaction->rollback_to(mark);
  if (!may_be_handled(status) || !undone.ok()) {
    // Another error than the one that was raised.
    caller_.error.sqlstate.clear();
    caller_.error.detail.clear();
    if (undone.ok()) co_return status;
    co_return undone;
  }
  const Status outer = std::exchange(handled_, status);
  ErrorFields outer_fields = std::exchange(handled_fields_, std::exchange(caller_.error, {}));
  has_context_ = false;
  *flow = {};
  Status done = co_await run_handler(block, &*handler, &sqlstate, flow);
  handled_ = outer;
  handled_fields_ = std::move(outer_fields);
  co_return done;
}

Task<Status> RoutineRun::run_handler(const BlockStep* block, const BlockStep::Handler* handler,
                                     const std::string* sqlstate, Flow* flow) {
  if (Status status = set(block->sqlstate_slot, Datum::of_text(*sqlstate)); !status.ok()) co_return status;
  Status status = set(block->message_slot, Datum::of_text(handled_.message()));
  if (!status.ok()) co_return status;
  co_return co_await run_steps(&handler->steps, flow);
}

Task<Status> RoutineRun::assign(const AssignStep* step) {
  Datum value;
  if (Status status = co_await evaluate_value(step->value.get(), &value); !status.ok()) co_return status;
  co_return set(step->slot, value);
}

Task<Status> RoutineRun::run_if(const IfStep* step, Flow* flow) {
  for (const IfStep::Branch& branch : step->branches) {
    bool taken = branch.condition == nullptr;
    if (!taken) {
      Status status = co_await holds(branch.condition.get(), &taken);
      if (!status.ok()) co_return status;
    }
    if (taken) co_return co_await run_steps(&branch.steps, flow);
  }
  if (!step->must_hold) co_return Status();
  co_return Status(ErrorCode::case_not_found, "case not found", "CASE statement is missing ELSE part.");
}

Task<Status> RoutineRun::leave(const LeaveStep* step, Flow* flow) {
  bool leaves = step->condition == nullptr;
  if (!leaves) {
    Status status = co_await holds(step->condition.get(), &leaves);
    if (!status.ok()) co_return status;
  }
  if (leaves) *flow = {step->continues ? Flow::Kind::continues : Flow::Kind::exits, step->label};
  co_return Status();
}

Task<Status> RoutineRun::check(const AssertStep* step) {
  bool holds_true = false;
  Status status = co_await holds(step->condition.get(), &holds_true);
  if (!status.ok() || holds_true) co_return status;
  std::string message = "assertion failed";
  if (step->message != nullptr) {
    Datum value;
    status = co_await evaluate_value(step->message.get(), &value);
    if (!status.ok()) co_return status;
    if (!value.null) message = value.text;
  }
  co_return Status(ErrorCode::assert_failure, std::move(message));
}

Task<Status> RoutineRun::raise(const RaiseStep* step) {
  if (step->again) {
    caller_.error = handled_fields_;
    has_context_ = true;
    co_return handled_;
  }
  std::string message = step->message.front();
  Status status;
  for (std::size_t i = 0; i < step->values.size(); ++i) {
    Datum shown;
    status = co_await evaluate_value(step->values[i].get(), &shown);
    if (!status.ok()) co_return status;
    if (shown.null) {
      message += "<NULL>";
    } else {
      append_text(message, step->values[i]->type, shown, caller_.facts.zone());
    }
    message += step->message[i + 1];
  }
  std::string sqlstate = step->sqlstate;
  std::string detail;
  std::string hint;
  const std::array<std::pair<const Expr*, std::string*>, 4> options = {
      std::pair{step->message_value.get(), &message}, std::pair{step->sqlstate_value.get(), &sqlstate},
      std::pair{step->detail.get(), &detail}, std::pair{step->hint.get(), &hint}};
  for (const auto& [expr, text] : options) {
    if (expr == nullptr) continue;
    Datum value;
    status = co_await evaluate_value(expr, &value);
    if (!status.ok()) co_return status;
    if (value.null) co_return Status(ErrorCode::null_not_allowed, "RAISE statement option cannot be null");
    *text = value.text;
  }
  if (step->sqlstate_value != nullptr) {
    if (!step->has_message && step->message_value == nullptr) message = sqlstate;
    const std::optional<std::string> named = sqlstate_of_condition(sqlstate);
    if (!named)
      co_return Status(ErrorCode::undefined_object, "unrecognized exception condition \"" + sqlstate + "\"");
    sqlstate = *named;
  }
  if (step->severity == "LOG") co_return Status();
  if (!step->severity.empty()) {
    ResultSink& sink = message_sink();
    caller_.waiting.show_message(sink, step->severity, step->sqlstate_value == nullptr ? "" : sqlstate,
                                 message);
    if (sink.congested()) status = co_await sink.relieve();
    co_return status;
  }
  caller_.error.sqlstate = std::move(sqlstate);
  caller_.error.detail = std::move(detail);
  co_return Status(ErrorCode::procedure_abort, std::move(message), std::move(hint));
}

}  // namespace namdb::sql
