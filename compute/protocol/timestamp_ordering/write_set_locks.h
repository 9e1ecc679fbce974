// The locks of a transaction in the order of timestamps (timestamp_ordering.h) that locks what it may write
// when it reads it, and not at its commit: rows that it asks for by key, as RCC's MVCC and SUNDIAL lock their
// write sets (its §4.4, §4.5). Taken and released as under two-phase locking (two_phase_locking.h).
//
//   behind a lock   in the batch of the CAS, the transaction READs the record with its lease, and the floors
//                   of its memory server: so the commit need not. That server's floors are enough for the
//                   record: a reader that counts on the whole table raises all floors first and then READs
//                   the records, so it either has raised this one before, or finds the record locked.
//   a met lock      of another transaction is waited for by a transaction that holds none itself; any other
//                   gives way. So no transaction that others wait for waits for a record, and there is no
//                   deadlock. (RCC's writers give way always; its readers too, unless the lock's holder is
//                   newer than they are.)
//
// Rows that are only to be read are read with their leases, and those that turn out to be written all the
// same are locked at commit.
#pragma once

#include <array>
#include <cstdint>

#include "common/layout/timestamp_floors.h"
#include "compute/protocol/two_phase_locking/two_phase_locking.h"

namespace namdb::protocol {

// So many floors are not worth a READ each.
inline constexpr int kManyFloors = 8;

class WriteSetLocks final : public TwoPhaseLocking {
 public:
  // Leases stand where WAITDIE has its waiters.
  explicit WriteSetLocks(TransactionState& transaction) : TwoPhaseLocking(transaction, true) {}

  // The lease of a record that is locked, READ behind its lock.
  std::uint64_t lease(layout::GlobalAddress record) const;
  // The newest of the floors at that position (timestamp_floors.h) that were READ behind locks.
  std::uint64_t floor(std::size_t position) const { return floors_[position]; }

  // --- Locking ---
  bool add_lock(Lookup& lookup, txn::BatchSet& batches) override;
  void read_behind_locks(txn::BatchSet& batches) override;
  void check_locks() override;
  reactor::Task<Status> after_fetch(std::span<const txn::RowId> rows) override;

  // --- LockOwner ---
  ReadDecision meet_lock(layout::HeaderWord lock) override;

 protected:
  // The words behind the bodies of rows that have just been locked are their leases.
  reactor::Task<Status> meet_waiters(const reactor::PooledVector<SeenWaiter>* words) override;

 private:
  struct Lease {
    layout::GlobalAddress record;
    std::uint64_t timestamp;
  };
  // To be READ behind the locks that this fetch takes on the server: positions, a bit each.
  struct WantedFloors {
    layout::ServerId server;
    std::uint32_t positions;
    fabric::LocalBuffer words;  // those of a batch that is under way
  };
  void want_floor(const storage::Table& table, layout::ServerId server);
  // The batches with READs of floors have run.
  void take_floors();
  // The timestamp that the transaction must exceed if it writes all of these rows that it has locked.
  std::uint64_t newest(std::span<const txn::RowId> rows) const;

  reactor::PooledVector<Lease> leases_;
  reactor::PooledVector<WantedFloors> wanted_;
  std::array<std::uint64_t, layout::kTimestampFloors + 1> floors_{};
};

}  // namespace namdb::protocol
