// Optimistic concurrency control, as DrTM+H runs it (its §3 and §5). Reads see the latest committed versions.
// At commit, written rows are locked by CAS from exactly the version that was read; then the rows that were
// only read are validated; then the commit is logged and installed.
//
//   metadata   the record's header word alone: unlocked it is the stamp of the record's version, which never
//              comes again; locked it names the transaction that holds it. A bucket chain's lock word
//              likewise. Records keep no old versions.
//   written by the holder of the lock: body, then the header word
//   why it is serializable   when validation begins, the commit holds every lock that it needs. At a moment
//              after that, a record that was read still has the unlocked header word of that version. So no
//              transaction has changed it, and a transaction that will change it does not hold it yet: that
//              transaction validates later, and meets our locks. A key that was not there: its chain's lock
//              word and the checksums of its buckets are as they were. An index range: no entry came to it.
//              So all reads were true at once, at that moment, and the writes take effect then.
#pragma once

#include "compute/commit/read_validator.h"
#include "compute/txn/concurrency_control.h"
#include "compute/txn/latest_committed.h"
#include "compute/txn/transaction_state.h"

namespace namdb::protocol {

class OptimisticControl final : public ConcurrencyControl {
 public:
  explicit OptimisticControl(TransactionState& transaction);

  Status may_write(const Access& /*access*/) const override { return {}; }
  layout::Stamp lock_stamp(layout::Stamp stamp) override { return owner_.lock_by(stamp); }
  GenerationEnd end(std::uint64_t /*generation*/, const Status& /*outcome*/, bool /*wrote*/) override {
    return GenerationEnd::by_caller;
  }

 private:
  CommitLockOwner owner_;
  LatestCommitted latest_;
  ReadValidator validator_;
};

}  // namespace namdb::protocol
