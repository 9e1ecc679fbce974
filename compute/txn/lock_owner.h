// A transaction as the owner of locks on records: their lock word, and its answer to the locks of others. The
// parts that protocols are composed of (latest_committed.h, compute/commit/read_validator.h) ask it.
#pragma once

#include "common/layout/global_address.h"
#include "common/layout/stamp.h"
#include "compute/txn/visibility.h"

namespace namdb::protocol {

class LockOwner {
 public:
  // The lock word that this transaction has, or will have, in records; 0 while it has none.
  virtual layout::HeaderWord own_lock() const = 0;
  // Whether it has locked that record.
  virtual bool has_locked(layout::GlobalAddress /*record*/) { return false; }
  // Before reads are validated: rows whose shared locks (Access::shared) may not hold any more become rows to
  // be validated.
  virtual void confirm_shares() {}
  // Whether it shares rows only until some time: they count at the moment of confirm_shares(), which must
  // come once all locks are held.
  virtual bool counts_on_time() const { return false; }
  // Whether it has locked, or shares, any row that it has read.
  virtual bool holds_rows() const { return false; }
  // A record that is to be read has that lock of another transaction: locked_by_other or conflict.
  virtual ReadDecision meet_lock(layout::HeaderWord /*lock*/) { return ReadDecision::locked_by_other; }

 protected:
  LockOwner() = default;
  LockOwner(const LockOwner&) = delete;
  LockOwner& operator=(const LockOwner&) = delete;
  ~LockOwner() = default;
};

// For protocols that lock at commit only: the lock word is the commit's.
class CommitLockOwner final : public LockOwner {
 public:
  layout::HeaderWord own_lock() const override { return lock_; }
  layout::Stamp lock_by(layout::Stamp stamp) {
    lock_ = layout::HeaderWord(stamp, false, true);
    return stamp;
  }

 private:
  layout::HeaderWord lock_;
};

}  // namespace namdb::protocol
