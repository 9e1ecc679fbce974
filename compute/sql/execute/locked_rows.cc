#include "compute/sql/execute/locked_rows.h"

#include <algorithm>
#include <utility>

#include "compute/api/row_locks.h"
#include "compute/locks/named_locks.h"
#include "compute/sql/execute/changed_rows.h"
#include "compute/sql/execute/part_cost.h"
#include "compute/sql/execute/source_keys.h"
#include "compute/sql/execute/target_values.h"
#include "compute/sql/expression/subquery.h"

namespace namdb::sql {
namespace {

bool locks_at_once(const Run& run) {
  const txn::RowLocks* const locks = txn::row_locks(run.transaction);
  return locks != nullptr && locks->locks_at_once();
}

bool reads_elsewhere(const ExprPtr& expr) {
  if (expr == nullptr) return false;
  return is_subquery(*expr) || expr->kind == ExprKind::routine ||
         std::ranges::any_of(expr->args, reads_elsewhere);
}

// Rows that the query does not lock decide what it gives: they must be there, locked or not.
bool meets_other_rows(const SelectPlan& plan) {
  const auto values_have = [](const std::vector<ExprPtr>& values) {
    return std::ranges::any_of(values, reads_elsewhere);
  };
  return plan.join != nullptr || reads_elsewhere(plan.source.filter) || values_have(plan.targets) ||
         std::ranges::any_of(plan.source.key, values_have) ||
         std::ranges::any_of(plan.order, [](const OrderItem& item) { return reads_elsewhere(item.value); });
}

void pass_over_locked(const Run& run, bool on) {
  if (txn::RowLocks* const locks = txn::row_locks(run.transaction)) locks->pass_over_locked(on);
}

}  // namespace

bool LockedRows::is_found_apart(const Run& run) const {
  return plan_.locks_without_wait() && plan_.join == nullptr && run.engine.serializable() &&
         !run.transaction->has_writes();
}

Run LockedRows::begin_portion(const Run& run) {
  portion_.clear();
  if (std::exchange(is_first_, false) && is_found_apart(run)) {
    session_ = run.engine.open_session();
    finder_ = run.engine.begin(*session_);
    finder_->set_interrupt(&run.interrupt);
    if (txn::RowLocks* const locks = txn::row_locks(finder_.get())) locks->read_past_locks();
  }
  Run portion = run.nested(portion_, arena_, run.work, run.outer);
  if (finder_ != nullptr) portion.transaction = finder_.get();
  // Where it finds rows itself, one that SKIP LOCKED would skip is not met.
  const bool skips = plan_.locks.front().locked == LockedRow::is_skipped && !meets_other_rows(plan_);
  if (finder_ == nullptr && skips && locks_at_once(run)) pass_over_locked(run, true);
  return portion;
}

void LockedRows::end_portion(const Run& run) {
  pass_over_locked(run, false);
}

reactor::Task<Status> LockedRows::lock(Run& run) {
  if (finder_ != nullptr && finder_->has_writes()) {
    co_return Status(ErrorCode::feature_not_supported,
                     "a function that writes, in a query with NOWAIT or SKIP LOCKED, is not supported");
  }
  std::vector<Wanted> wanted;
  Status status = find_wanted(wanted);
  if (!status.ok()) co_return status;
  run.work.charge(wanted.size() * Work::kReadRow_units);
  is_there_.assign(portion_.size(), true);
  if (plan_.locks_without_wait() && !wanted.empty() && !locks_at_once(run))
    status = co_await claim(run, &wanted);
  if (!status.ok()) co_return status;
  PartCost cost(run, &plan_.locks);
  status = co_await fetch(run, &wanted);
  if (!status.ok()) co_return status;
  cost.end(wanted.size());
  for (const Wanted& one : wanted) {
    status = check_locked(run, one);
    if (!status.ok()) co_return status;
    if (finder_ != nullptr && is_there_[one.row]) status = co_await give_as_it_is(run, &one);
    if (!status.ok()) co_return status;
    if (run.work.due()) status = co_await run.take_turn();
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

Status LockedRows::find_wanted(std::vector<Wanted>& wanted) {
  for (std::size_t row = 0; row < portion_.size(); ++row) {
    for (const RowLock& lock : plan_.locks) {
      if (Status room = check_changed_rows(locked_++); !room.ok()) return room;
      layout::Key key = key_of(lock.table->schema, portion_[row].subspan(lock.first_target));
      wanted.push_back({.row = row, .lock = &lock, .key = std::move(key)});
    }
  }
  return {};
}

// A lock may be asked for twice: of the rows of a join, or of keys with the same hash.
reactor::Task<Status> LockedRows::claim(Run& run, std::vector<Wanted>* wanted) {
  std::vector<txn::WantedLock> locks;
  std::vector<Wanted*> claimed;
  for (Wanted& one : *wanted) {
    if (one.lock->locked == LockedRow::waits) continue;
    locks.push_back({.name = txn::row_lock_name(*one.lock->table, one.key.bytes())});
    claimed.push_back(&one);
  }
  const auto claims = co_await run.waiting.claim(&locks);
  if (!claims.ok() || !*claims) co_return claims.status();
  std::vector<Wanted*> taken;
  for (std::size_t i = 0; i < locks.size(); ++i) {
    Status status = locks[i].taken ? Status() : leave_out(*claimed[i]);
    if (!status.ok()) co_return status;
    if (locks[i].taken) taken.push_back(claimed[i]);
  }
  co_return co_await look(run, &taken);
}

// Other sessions that have claimed these rows before have committed or given up: their changes are seen here.
reactor::Task<Status> LockedRows::look(Run& run, const std::vector<Wanted*>* claimed) {
  const std::unique_ptr<txn::Session> session = run.engine.open_session();
  const std::unique_ptr<txn::Transaction> reader = run.engine.begin(*session);
  reader->set_interrupt(&run.interrupt);
  if (txn::RowLocks* const locks = txn::row_locks(reader.get())) locks->read_past_locks();
  std::vector<txn::RowId> ids;
  for (const Wanted* const one : *claimed) {
    const std::span<const std::byte> key = one->key.bytes();
    ids.push_back(reader->read(one->lock->table, key));
  }
  Status status = co_await reader->fetch();
  if (!status.ok()) co_return status;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    Wanted& one = *(*claimed)[i];
    one.is_claimed = true;
    if (!reader->found(ids[i])) continue;
    const std::span<const std::byte> bytes = reader->row(ids[i]).bytes();
    one.claimed.assign(bytes.begin(), bytes.end());
  }
  co_return Status();
}

reactor::Task<Status> LockedRows::fetch(Run& run, std::vector<Wanted>* wanted) {
  const bool tries = plan_.locks_without_wait() && locks_at_once(run);
  // Those with a wait first, then those without.
  for (const bool waits : {true, false}) {
    bool any = false;
    for (Wanted& one : *wanted) {
      if (!is_there_[one.row] || (one.lock->locked == LockedRow::waits) != waits) continue;
      const std::span<const std::byte> key = one.key.bytes();
      one.id = run.transaction->get(one.lock->table, key);
      any = true;
    }
    if (!any) continue;
    if (tries && !waits) pass_over_locked(run, true);
    Status status = co_await run.transaction->fetch();
    pass_over_locked(run, false);
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

Status LockedRows::leave_out(const Wanted& wanted) {
  is_there_[wanted.row] = false;
  if (wanted.lock->locked == LockedRow::is_skipped) return {};
  return Status(ErrorCode::lock_not_available,
                "could not obtain lock on row in relation \"" + wanted.lock->table->name + "\"");
}

Status LockedRows::check_locked(Run& run, const Wanted& wanted) {
  if (!is_there_[wanted.row]) return {};
  const txn::RowLocks* const locks = txn::row_locks(run.transaction);
  if (locks != nullptr && locks->passed_over(wanted.id)) return leave_out(wanted);
  const bool found = run.transaction->found(wanted.id);
  const bool written = locks != nullptr && locks->has_written(wanted.id);
  if (wanted.is_claimed && !written) {
    const bool same = found ? std::ranges::equal(run.transaction->row(wanted.id).bytes(), wanted.claimed)
                            : wanted.claimed.empty();
    if (!same && wanted.lock->locked == LockedRow::fails)
      return Status(ErrorCode::serialization_failure, "could not serialize access due to concurrent update");
    if (!same) is_there_[wanted.row] = false;
  }
  if (!found) is_there_[wanted.row] = false;
  if (!is_there_[wanted.row]) return {};
  run.transaction->hold(wanted.id);
  run.work.charge(Work::kWrittenRow_units);
  return {};
}

// As PostgreSQL looks at the newest version of a row that it has locked.
reactor::Task<Status> LockedRows::give_as_it_is(Run& run, const Wanted* wanted) {
  const layout::RowView row = run.transaction->row(wanted->id);
  std::vector<Datum> values(plan_.targets.size());
  bool selected = true;
  const auto evaluate_row = [&] {
    EvalContext context = run.context();
    context.row = &row;
    selected = true;
    if (plan_.source.filter != nullptr) {
      Status status = evaluate_condition(*plan_.source.filter, context, selected);
      if (!status.ok() || !selected) return status;
    }
    std::size_t bytes = 0;
    return evaluate_targets(plan_, context, values, bytes);
  };
  Status status = evaluate_row();
  if (run.work.paused()) status = co_await run.resume(evaluate_row);
  if (!status.ok()) co_return status;
  is_there_[wanted->row] = selected;
  if (selected) portion_.replace(wanted->row, values);
  run.next_row();
  co_return Status();
}

}  // namespace namdb::sql
