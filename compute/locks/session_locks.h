// The locks of one session (named_locks.h): those that it holds until it gives them back, as often as it has
// taken them, or until it ends; and those of its transaction, until that ends. Both may be of one name, and
// so may exclusive and shared ones.
//
// Locks that are given back are free for others once settle() has returned, or some time after the session
// has ended. If the worker's lease of its slot ends, the session's locks are lost with it: it holds them no
// more.
//
// One for each session; belongs to the worker's executor.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/reactor/task.h"
#include "compute/locks/named_locks.h"

namespace namdb::txn {

class SessionLocks {
 public:
  enum class Scope : std::uint8_t { session, transaction };
  // Whether the session still wants to wait, which it does since then, by the executor's clock.
  using Check = std::function<Status(std::uint64_t since_ns)>;

  // `locks` outlives this.
  explicit SessionLocks(NamedLocks& locks) : locks_(locks) {}
  SessionLocks(const SessionLocks&) = delete;
  SessionLocks& operator=(const SessionLocks&) = delete;
  // Gives all locks back.
  ~SessionLocks();

  // Whether it is taken; another session may hold it. `mode` is shared or exclusive, here and below.
  reactor::Task<Result<bool>> try_take(LockName name, LockMode mode, Scope scope);
  // Waits for it. Errors are those of `check`, and of transactions.
  reactor::Task<Status> take(LockName name, LockMode mode, Scope scope, Check check);
  // False: the session holds no such lock.
  bool give_back(LockName name, LockMode mode);
  void give_back_all();
  // Takes locks for the transaction, as far as they are free (NamedLocks::try_take()), or the session has
  // them.
  reactor::Task<Status> claim(std::vector<WantedLock>* wanted);

  // An attempt to run a statement begins: undo_attempt() takes its session locks back, before another one.
  void begin_attempt() { taken_in_attempt_.clear(); }
  void undo_attempt();
  // The transaction is over.
  void end_transaction();
  bool is_settled() const { return releases_ == nullptr || releases_->under_way == 0; }
  // Returns when all that was given back is free; false: it has waited for a second, and some is not.
  reactor::Task<bool> settle();

 private:
  // How often one mode was taken.
  struct Count {
    std::uint32_t by_session = 0;
    bool by_transaction = false;
    bool any() const { return by_session != 0 || by_transaction; }
  };
  struct Held {
    std::shared_ptr<const SlotLease> lease;
    LockMode in_rows = LockMode::none;  // NamedLocks has it so, as far as it is known
    Count shared;
    Count exclusive;

    Count& of(LockMode mode) { return mode == LockMode::exclusive ? exclusive : shared; }
    LockMode wanted() const {
      if (exclusive.any()) return LockMode::exclusive;
      return shared.any() ? LockMode::shared : LockMode::none;
    }
  };
  // Null: the session does not hold it, or not any more.
  Held* find(LockName name);
  void note(LockName name, LockMode mode, Scope scope);
  // NamedLocks has it so from now on, or may have.
  void note_in_rows(LockName name, LockMode mode, const std::shared_ptr<const SlotLease>& lease);
  // Gives back what is not wanted any more.
  void sweep();

  NamedLocks& locks_;
  NamedLocks::Holder holder_ = 0;  // drawn with the first lock
  std::map<LockName, Held> held_;
  std::vector<std::pair<LockName, LockMode>> taken_in_attempt_;  // session locks
  std::shared_ptr<NamedLocks::Releases> releases_;
};

}  // namespace namdb::txn
