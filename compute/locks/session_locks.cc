#include "compute/locks/session_locks.h"

#include <algorithm>
#include <utility>

namespace namdb::txn {
namespace {

// Between two looks at a lock that another session holds.
constexpr std::uint64_t kFirstPause_ns = kMillisecond_ns;
constexpr std::uint64_t kLongestPause_ns = 20 * kMillisecond_ns;
// A session waits so long for locks that it gives back: a memory server that takes no writes now may keep
// them.
constexpr std::uint64_t kSettle_ns = kSecond_ns;

Status given_back_slowly() {
  return Status(ErrorCode::lock_not_available, "this session is still giving locks back",
                "try again; a memory server may be full");
}

}  // namespace

SessionLocks::~SessionLocks() {
  give_back_all();
  end_transaction();
}

SessionLocks::Held* SessionLocks::find(LockName name) {
  const auto found = held_.find(name);
  if (found == held_.end()) return nullptr;
  if (!found->second.lease->ended()) return &found->second;
  held_.erase(found);
  return nullptr;
}

void SessionLocks::note(LockName name, Scope scope, const std::shared_ptr<const SlotLease>& lease) {
  Held& held = held_[name];
  held.lease = lease;
  if (scope == Scope::transaction) {
    held.by_transaction = true;
  } else {
    ++held.session_count;
    taken_in_attempt_.push_back(name);
  }
}

reactor::Task<Result<bool>> SessionLocks::try_take(LockName name, Scope scope) {
  // A lock that this session is giving back must be gone before it is taken anew.
  const bool settled = co_await settle();
  if (!settled) co_return given_back_slowly();
  if (const Held* const held = find(name)) {
    const std::shared_ptr<const SlotLease> lease = held->lease;
    note(name, scope, lease);
    co_return true;
  }
  if (holder_ == 0) holder_ = locks_.draw_holder();
  const auto lease = co_await locks_.lease();
  if (!lease.ok()) co_return lease.status();
  std::vector<WantedLock> wanted(1);
  wanted.front().name = name;
  Status status = co_await locks_.try_take(&wanted, lease->get(), holder_);
  if (!status.ok()) {
    // It may be taken.
    note(name, Scope::transaction, *lease);
    held_[name].by_transaction = false;
    sweep();
    co_return status;
  }
  if (wanted.front().taken) note(name, scope, *lease);
  co_return wanted.front().taken;
}

reactor::Task<Status> SessionLocks::take(LockName name, Scope scope, Check check) {
  reactor::Executor& executor = locks_.engine().executor();
  const std::uint64_t since_ns = executor.now_ns();
  for (std::uint64_t pause_ns = kFirstPause_ns;; pause_ns = std::min(2 * pause_ns, kLongestPause_ns)) {
    const auto taken = co_await try_take(name, scope);
    if (!taken.ok()) co_return taken.status();
    if (*taken) co_return Status();
    Status status = check(since_ns);
    if (!status.ok()) co_return status;
    const std::uint64_t until_ns = executor.now_ns() + pause_ns;
    co_await locks_.wait_for_change(until_ns);
    status = check(since_ns);
    if (!status.ok()) co_return status;
  }
}

bool SessionLocks::give_back(LockName name) {
  Held* const held = find(name);
  if (held == nullptr || held->session_count == 0) return false;
  --held->session_count;
  // undo_attempt() does not take it back once more.
  const auto taken = std::ranges::find(taken_in_attempt_, name);
  if (taken != taken_in_attempt_.end()) taken_in_attempt_.erase(taken);
  sweep();
  return true;
}

void SessionLocks::give_back_all() {
  for (auto& [name, held] : held_) held.session_count = 0;
  sweep();
}

void SessionLocks::undo_attempt() {
  for (const LockName& name : std::exchange(taken_in_attempt_, {})) give_back(name);
}

void SessionLocks::end_transaction() {
  if (held_.empty()) return;
  for (auto& [name, held] : held_) held.by_transaction = false;
  sweep();
}

void SessionLocks::sweep() {
  std::map<std::shared_ptr<const SlotLease>, std::vector<LockName>> over;
  for (const auto& [name, held] : held_) {
    if (held.is_over()) over[held.lease].push_back(name);
  }
  if (over.empty()) return;
  std::erase_if(held_, [](const auto& each) { return each.second.is_over(); });
  if (releases_ == nullptr) releases_ = std::make_shared<NamedLocks::Releases>(locks_.engine().executor());
  for (auto& [lease, names] : over) locks_.release(std::move(names), lease, holder_, releases_);
}

reactor::Task<bool> SessionLocks::settle() {
  const std::shared_ptr<NamedLocks::Releases> releases = releases_;
  reactor::Executor& executor = locks_.engine().executor();
  const std::uint64_t until_ns = executor.now_ns() + kSettle_ns;
  while (releases != nullptr && releases->under_way != 0 && executor.now_ns() < until_ns)
    co_await releases->changed.wait_until(until_ns);
  co_return releases == nullptr || releases->under_way == 0;
}

reactor::Task<Status> SessionLocks::claim(std::vector<WantedLock>* wanted) {
  const bool settled = co_await settle();
  if (!settled) co_return given_back_slowly();
  if (holder_ == 0) holder_ = locks_.draw_holder();
  const auto lease = co_await locks_.lease();
  if (!lease.ok()) co_return lease.status();
  Status status = co_await locks_.try_take(wanted, lease->get(), holder_);
  for (const WantedLock& lock : *wanted) {
    if (status.ok() ? lock.taken : find(lock.name) == nullptr) note(lock.name, Scope::transaction, *lease);
  }
  co_return status;
}

}  // namespace namdb::txn
