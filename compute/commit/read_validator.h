// Validation by reading again (DrTM+H §3): while a transaction holds its locks, everything that it has only
// read is compared with the present contents of the region. For protocols whose read locks, if there are any,
// keep rows from being changed.
//
// A READ shows words of different moments. A record's header and body belong together when they have the same
// stamp. A chain's lock word and its buckets do not say so by themselves: the lock word may be newer than the
// buckets beside it. Validation is posted after that READ completed, and compares both. While the lock word
// stays the same nothing in the chain changes, so buckets that are still the same were the same all the time.
#pragma once

#include <utility>

#include "compute/commit/read_set.h"
#include "compute/txn/lock_owner.h"
#include "compute/txn/transaction_state.h"
#include "compute/txn/validation.h"

namespace namdb::protocol {

class ReadValidator final : public Validation {
 public:
  ReadValidator(TransactionState& transaction, LockOwner& owner) : transaction_(transaction), owner_(owner) {}

  void saw_record(const Lookup& lookup) override { read_set_.add(lookup); }
  void saw_bucket(const storage::Table& /*table*/, layout::GlobalAddress address,
                  const layout::Bucket& bucket, bool main) override {
    read_set_.add(address, bucket, main);
  }
  void saw_range(SeenRange range) override { read_set_.add_range(std::move(range)); }
  LockedChecks check_behind_locks(layout::ServerId server, txn::BatchSet& batches) override;
  reactor::Task<Status> validate(const Locked& locked) override;
  reactor::Task<Status> confirm_reads(bool commits) override;

 private:
  void add_accesses(bool commits);

  TransactionState& transaction_;
  LockOwner& owner_;
  ReadSet read_set_;
  bool checks_ = false;  // behind the locks
};

}  // namespace namdb::protocol
