#include "compute/txn/lookup_runner.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "compute/cluster/catalog_cache.h"
#include "compute/cluster/stage_times.h"
#include "compute/txn/lock_resolver.h"
#include "compute/txn/locking.h"
#include "compute/txn/run_reads.h"
#include "compute/txn/visibility.h"

namespace namdb::protocol {
namespace {

constexpr std::uint32_t kYields = 16;  // turns to wait for something half written before sleeping
// The older versions that the lookups of a step READ together, unless one lookup alone needs more.
constexpr std::size_t kOlderAtOnce_bytes = std::size_t{8} << 20;

reactor::Task<void> pause(reactor::Executor* executor, std::uint32_t waits) {
  if (waits <= kYields) {
    co_await executor->yield();
  } else {
    const std::uint64_t sleep_ns = std::min<std::uint64_t>((waits - kYields) * 20'000, kMillisecond_ns);
    co_await executor->sleep_for(sleep_ns);
  }
}

// How many went.
template <typename Predicate>
std::size_t erase_if(Lookups& lookups, const Predicate& goes) {
  const auto rest = std::remove_if(lookups.begin(), lookups.end(), goes);
  const auto gone = static_cast<std::size_t>(lookups.end() - rest);
  lookups.erase(rest, lookups.end());
  return gone;
}

// Leaves for later rounds what the lookups would READ of older versions beyond a bound. The first lookups go
// first until they are done, so that the others have taken no buffers yet.
void put_off(Lookups& lookups, Lookups& later) {
  lookups.insert(lookups.end(), later.begin(), later.end());
  later.clear();
  std::size_t bytes = 0;
  erase_if(lookups, [&bytes, &later](Lookup* lookup) {
    const std::size_t more = lookup->older_bytes();
    const bool fits = more == 0 || bytes == 0 || bytes + more <= kOlderAtOnce_bytes;
    if (!fits) later.push_back(lookup);
    if (fits) bytes += more;
    return !fits;
  });
}

// One run of lookups.
struct LookupRun {
  LookupRun(TransactionState& state, Lookups wanted)
      : transaction(state),
        worker(state.worker()),
        visibility(state.visibility()),
        locking(state.control().locking()),
        counters(state.mutable_counters()),
        batches(state.lookup_batches()),
        lookups(std::move(wanted)) {}

  // The READs of the beginning go in the batch of those of rows.
  bool join_beginning() {
    if (visibility.ready() || worker.cluster.stages().two_sided(Stage::read)) return false;
    const bool together =
        std::ranges::all_of(lookups, [](const Lookup* lookup) { return lookup->reads_from(0); });
    return together && visibility.join(batches) == BeginningReads::added;
  }

  void add_operations(bool joined) {
    if (locking != nullptr || transaction.control().timestamps() != nullptr) {
      for (Lookup* lookup : lookups) lookup->add_atomics(batches, locking);
    }
    for (Lookup* lookup : lookups) lookup->add_read(batches);
    if (runs) runs->add_reads(batches);
    if (joined) {
      batches.fence_reads(false);
    } else if (!visibility.ready()) {
      visibility.piggyback(batches);
    }
  }

  reactor::Task<Status> decide_slots(Lookup* lookup, std::uint32_t slot) {
    while (slot != 0) {
      Status status = co_await worker.slots.refresh(&counters);
      if (!status.ok()) co_return status;
      // "Retired" is true only of a snapshot that is younger than E.
      status = transaction.check_going_on();
      if (!status.ok()) co_return status;
      slot = lookup->advance(worker, visibility);
    }
    co_return Status();
  }

  void note_lock(const Lookup& lookup) {
    if (lookup.lock_seen().locked())
      worker.locks.note(lookup.lock_address(), lookup.lock_seen(), lookup.lock_body_bytes());
  }

  reactor::Task<Status> failed(const Lookup* lookup) {
    note_lock(*lookup);
    if (lookup->damaged())
      co_return co_await transaction.tables().damage(lookup->table().id, lookup->error());
    transaction.meet(lookup->lock_address(), lookup->lock_seen(), lock_wait.since_ns(lookup->lock_address()));
    co_return lookup->error();
  }

  reactor::Task<Status> wait(layout::GlobalAddress locked) {
    Status status = lock_wait.goes_on(transaction, locked);
    if (!status.ok()) co_return status;
    const txn::StageTimer timer(worker.cluster.stage_times(), worker.executor, counters);
    bool waited = false;
    if (locking != nullptr && locking->queues() != nullptr) {
      const std::span<Lookup* const> waiting(lookups);
      const Result<QueueWait> result = co_await locking->queues()->wait_for_locks(waiting);
      if (!result.ok()) co_return result.status();
      waited = *result == QueueWait::waited;
    }
    ++waits;
    if (!waited) co_await pause(&worker.executor, waits);
    timer.end(txn::Wait::locked_by_other);
    if (!CheckedTables::is_check_due(waits)) co_return Status();
    status = co_await worker.catalog.refresh();
    if (!status.ok()) co_return status;
    for (const Lookup* lookup : lookups) {
      status = transaction.tables().check_exists(lookup->table().id);
      if (!status.ok()) co_return status;
    }
    co_return Status();
  }

  TransactionState& transaction;
  txn::WorkerState& worker;
  Visibility& visibility;
  Locking* const locking;
  fabric::OperationCounters& counters;
  txn::BatchSet& batches;
  Lookups lookups;
  Lookups later;                 // put off
  std::optional<RunReads> runs;  // until their bytes have been checked
  LockWait lock_wait;
  std::uint32_t waits = 0;
};

}  // namespace

Status LockWait::goes_on(TransactionState& transaction, layout::GlobalAddress locked) {
  if (since_ns_ == 0) since_ns_ = transaction.worker().executor.now_ns();
  locked_ = locked;
  return transaction.check_lock_wait(locked, since_ns_);
}

reactor::Task<Status> wait_for_lock(TransactionState* transaction, LockWait* wait,
                                    layout::GlobalAddress locked, std::uint32_t waits) {
  Status status = wait->goes_on(*transaction, locked);
  if (!status.ok()) co_return status;
  txn::WorkerState& worker = transaction->worker();
  const txn::StageTimer timer(worker.cluster.stage_times(), worker.executor, transaction->mutable_counters());
  co_await pause(&worker.executor, waits);
  timer.end(txn::Wait::locked_by_other);
  co_return transaction->check_going_on();
}

reactor::Task<Status> run_lookups(TransactionState* transaction, Lookups lookups, LookupTables tables,
                                  Together together) {
  if (transaction->ended()) co_return transaction->check_open();
  LookupRun run(*transaction, std::move(lookups));
  txn::WorkerState& worker = run.worker;
  Visibility& visibility = run.visibility;
  std::size_t checked = 0;  // of the tables
  if (together == Together::near) run.runs.emplace(worker.cluster.pool(), run.lookups);
  while (!run.lookups.empty() || !run.later.empty() || !visibility.ready()) {
    put_off(run.lookups, run.later);
    Status status;
    const bool joined = run.join_beginning();
    if (!joined && !visibility.ready()) {
      const txn::StageTimer timer(worker.cluster.stage_times(), worker.executor, run.counters);
      status = co_await visibility.prepare();
      timer.end(txn::Wait::begin);
      if (!status.ok()) co_return status;
      if (run.lookups.empty() && visibility.ready()) break;
    }
    run.add_operations(joined);
    status = co_await run.batches.run(run.counters, Stage::read);
    if (!status.ok()) {
      if (run.locking != nullptr) run.locking->check_locks();  // those of servers that have answered
      co_return status;
    }
    if (run.locking != nullptr) run.locking->check_locks();
    status = transaction->check_going_on();
    if (!status.ok()) co_return status;
    if (!visibility.ready()) {
      const Result<SnapshotCheck> snapshot = co_await visibility.confirm_snapshot();
      if (!snapshot.ok()) co_return snapshot.status();
      if (*snapshot == SnapshotCheck::unstable) continue;
    }
    for (; checked < tables.size(); ++checked) {
      status = transaction->tables().check(*tables[checked], visibility.catalog_version());
      if (!status.ok()) co_return status;
    }
    const Lookup* waiting = nullptr;  // the first one that READs again
    for (Lookup* lookup : run.lookups) {
      const std::uint32_t slot = lookup->advance(worker, visibility);
      if (slot != 0) status = co_await run.decide_slots(lookup, slot);
      if (!status.ok()) co_return status;
      if (lookup->locked_by_other() && transaction->passes_over_locked()) {
        run.note_lock(*lookup);
        lookup->pass_over();
      }
      if (lookup->state() == Lookup::State::failed) co_return co_await run.failed(lookup);
      if (!lookup->waiting()) continue;
      run.note_lock(*lookup);
      if (waiting == nullptr) waiting = lookup;
      ++run.counters.rereads;
    }
    run.runs.reset();
    const auto done = erase_if(run.lookups, [](const Lookup* lookup) { return lookup->done(); });
    if (waiting == nullptr || done != 0) run.lock_wait.ends();
    if (waiting == nullptr) continue;
    status = co_await run.wait(waiting->lock_address());
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

reactor::Task<Status> run_one_by_one(TransactionState* transaction, const Lookups* lookups,
                                     const LookupTables* tables) {
  for (std::size_t i = 0; i < lookups->size(); ++i) {
    Lookups one(1, (*lookups)[i]);
    LookupTables its_table(1, (*tables)[i]);
    Status status = co_await run_lookups(transaction, std::move(one), std::move(its_table));
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

reactor::Task<Status> begin_reading(TransactionState* transaction) {
  // Neither entries of indexes nor buckets say what is to come.
  if (!transaction->session().deferred.all_visible()) {
    Status status = co_await transaction->wait_for_deferred();
    if (!status.ok()) co_return status;
  }
  Lookups no_lookups;
  LookupTables no_tables;
  co_return co_await run_lookups(transaction, std::move(no_lookups), std::move(no_tables));
}

}  // namespace namdb::protocol
