// DrTM (its §5), on its software path: two-phase locking of remote and local records alike, as its fallback
// handler runs (§7.2), where rows that are only read are not locked but leased.
//
//   metadata   the record's header word, locked as under NOWAIT (two_phase_locking.h), and its read lease:
//              record_state.h. Records keep no old versions.
//   written by the holder of the lock: body, then the header word. The lease by any reader, by CAS
//   reads      a row that is found by key and only read gets a lease (read_leases.h); one that is locked is a
//              conflict. Rows that may be written are locked. Absent keys, whole tables and ranges are
//              validated, as under NOWAIT
//   writes     a row with a lease that has not ended is locked, so that no reader extends the lease, and then
//              its end is waited for. DrTM aborts there, and tries again until it has ended
//   commit     once all locks are held, and before anything else is validated, leases are confirmed: those
//              that certainly have not ended hold. A row whose lease may have ended is validated by a READ of
//              its header word. DrTM aborts there
//   why it is serializable   at the moment of confirmation all rows that were locked are locked, all leased
//              ones are as they were read, since their writers wait for a later moment, and what is validated
//              behind that was true then, too. That is the transaction's place in the order of time.
//   why there is no deadlock   a transaction that meets a lock gives way. A writer that waits for a lease
//              waits for time, no longer than kLongestLease_ns
//
// A transaction that only reads rows by key commits without a round trip while its leases last (§5.4). Dead
// readers' leases end like others. Dead writers' locks are undone from the journal, as under all protocols:
// the journal is the write-ahead log of §5.6. A lock names its slot, so the lock-ahead log is not needed.
//
// A memory server that has restarted has lost its leases: so a commit waits until kLongestLease_ns have
// passed since its compute server has connected.
#pragma once

#include "compute/protocol/drtm/read_leases.h"
#include "compute/protocol/two_phase_locking/two_phase_locking.h"

namespace namdb::protocol {

class DrTm final : public TwoPhaseLocking {
 public:
  DrTm(TransactionState& transaction, LockerState& lockers)
      : TwoPhaseLocking(transaction, lockers), leases_(transaction.worker(), lockers.guesses, learned()) {}

  // --- Locking ---
  LockRead add_lock(Lookup& lookup, txn::BatchSet& batches) override;
  void check_locks() override;
  reactor::Task<Status> after_fetch(std::span<const txn::RowId> rows) override;
  reactor::Task<Result<std::shared_ptr<txn::ExecutionSlot>>> commit_slot() override;

  // --- LockOwner ---
  ReadDecision meet_lock(layout::HeaderWord lock) override;
  void confirm_shares() override;
  bool counts_on_time() const override { return leases_.any(); }
  bool holds_rows() const override { return counts_on_leases_ || TwoPhaseLocking::holds_rows(); }

 protected:
  // The words behind the bodies of rows that have just been locked are their leases.
  reactor::Task<Status> meet_waiters(const reactor::PooledVector<SeenWaiter>* words) override;

 private:
  std::uint64_t lease_length_ns() const {
    return TwoPhaseLocking::holds_rows() ? drtm::kLease_ns : drtm::kReadOnlyLease_ns;
  }
  // Leases these rows, where that is possible within some rounds.
  reactor::Task<Status> lease(reactor::PooledVector<txn::RowId> rows);
  // Whether the row is leased, or cannot be; notes it in the row.
  bool is_leased(Access& access);
  // Rows that are to be read again are left in `rows`.
  reactor::Task<Status> request_leases(reactor::PooledVector<txn::RowId>* rows);
  reactor::Task<Status> wait_until_over(std::uint64_t moment_ns);

  drtm::ReadLeases leases_;
  bool counts_on_leases_ = false;  // when they were confirmed last
};

}  // namespace namdb::protocol
