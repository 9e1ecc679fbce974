// Optimistic concurrency control, as DrTM+H runs it (its §3 and §5): rows are read as they are committed now,
// writes are locked by CAS from exactly the version that was read, then all that was only read is looked at
// again, then the commit is logged and installed.
//
//   metadata   the record's header word alone: unlocked it is the stamp of the record's version, which never
//              comes again; locked it names who holds it. A bucket chain's lock word likewise. Records keep
//              no old versions.
//   written by the holder of the lock: body, then the header word
//   why it is serializable   when validation begins, the commit holds every lock that it needs. A record that
//              was read has, at a moment after that, the header word of the version that was read, unlocked:
//              nobody changed it, and who will does not hold it yet, so he validates later and meets our
//              locks. A key that was not there: its chain's lock word and the checksums of its buckets are as
//              they were. An index range: no entry came to it. So all that was read was true at once, at that
//              moment, and what is written takes effect then.
//
// A READ shows words of different moments. A record's header and body belong together when they bear the same
// stamp. A chain's lock word and its buckets do not say so by themselves: the lock word may be newer than the
// buckets beside it. Validation, which is posted after that READ completed, compares both: while the lock
// word stays the same nothing in the chain changes, so buckets that are still the same were the same all the
// time.
#pragma once

#include "compute/commit/read_set.h"
#include "compute/txn/rules.h"
#include "compute/txn/staged_transaction.h"

namespace namdb::protocol {

class OptimisticRules : public Rules {
 public:
  explicit OptimisticRules(StagedTransaction& transaction, Duties duties = {.validates_reads = true});

  bool ready() const override { return ready_; }
  reactor::Task<Status> prepare() override;
  void ride(txn::BatchSet& batches) override;
  reactor::Task<Result<bool>> settle() override;
  std::uint64_t started_ns() const override { return started_ns_; }
  std::uint64_t catalog_version() const override { return catalog_version_; }
  Judgement judge(const SeenRecord& seen) override;
  bool believes_absence(layout::HeaderWord chain_lock) override {
    return looks_through_ || !chain_lock.locked();
  }
  void look_through_locks(bool on) override { looks_through_ = on; }
  void saw_record(const Lookup& lookup) override { read_set_.add(lookup); }
  void saw_bucket(const storage::Table& /*table*/, layout::GlobalAddress address,
                  const layout::Bucket& bucket, bool main) override {
    read_set_.add(address, bucket, main);
  }
  void saw_range(SeenRange range) override { read_set_.add_range(std::move(range)); }
  Status may_write(const Access& /*access*/) const override { return {}; }
  reactor::Task<Result<std::shared_ptr<txn::ExecutionSlot>>> slot() override;
  layout::Stamp lock_stamp(layout::Stamp stamp) override;
  reactor::Task<Status> validate(const Locked& locked) override;
  bool waits_for_publish() const override { return false; }
  reactor::Task<Status> confirm_reads(bool commits) override;
  bool give_up(std::uint64_t generation, const Status& outcome, bool wrote) override;

 protected:
  StagedTransaction& transaction() const { return transaction_; }
  bool looks_through() const { return looks_through_; }
  ReadSet& read_set() { return read_set_; }
  // The lock word that this transaction has, or will have, in records; 0 while it has none.
  virtual layout::HeaderWord own_lock() const { return commit_lock_; }
  // Rows of the read set are locked.
  virtual bool holds_rows() const { return false; }
  // A record that somebody else holds is to be read.
  virtual Judgement meet_lock(layout::HeaderWord /*lock*/) { return Judgement::held; }

 private:
  void add_accesses(bool commits);

  StagedTransaction& transaction_;
  std::uint64_t started_ns_ = 0;
  std::uint64_t catalog_version_ = 0;
  bool ready_ = false;
  bool looks_through_ = false;
  layout::HeaderWord commit_lock_;
  fabric::LocalBuffer catalog_word_;
  ReadSet read_set_;
};

}  // namespace namdb::protocol
