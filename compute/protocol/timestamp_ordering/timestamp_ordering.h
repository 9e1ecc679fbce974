// Transactions ordered by timestamps (SUNDIAL, MVCC): leases of rows, floors of tables, and how a commit
// makes sure that all its reads hold at its timestamp.
//
//   metadata   the record's header word, as in optimistic concurrency control; in every version its timestamp
//              (BodyHeader::timestamp); behind the body the record's lease (common/layout/record_trailer.h),
//              the newest timestamp at which a reader counts on the current version. On every memory server
//              the floors of timestamps (common/layout/timestamp_floors.h). All are 64 bits and only grow.
//   written by the holder of the header word: body with timestamp, then the header word. The lease by any
//              reader, by CAS; the floors likewise.
//   the commit's timestamp t   newer than the lease of every version that is displaced, and than the floors
//              of the tables that are written to
//   why it is serializable   in the order of timestamps every transaction reads the versions of the last
//              transaction before it. A row that was read by key holds at t: either its lease reaches t, or
//              the commit raises the lease to t and sees, behind that, that the row is neither locked nor
//              changed. A transaction that locks it later READs the lease behind its lock, and commits later
//              than the lease. Keys that were not there, whole tables and index ranges have no lease: the
//              commit raises the floors of those tables to t, and then validates all of these reads, as in
//              optimistic concurrency control. A transaction that changes them later reads the floors behind
//              its locks and entries, and commits after them.
//
// A lease is trusted only if it was read before the record: a CAS that changes nothing, and the READ of the
// record behind it (txn/lookup.h). In one READ the lease might be newer than the header word: a reader
// raises it and only then finds the row locked.
//
// Rows that the memory servers reclaim lie below the forgotten timestamp: before a deleted row is reclaimed,
// the forgotten timestamp is raised to the row's timestamp and lease. A commit that leaves index entries
// behind raises the forgotten timestamp to its own. A transaction that finds nothing where a row may have
// been commits after it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/fabric/local_pool.h"
#include "common/layout/timestamp_floors.h"
#include "compute/commit/read_set.h"
#include "compute/txn/concurrency_control.h"
#include "compute/txn/lock_owner.h"
#include "compute/txn/timestamps.h"
#include "compute/txn/transaction_state.h"
#include "compute/txn/validation.h"

namespace namdb::protocol {

// A protocol adds its visibility (order_with), and how it finds the timestamp.
class TimestampOrdering : public ConcurrencyControl, public Validation, public Timestamps {
 public:
  explicit TimestampOrdering(TransactionState& transaction) : transaction_(transaction) {}

  // --- Validation ---
  void saw_record(const Lookup& lookup) override;
  void saw_bucket(const storage::Table& table, layout::GlobalAddress address, const layout::Bucket& bucket,
                  bool main) override;
  void saw_latest(const Lookup& lookup) override;
  void saw_range(SeenRange range) override;
  reactor::Task<Status> validate(const Locked& locked) override;
  reactor::Task<Status> confirm_reads(bool commits) override;

  // --- Timestamps ---
  void read_behind_lock(const Access& access, txn::BatchSet& batches) override;
  void read_behind_locks(txn::BatchSet& batches) override;
  std::uint64_t commit_timestamp() const override { return timestamp_; }

  // --- ConcurrencyControl ---
  Status may_write(const Access& /*access*/) const override { return {}; }
  layout::Stamp lock_stamp(layout::Stamp stamp) override { return owner_.lock_by(stamp); }
  GenerationEnd end(std::uint64_t generation, const Status& outcome, bool wrote) override;

 protected:
  TransactionState& transaction() const { return transaction_; }
  LockOwner& owner() { return owner_; }
  // `visibility`: the protocol's.
  void order_with(Visibility& visibility) {
    decide_by({.visibility = &visibility, .validation = this, .timestamps = this});
  }
  // A record that was read, and which of its versions.
  struct SeenRow {
    std::uint32_t table = 0;
    layout::GlobalAddress record;
    std::uint16_t incarnation = 0;
    std::uint32_t body_bytes = 0;
    layout::HeaderWord header;     // unlocked
    layout::Stamp version;         // none: the row was not there
    std::uint64_t lease = 0;       // of a moment before; if it was read by key
    std::uint64_t held_until = 0;  // the newest timestamp at which a reader counts on the version
  };
  using SeenRows = reactor::PooledVector<SeenRow>;

  // The transaction goes after that timestamp, or at it.
  virtual void after(std::uint64_t timestamp) = 0;
  // All timestamps that it must go after are known. Error serialization_failure: it cannot.
  virtual Status place() { return {}; }
  // Rows that are locked or changed: Ok if the versions that were read hold at the timestamp in spite of
  // that.
  virtual reactor::Task<Status> check_again(const SeenRows* rows);

  std::uint64_t timestamp_ = 0;

 private:
  struct Displaced {
    std::uint64_t timestamp;
    fabric::LocalBuffer lease;
  };
  struct Raise;

  void add_reads(bool commits, SeenRows* rows);
  void add_row(const Lookup& lookup, bool leased, SeenRows& rows);
  void note_table(std::uint32_t table) { unleased_ |= 1U << layout::floor_of(table); }
  // A row may have been where none was found: always so for reads without a lease.
  bool may_have_missed() const { return unleased_ != 0 || needs_forgotten_; }
  // On all servers. By call only those positions are read, where they are few; otherwise all.
  void add_floor_reads(txn::BatchSet& batches, Stage stage, std::uint32_t positions);
  // The positions of the floors of the tables that the transaction writes to.
  std::uint32_t written_positions() const;
  std::uint64_t floor(std::size_t server, std::size_t word) const;
  reactor::Task<Status> read_floors();
  reactor::Task<Status> go_after_forgotten();
  // The floors at those positions, a bit each, of all servers, which have been read.
  void go_after(std::uint32_t positions);
  reactor::Task<Status> commit_reads(const SeenRows* rows);
  // Leases of those rows, and floors, to the timestamp; `doubtful`: rows that are locked or changed.
  reactor::Task<Status> raise(const SeenRows* rows, bool forgets, SeenRows* doubtful);
  // The reads were true at once: no lease is needed yet. `rows`: those that are read so far.
  reactor::Task<Status> check_reads(SeenRows* rows);
  // Validates the reads without a lease, behind the floors, and again the doubtful rows.
  reactor::Task<Status> check_all(SeenRows* doubtful, const HeldChains* chains);
  reactor::Task<Status> check(const SeenRows* rows, SeenRows* doubtful);
  bool same(const SeenRow& row, layout::HeaderWord now);

  TransactionState& transaction_;
  CommitLockOwner owner_;
  ReadSet read_set_;
  SeenRows scanned_;
  std::uint32_t unleased_ = 0;  // floors, by their positions, of tables whose rows were read without a lease
  std::uint32_t written_ = 0;   // of tables that the commit writes to
  bool needs_forgotten_ = false;  // a row was not there yet
  reactor::PooledVector<Displaced> displaced_;
  fabric::LocalBuffer floors_;  // of each memory server
};

}  // namespace namdb::protocol
