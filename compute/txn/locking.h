// A protocol's decisions about locks, if it locks rows as they are read by key.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "common/base/error.h"
#include "common/reactor/task.h"
#include "compute/api/transaction.h"
#include "compute/cluster/batch_set.h"
#include "compute/txn/execution_slot.h"

namespace namdb::protocol {

class Lookup;

enum class QueueWait : std::uint8_t {
  waited,
  no_queue,  // for none of them: the caller waits before it reads again
};

// Waiting for a lock at the memory server that has the record.
class LockQueues {
 public:
  // Some of these lookups wait for records that others hold.
  virtual reactor::Task<Result<QueueWait>> wait_for_locks(std::span<Lookup* const> lookups) = 0;

 protected:
  LockQueues() = default;
  LockQueues(const LockQueues&) = delete;
  LockQueues& operator=(const LockQueues&) = delete;
  ~LockQueues() = default;
};

// The READ of a record that is to be locked.
enum class LockRead : std::uint8_t {
  separate,  // is not added yet
  included,  // is part of the operation that locks the record
};

class Locking {
 public:
  // Null where the protocol does not wait there: the caller waits before it reads again.
  LockQueues* queues() const { return queues_; }

  // --- read ---
  // Before rows are read by key.
  virtual reactor::Task<Status> before_fetch() = 0;
  // The lookup READs such a row's record, or the place where it is thought to be, in this batch: may add the
  // CAS that locks it before that READ. check_locks() once the batch completed.
  virtual LockRead add_lock(Lookup& lookup, txn::BatchSet& batches) = 0;
  virtual void check_locks() = 0;
  // Rows that are to be locked (Access::locked) or shared (Access::shares) have been read by key: locks those
  // that are not locked yet. A row that cannot be shared is validated.
  virtual reactor::Task<Status> after_fetch(std::span<const txn::RowId> rows) = 0;

  // --- commit ---
  // The slot that the locks are held under: the commit is, too.
  virtual reactor::Task<Result<std::shared_ptr<txn::ExecutionSlot>>> commit_slot() = 0;
  // Adds the WRITEs that release the locks of rows that the commit does not write; posted together with its
  // install. after_unlock() once they completed.
  virtual void add_unlocks(txn::BatchSet& batches) = 0;
  virtual void after_unlock() = 0;
  // Whether some of those are at other memory servers.
  virtual bool unlocks_beside(layout::ServerId server) const = 0;
  // The commit is installed, or its install is posted: before after_unlock().
  virtual void after_install() = 0;

 protected:
  Locking() = default;
  Locking(const Locking&) = delete;
  Locking& operator=(const Locking&) = delete;
  ~Locking() = default;
  // Once, in the constructor. They belong to the object, and live as long as it does.
  void wait_in(LockQueues& queues) { queues_ = &queues; }

 private:
  LockQueues* queues_ = nullptr;
};

}  // namespace namdb::protocol
