#include "compute/sql/execute/quick_statement.h"

#include <memory>

#include "common/layout/long_value.h"
#include "compute/sql/execute/source_keys.h"
#include "compute/sql/execute/target_values.h"
#include "compute/sql/execute/unique_checks.h"
#include "compute/sql/execute/write_row.h"
#include "compute/sql/plan/key_path.h"
#include "compute/sql/plan/plain_select.h"
#include "compute/sql/value/row_id.h"

namespace namdb::sql {
namespace {

// After a pause: the usual way begins anew.
AtOnce give_up(Run& run) {
  if (!run.long_values.wanted().empty()) run.long_values.take_wanted();
  run.next_row();
  run.work.begin_turn();
  return AtOnce::given_up;
}

bool has_long(const layout::RowView& row) {
  for (std::uint32_t column = 0; column < row.schema().columns().size(); ++column) {
    if (layout::is_long(row, column)) return true;
  }
  return false;
}

}  // namespace

Result<OneKey> evaluate_one_key(Run& run, const Source& source, layout::Key& key) {
  const EvalContext context = run.context();
  const layout::Schema& schema = source.table->schema;
  bool possible = true;
  // All values, though one of them may decide: each expression may end in an error.
  for (std::size_t i = 0; i < source.key.size(); ++i) {
    const Expr& expr = *source.key[i][0];
    Datum value;
    Status status = evaluate(expr, context, value);
    if (run.work.paused()) return OneKey::paused;
    if (!status.ok()) return status;
    if (possible) possible = add_to_key(key, schema.columns()[schema.key()[i]], expr.type, value);
  }
  return possible ? OneKey::possible : OneKey::impossible;
}

QuickStatement::QuickStatement(const Plan& plan) : plan_(plan) {
  if (const auto* query = plan.as<SelectPlan>()) {
    source_ = &query->source;
    if (has_one_key(*source_) && is_plain(*query)) kind_ = Kind::select;
  } else if (const auto* update = plan.as<UpdatePlan>()) {
    source_ = &update->source;
    if (has_one_key(*source_) && update->joined == nullptr && update->returning.empty() &&
        update->foreign_keys == nullptr && !assigns_key(*source_->table, update->assignments))
      kind_ = Kind::update;
  } else if (const auto* insert = plan.as<InsertPlan>()) {
    const bool one_row = insert->query == nullptr && insert->rows.size() == 1;
    if (one_row && insert->conflict == nullptr && insert->returning.empty() &&
        insert->foreign_keys == nullptr)
      kind_ = Kind::insert;
  } else if (const auto* deletion = plan.as<DeletePlan>()) {
    source_ = &deletion->source;
    if (has_one_key(*source_) && deletion->joined == nullptr && deletion->returning.empty() &&
        deletion->foreign_keys == nullptr)
      kind_ = Kind::erase;
  }
}

Result<AtOnce> QuickStatement::begin(Run& run, std::string_view row_id) {
  Status status = run.interrupt.check();
  if (!status.ok()) return status;
  if (kind_ != Kind::insert) {
    layout::Key key(source_->table->schema);
    const Result<OneKey> evaluated = evaluate_one_key(run, *source_, key);
    if (!evaluated.ok()) return evaluated.status();
    if (*evaluated == OneKey::paused) return give_up(run);
    possible_ = *evaluated == OneKey::possible;
    if (!possible_) return AtOnce::done;
    row_ = kind_ == Kind::select ? request_row(run, *source_, key.bytes())
                                 : run.transaction->get(source_->table, key.bytes());
    return AtOnce::done;
  }
  const auto& insert = *plan_.as<InsertPlan>();
  layout::Row row(insert.table->schema);
  run.leaves_no_work = true;
  status = make_row(run, insert, insert.rows.front(), {}, row);
  run.leaves_no_work = false;
  if (run.work.paused()) return give_up(run);
  if (status.ok() && !row_id.empty())
    status = row.writer().set_text(row_id_column(row.view().schema()), row_id);
  if (!status.ok()) return status;
  row_ = run.transaction->insert(insert.table, row.bytes());
  run.work.charge(Work::kWrittenRow_units);
  ++run.affected;
  return AtOnce::done;
}

// A row that was found is not fetched again. Where rows are locked or validated, fetch() may have to do that.
bool QuickStatement::wants_fetch(const Run& run) const {
  if (kind_ == Kind::insert) return true;
  return possible_ && (run.engine.serializable() || !run.transaction->found(row_));
}

Result<AtOnce> QuickStatement::end(Run& run, std::vector<Datum>& values) {
  if (kind_ == Kind::insert || !possible_) return AtOnce::done;
  run.work.charge(Work::kReadRow_units + Work::kRow_units);
  if (!run.transaction->found(row_)) return AtOnce::done;
  if (source_->filter != nullptr) {
    const layout::RowView row = run.transaction->row(row_);
    EvalContext context = run.context();
    context.row = &row;
    bool selected = false;
    Status status = evaluate_condition(*source_->filter, context, selected);
    if (run.work.paused()) return give_up(run);
    if (!status.ok()) return status;
    if (!selected) return AtOnce::done;
  }
  if (kind_ == Kind::select) return select(run, values);
  if (kind_ == Kind::erase) {
    if (has_long(run.transaction->row(row_))) return give_up(run);
    run.transaction->erase(row_);
  } else {
    const auto& update = *plan_.as<UpdatePlan>();
    const layout::RowView row = run.transaction->row(row_);
    EvalContext context = run.context();
    context.row = &row;
    if (assigns_long(row, update)) return give_up(run);
    run.leaves_no_work = true;
    Status status =
        assign_row(run, *source_->table, update.assignments, update.checks, context, row_, nullptr);
    run.leaves_no_work = false;
    if (run.work.paused()) return give_up(run);
    if (!status.ok()) return status;
  }
  run.work.charge(Work::kWrittenRow_units);
  ++run.affected;
  return AtOnce::done;
}

Result<AtOnce> QuickStatement::select(Run& run, std::vector<Datum>& values) const {
  const auto& query = *plan_.as<SelectPlan>();
  const layout::RowView row = run.transaction->row(row_);
  EvalContext context = run.context();
  context.row = &row;
  std::size_t bytes = 0;
  // A value of an earlier statement may have bytes that are gone.
  values.assign(query.targets.size(), Datum());
  Status status = evaluate_targets(query, context, values, bytes);
  if (run.work.paused()) return give_up(run);
  if (!status.ok()) return status;
  run.work.charge_bytes(bytes);
  ++run.affected;
  return AtOnce::done;
}

reactor::Task<Status> run_quickly(Run& run, const Plan& plan, RunUsually usual) {
  // EXPLAIN counts the costs of the usual parts.
  if (run.state.costs != nullptr || UniqueChecks::wanted(run, plan)) co_return co_await usual(run, plan);
  QuickStatement statement(plan);
  Result<AtOnce> attempt = statement.begin(run);
  if (!attempt.ok()) co_return attempt.status();
  if (*attempt == AtOnce::given_up) co_return co_await usual(run, plan);
  Status status;
  if (statement.wants_fetch(run)) status = co_await run.transaction->fetch();
  if (!status.ok()) co_return status;
  const std::uint64_t before = run.affected;
  std::vector<Datum>& values = run.call_scratch.row;
  attempt = statement.end(run, values);
  if (!attempt.ok()) co_return attempt.status();
  if (*attempt == AtOnce::given_up) co_return co_await usual(run, plan);
  if (statement.is_select() && run.affected != before) run.sink.add_row(values);
  run.next_row();
  if (run.work.due()) status = co_await run.take_turn();
  if (status.ok() && run.sink.congested()) status = co_await run.sink.relieve();
  co_return status;
}

}  // namespace namdb::sql
