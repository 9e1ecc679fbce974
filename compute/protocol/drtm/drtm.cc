#include "compute/protocol/drtm/drtm.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include "compute/txn/errors.h"
#include "compute/txn/lock_resolver.h"

namespace namdb::protocol {

using layout::HeaderWord;
using txn::RowId;

namespace {

// For a row that changes, or whose lease others take, again and again.
constexpr std::uint32_t kMaxLeaseRounds = 4;

}  // namespace

ReadDecision DrTm::meet_lock(HeaderWord lock) {
  // The memory server holds one for a moment, and does not wait meanwhile.
  return lock.stamp().slot == layout::kCollectorSlot ? ReadDecision::locked_by_other : ReadDecision::conflict;
}

LockRead DrTm::add_lock(Lookup& lookup, txn::BatchSet& batches) {
  if (!lookup.shares()) return TwoPhaseLocking::add_lock(lookup, batches);
  if (lockers().guesses.find(lookup.record(), learned())) leases_.post(lookup, lease_length_ns(), batches);
  return LockRead::separate;
}

void DrTm::check_locks() {
  TwoPhaseLocking::check_locks();
  leases_.collect();
}

reactor::Task<Status> DrTm::after_fetch(std::span<const RowId> rows) {
  const auto shares = [this](RowId row) { return transaction().accesses()[row].shares; };
  reactor::PooledVector<RowId> to_lock;
  std::ranges::copy_if(rows, std::back_inserter(to_lock), std::not_fn(shares));
  reactor::PooledVector<RowId> to_lease;
  std::ranges::copy_if(rows, std::back_inserter(to_lease), shares);
  Status status = co_await lock_rows(std::move(to_lock));
  if (!status.ok()) co_return status;
  co_return co_await lease(std::move(to_lease));
}

reactor::Task<Status> DrTm::lease(reactor::PooledVector<RowId> wanted) {
  for (std::uint32_t round = 0;; ++round) {
    std::erase_if(wanted, [this](RowId row) { return is_leased(transaction().accesses()[row]); });
    if (wanted.empty() || round == kMaxLeaseRounds) co_return Status();
    Status status = co_await request_leases(&wanted);
    if (!status.ok() || wanted.empty()) co_return status;
    status = co_await read_again(&wanted);
    if (!status.ok()) co_return status;
  }
}

// Tombstones are not leased: memory servers reclaim them without a look at leases.
bool DrTm::is_leased(Access& access) {
  if (access.shared || !access.stored()) return true;
  if (!leases_.has(access.lookup)) return false;
  // That READ, behind which the lease was known, found the record unlocked.
  access.shared = true;
  lockers().guesses.note(access.lookup.record(), access.lookup.current().header_word(), learned());
  return true;
}

reactor::Task<Status> DrTm::request_leases(reactor::PooledVector<RowId>* rows) {
  txn::WorkerState& worker = transaction().worker();
  txn::BatchSet batches(worker.cluster);
  std::erase_if(*rows, [&](RowId row) {
    Access& access = transaction().accesses()[row];
    // The lease is noted with the header word.
    lockers().guesses.note(access.lookup.record(), access.lookup.current().header_word(), learned());
    return !leases_.post(access.lookup, lease_length_ns(), batches);
  });
  if (rows->empty()) co_return Status();
  const fabric::LocalBuffer headers(worker.cluster.pool(), 8 * rows->size());
  for (std::size_t i = 0; i < rows->size(); ++i)
    batches.read(transaction().accesses()[(*rows)[i]].lookup.record(), headers.data() + 8 * i, 8);
  const Status status = co_await batches.run(transaction().mutable_counters(), Stage::lock);
  leases_.collect();
  if (!status.ok()) {
    own_slot().channel_failed();
    co_return lost_connection(status);
  }
  Status conflict;
  reactor::PooledVector<RowId> again;
  for (std::size_t i = 0; i < rows->size(); ++i) {
    const RowId row = (*rows)[i];
    Access& access = transaction().accesses()[row];
    const HeaderWord found(layout::load_word(headers.data() + 8 * i));
    if (found == access.lookup.current().header_word() && is_leased(access)) continue;
    again.push_back(row);
    if (!found.locked()) continue;
    worker.locks.note(access.lookup.record(), found, access.table->record.body_bytes());
    if (meet_lock(found) != ReadDecision::conflict) continue;
    transaction().meet(access.lookup.record(), found);
    conflict = write_conflict(*access.table);
  }
  *rows = std::move(again);
  co_return conflict;
}

reactor::Task<Status> DrTm::meet_waiters(const reactor::PooledVector<SeenWaiter>* words) {
  const txn::TimeBounds now = transaction().worker().cluster.soft_time().now();
  std::uint64_t last_ns = 0;
  for (const SeenWaiter& seen : *words) {
    // Of a row that is not locked yet the lease will be READ again, behind the lock.
    if (!has_locked(seen.record)) continue;
    const std::uint64_t end_ns = seen.waiter.value();
    if (drtm::write_access({{}, end_ns}, now) == drtm::WriteAccess::leased)
      last_ns = std::max(last_ns, end_ns);
  }
  if (last_ns == 0) co_return Status();
  co_return co_await wait_until_over(last_ns);
}

reactor::Task<Status> DrTm::wait_until_over(std::uint64_t moment_ns) {
  txn::Cluster& cluster = transaction().worker().cluster;
  for (txn::TimeBounds now = cluster.soft_time().now(); !now.after(moment_ns);
       now = cluster.soft_time().now()) {
    co_await cluster.executor().sleep_for(moment_ns - now.earliest_ns + 1);
    Status status = transaction().check_going_on();
    if (!status.ok()) co_return status;
    // Its clock may never come to that.
    if (cluster.failed()) co_return lost_connection();
  }
  co_return Status();
}

reactor::Task<Result<std::shared_ptr<txn::ExecutionSlot>>> DrTm::commit_slot() {
  const std::uint64_t connected_ns = transaction().worker().cluster.soft_time().connected_ns();
  Status status = co_await wait_until_over(connected_ns + drtm::kLongestLease_ns);
  if (!status.ok()) co_return status;
  co_return co_await TwoPhaseLocking::commit_slot();
}

void DrTm::confirm_shares() {
  counts_on_leases_ = false;
  if (!leases_.any()) return;
  // All at one moment.
  const txn::TimeBounds now = transaction().worker().cluster.soft_time().now();
  for (Access& access : transaction().accesses()) {
    if (!access.shared) continue;
    access.shared = drtm::valid(leases_.end_ns(access.lookup), now);
    counts_on_leases_ = counts_on_leases_ || access.shared;
  }
}

std::unique_ptr<WorkerProtocol> make_drtm_protocol(txn::WorkerState& worker) {
  return std::make_unique<PlainLockingProtocol<DrTm>>(worker);
}

}  // namespace namdb::protocol
