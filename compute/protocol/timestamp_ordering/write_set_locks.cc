#include "compute/protocol/timestamp_ordering/write_set_locks.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "compute/txn/timestamps.h"

namespace namdb::protocol {

using layout::GlobalAddress;
using layout::HeaderWord;
using txn::RowId;

std::uint64_t WriteSetLocks::lease(GlobalAddress record) const {
  const auto found = std::ranges::find(leases_, record, &Lease::record);
  return found == leases_.end() ? 0 : found->timestamp;
}

void WriteSetLocks::want_floor(const storage::Table& table, layout::ServerId server) {
  auto wanted = std::ranges::find(wanted_, server, &WantedFloors::server);
  if (wanted == wanted_.end()) {
    wanted_.push_back({server, 0, {}});
    wanted = wanted_.end() - 1;
  }
  wanted->positions |= 1U << layout::floor_of(table.id);
}

bool WriteSetLocks::add_lock(Lookup& lookup, txn::BatchSet& batches) {
  want_floor(lookup.table(), lookup.record().server());
  return TwoPhaseLocking::add_lock(lookup, batches);
}

void WriteSetLocks::read_behind_locks(txn::BatchSet& batches) {
  if (!has_posted()) return;
  txn::Cluster& cluster = transaction().worker().cluster;
  const StageCode stages = cluster.stages();
  // One READ costs less than several, but a call's replies are as long as they are.
  const bool by_call = stages.two_sided(Stage::read) || stages.two_sided(Stage::lock);
  for (WantedFloors& wanted : wanted_) {
    if (cluster.lacks(wanted.server)) continue;
    wanted.words = fabric::LocalBuffer(cluster.pool(), layout::kTimestampFloors_bytes);
    std::memset(wanted.words.data(), 0, layout::kTimestampFloors_bytes);
    if (!by_call || std::popcount(wanted.positions) >= kManyFloors) {
      batches.read({wanted.server, layout::timestamp_floor_offset(0)}, wanted.words.data(),
                   layout::kTimestampFloors_bytes);
      continue;
    }
    for (std::size_t position = 0; position < floors_.size(); ++position) {
      if ((wanted.positions >> position & 1) == 0) continue;
      batches.read({wanted.server, layout::timestamp_floor_offset(position)},
                   wanted.words.data() + 8 * position, 8);
    }
  }
}

void WriteSetLocks::check_locks() {
  take_floors();
  TwoPhaseLocking::check_locks();
}

void WriteSetLocks::take_floors() {
  for (WantedFloors& wanted : wanted_) {
    if (!wanted.words) continue;
    for (std::size_t position = 0; position < floors_.size(); ++position)
      floors_[position] = std::max(floors_[position], layout::load_word(wanted.words.data() + 8 * position));
    wanted.words.reset();
  }
}

ReadDecision WriteSetLocks::meet_lock(HeaderWord lock) {
  // The memory server holds one for a moment, and does not wait meanwhile.
  if (lock.stamp().slot == layout::kCollectorSlot) return ReadDecision::locked_by_other;
  return holds_rows() || has_just_taken() ? ReadDecision::conflict : ReadDecision::locked_by_other;
}

reactor::Task<Status> WriteSetLocks::meet_waiters(const reactor::PooledVector<SeenWaiter>* words) {
  for (const SeenWaiter& seen : *words) {
    // Of a row that is not locked yet the lease will be READ again, behind the lock.
    if (!has_locked(seen.record)) continue;
    const auto known = std::ranges::find(leases_, seen.record, &Lease::record);
    if (known == leases_.end()) {
      leases_.push_back({seen.record, seen.waiter.value()});
    } else {
      known->timestamp = std::max(known->timestamp, seen.waiter.value());
    }
  }
  co_return Status();
}

std::uint64_t WriteSetLocks::newest(std::span<const RowId> rows) const {
  std::uint64_t newest = 0;
  for (const RowId row : rows) {
    const Access& access = transaction().accesses()[row];
    if (!access.locked) continue;
    newest = std::max({newest, access.lookup.current().timestamp(), lease(access.lookup.record()),
                       floor(layout::floor_of(access.table->id))});
  }
  return newest;
}

reactor::Task<Status> WriteSetLocks::after_fetch(std::span<const RowId> rows) {
  reactor::PooledVector<RowId> to_lock;
  for (const RowId row : rows) {
    const Access& access = transaction().accesses()[row];
    if (access.passed_over || !access.lookup.has_record()) continue;
    Status status = transaction().control().may_write(access);
    if (!status.ok()) co_return status;
    want_floor(*access.table, access.lookup.record().server());
    to_lock.push_back(row);
  }
  Status status = co_await lock_rows(std::move(to_lock));
  take_floors();  // those READ behind locks that were not sent with the READ of their rows
  wanted_.clear();
  if (!status.ok()) co_return status;
  co_return transaction().control().timestamps()->go_after_locked(newest(rows));
}

}  // namespace namdb::protocol
