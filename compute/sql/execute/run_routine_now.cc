// The steps of a routine that need not wait.
#include <algorithm>
#include <utility>

#include "compute/sql/execute/run_routine.h"
#include "compute/sql/execute/source_keys.h"
#include "compute/sql/value/row_id.h"

namespace namdb::sql {

// The usual way begins anew.
AtOnce RoutineRun::give_up_now() {
  run_.next_row();
  work_.begin_turn();
  return AtOnce::given_up;
}

Result<AtOnce> RoutineRun::evaluate_now(const Expr& expr, Datum& out) {
  state_.clear();
  run_.next_row();
  Status status = evaluate(expr, run_.context(), out);
  if (work_.paused()) return give_up_now();
  if (!status.ok()) return status;
  return AtOnce::done;
}

Result<AtOnce> RoutineRun::assign_now(const AssignStep& step) {
  Datum value;
  if (Result<AtOnce> attempt = evaluate_now(*step.value, value); !is_done(attempt)) return attempt;
  if (Status status = set(step.slot, value); !status.ok()) return status;
  return AtOnce::done;
}

Result<AtOnce> RoutineRun::choose_now(const IfStep& step, const Steps*& taken) {
  taken = nullptr;
  for (const IfStep::Branch& branch : step.branches) {
    if (branch.condition != nullptr) {
      Datum holds;
      if (Result<AtOnce> attempt = evaluate_now(*branch.condition, holds); !is_done(attempt)) return attempt;
      if (!holds.is_true()) continue;
    }
    if (!branch.steps.empty()) taken = &branch.steps;
    return AtOnce::done;
  }
  return step.of_case ? AtOnce::given_up : AtOnce::done;  // the error is made in the usual way
}

// Under a protocol that reads from a snapshot it does not matter when a row is read, nor whether the step
// that wants it is reached. Elsewhere a row that was asked for is locked, or counts at the commit.
void RoutineRun::ask_ahead(const QueryStep& step) {
  if (step.ahead.empty() || run_.engine.serializable()) return;
  for (const auto& [source, insert] : step.ahead) {
    if (source == nullptr) {
      ask_insert_ahead(*insert);
      continue;
    }
    layout::Key key(source->table->schema);
    const Result<OneKey> evaluated = evaluate_one_key(run_, *source, key);
    if (!evaluated.ok()) continue;  // the error is the later step's
    if (*evaluated == OneKey::paused) give_up_now();
    if (*evaluated != OneKey::possible) continue;
    const txn::RowId row = request_row(run_, *source, key.bytes());
    static_cast<void>(row);  // the step asks for it again
  }
}

void RoutineRun::ask_insert_ahead(const InsertPlan& insert) {
  const layout::Schema& schema = insert.table->schema;
  layout::Row row(schema);
  layout::RowWriter writer = row.writer();
  for (const std::uint32_t column : schema.key()) {
    Datum value;
    Status status = evaluate(*insert.rows.front()[column], run_.context(), value);
    if (work_.paused()) {
      give_up_now();
      return;
    }
    // An error is the later step's.
    if (status.ok() && !value.null) status = store_value(writer, column, value);
    if (!status.ok() || value.null) return;
    if (is_row_id(schema.columns()[column])) {
      std::erase_if(chosen_ids_, [&insert](const ChosenId& each) { return each.insert == &insert; });
      chosen_ids_.push_back({&insert, std::string(value.text)});
    }
  }
  const txn::RowId asked = run_.transaction->get(insert.table, row.key());
  static_cast<void>(asked);
}

Result<AtOnce> RoutineRun::begin_now(const QueryStep& step, QuickStatement& statement) {
  state_.clear();
  run_.next_row();
  ask_ahead(step);
  run_.affected = 0;
  const auto chosen = std::ranges::find(chosen_ids_, step.plan->as<InsertPlan>(), &ChosenId::insert);
  if (chosen == chosen_ids_.end()) return statement.begin(run_);
  const std::string id = std::move(chosen->id);
  chosen_ids_.erase(chosen);
  return statement.begin(run_, id);
}

Result<AtOnce> RoutineRun::end_now(const QueryStep& step, QuickStatement& statement) {
  std::vector<Datum>& values = run_.call_scratch.row;
  if (Result<AtOnce> attempt = statement.end(run_, values); !is_done(attempt)) return attempt;
  const std::uint64_t rows = run_.affected;
  if (step.into && step.strict && rows == 0)
    return Status(ErrorCode::no_data_found, "query returned no rows");
  Result<AtOnce> assigned = AtOnce::done;
  if (step.into) {
    // A variable without a value gets NULL.
    if (rows == 0) values.clear();
    values.resize(step.targets.size());
    assigned = assign_row_now(step, values);
    if (assigned.ok() && *assigned == AtOnce::given_up) return assigned;
  }
  set_found(rows);  // also after an error of the assignment
  return assigned;
}

// Converts all values before the first one is assigned: a pause must find the variables as they were.
Result<AtOnce> RoutineRun::assign_row_now(const QueryStep& step, std::span<Datum> row) {
  Status status;
  std::size_t converted = 0;
  for (; converted < row.size(); ++converted) {
    const SlotTarget& target = step.targets[converted];
    if (target.conversion == nullptr || row[converted].null) continue;
    const Datum given = row[converted];
    EvalContext context = run_.context();
    context.values = std::span<const Datum>(&given, 1);
    status = evaluate(*target.conversion, context, row[converted]);
    if (work_.paused()) return give_up_now();
    if (!status.ok()) break;
  }
  for (std::size_t i = 0; i < converted; ++i) {
    if (Status assigned = set(step.targets[i].slot, row[i]); !assigned.ok()) return assigned;
  }
  if (!status.ok()) return status;
  return AtOnce::done;
}

}  // namespace namdb::sql
