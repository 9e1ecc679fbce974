// The rows of locks with names, as one transaction reads and changes them.
//
// A lock that is held has a row in the table kLocksTable. One session's lock has the slot and the number of
// its owner in it. A shared lock has kShared as the slot, and the number of its sessions as the number. Each
// of these sessions has a row of its own in kLockSharesTable, with the lock's name and a place: 1, 2 and so
// on, without gaps.
//
// Each change of a lock writes its row in kLocksTable: so no two transactions change one lock at a time,
// whatever the protocol. Errors: those of the transaction; serialization_failure if the rows that it read are
// not of one moment.
//
// Belongs to the transaction's executor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "common/base/error.h"
#include "common/reactor/task.h"
#include "compute/api/engine.h"
#include "compute/api/table.h"
#include "compute/api/transaction.h"
#include "compute/locks/lock_name.h"

namespace namdb::txn {

struct LockOwner {
  std::uint32_t slot = 0;
  std::int64_t holder = 0;
  friend bool operator==(const LockOwner&, const LockOwner&) = default;
};

class LockRows {
 public:
  // Sessions that share one lock, at most.
  static constexpr std::size_t kMostShares = 8192;

  // The engine outlives this.
  explicit LockRows(Engine& engine) : engine_(engine) {}

  // Once: begins the transaction, and reads the locks in it. A name may be there twice. Finds the tables, or
  // makes them: that of shares only if `shares`.
  reactor::Task<Status> read(std::vector<LockName> names, bool shares);
  // The mode of the lock with that number in `names`, as it is with the changes.
  LockMode mode(std::size_t lock) const { return locks_[places_[lock]].mode; }
  // One, or those that share it in the order of their places.
  const std::vector<LockOwner>& owners(std::size_t lock) const { return locks_[places_[lock]].owners; }

  // The lock belongs to that owner from now on. If it is shared, this owner is the first to share it.
  Status set_exclusive(std::size_t lock, const LockOwner& owner);
  Status set_shared(std::size_t lock, const LockOwner& owner);
  // The lock is shared: by that owner, too; in the place of an owner, if there is `instead`, as there must be
  // if it has kMostShares.
  Status add_share(std::size_t lock, const LockOwner& owner, std::optional<std::size_t> instead);
  Status remove_share(std::size_t lock, std::size_t owner);
  // The lock is free from now on.
  void erase(std::size_t lock);

  bool has_changes() const { return transaction_->has_writes(); }
  // Needed also without changes: only the commit proves that the rows that were read are of one moment. A row
  // that another session has inserted meanwhile is a serialization_failure.
  reactor::Task<Status> commit();

 private:
  struct Lock {
    LockName name;
    RowId row = 0;
    LockMode mode = LockMode::none;
    std::vector<LockOwner> owners;
    std::vector<RowId> shares;  // rows of owners that share it
  };
  Status write_row(Lock& lock, std::int64_t slot, std::int64_t holder);
  Status write_share(Lock& lock, std::size_t place, const LockOwner& owner);
  void erase_shares(Lock& lock);
  Lock& at(std::size_t lock) { return locks_[places_[lock]]; }
  reactor::Task<Status> begin(bool shares);
  reactor::Task<Status> read_shares();

  Engine& engine_;
  storage::TableRef table_;
  storage::TableRef shares_;  // null: it was not needed yet
  std::unique_ptr<Session> session_;
  std::unique_ptr<Transaction> transaction_;
  std::vector<Lock> locks_;
  std::vector<std::size_t> places_;  // in locks_, of each name
};

}  // namespace namdb::txn
