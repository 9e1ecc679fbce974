// SUNDIAL, as RCC runs it (its §4.5): logical leases, and a timestamp that is found when the transaction
// commits.
//
//   metadata   the record's header word, as in optimistic concurrency control; in the version its timestamp
//              (BodyHeader::timestamp); behind the body the lease (RecordLayout::lease_offset): a version
//              holds from its timestamp to the lease, or to its timestamp if that is newer. A floor of
//              timestamps on every memory server (kTimestampFloor_offset). All are 64 bits and only grow.
//   written by the holder of the header word: body with timestamp, then the header word. The lease by any
//              reader, by CAS; the floor likewise.
//   the commit's timestamp t   at least that of every version that was read; newer than the lease of every
//              version that is displaced, and than the floor of every server that is written to
//   why it is serializable   in the order of timestamps every transaction reads what the last one before it
//              wrote. A row that was read by key holds at t: either its lease says so, or the commit raises
//              the lease to t and sees, behind that, that nobody has locked or changed the row. Who locks it
//              later READs the lease behind his lock, and commits later than that. Keys that were not there,
//              whole tables and index ranges have no lease: the commit raises the floors to t instead, and
//              then validates them as in optimistic concurrency control. Who changes them later reads a floor
//              behind his locks, and commits later than that.
//
// The serial order is that of timestamps, not of time: a transaction may go before one of another session
// that has already committed, as long as it has seen nothing of it. What it reads, however, was the newest
// when it was read, and it goes after all that its own session has committed.
//
// A lease is trusted only if it was read before the record: a CAS that changes nothing, and the READ of the
// record behind it (stages/lookup.h). In one READ the lease might be newer than the header word: a reader
// raises it and only then finds the row locked.
//
// What the memory servers forget they forget under the floor: who reclaims a deleted row first raises it to
// the row's timestamp and lease; so does a commit that leaves index entries behind, to its own.
#pragma once

#include <cstdint>
#include <vector>

#include "compute/protocol/optimistic/optimistic_rules.h"

namespace namdb::protocol {

class SundialRules : public OptimisticRules {
 public:
  explicit SundialRules(StagedTransaction& transaction);

  void saw_record(const Lookup& lookup) override;
  void saw_latest(const Lookup& lookup) override;
  void behind_lock(const Access& access, txn::BatchSet& batches) override;
  void behind_locks(txn::BatchSet& batches) override;
  reactor::Task<Status> validate(const Locked& locked) override;
  std::uint64_t commit_timestamp() const override { return timestamp_; }
  reactor::Task<Status> confirm_reads() override;
  bool give_up(std::uint64_t generation, const Status& outcome, bool wrote) override;

 private:
  struct Displaced {
    std::uint64_t timestamp;
    fabric::LocalBuffer lease;
    layout::ServerId server;
  };
  struct Renewal;

  void after(std::uint64_t timestamp) { timestamp_ = std::max(timestamp_, timestamp); }
  // What was read and is not written; what has no record goes into the read set. `commits`: without the rows
  // that the commit writes.
  void add_reads(bool commits, reactor::PooledVector<const Access*>* by_key);
  void add_floor_reads(txn::BatchSet& batches);
  void after_floors();
  // And goes after them.
  reactor::Task<Status> read_floors();
  // Leases of those rows that do not reach the timestamp, and the floors if asked.
  reactor::Task<Status> raise(const reactor::PooledVector<const Access*>* by_key, bool floors);
  Status look(Renewal& renewal);
  layout::GlobalAddress floor_of(std::size_t server) const;

  std::uint64_t timestamp_ = 0;
  std::vector<Displaced> displaced_;
  fabric::LocalBuffer floors_;  // a word for each memory server
};

}  // namespace namdb::protocol
