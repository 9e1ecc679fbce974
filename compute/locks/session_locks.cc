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

void SessionLocks::note(LockName name, LockMode mode, Scope scope) {
  Count& count = held_[name].of(mode);
  if (scope == Scope::transaction) {
    count.by_transaction = true;
  } else {
    ++count.by_session;
    taken_in_attempt_.emplace_back(name, mode);
  }
}

void SessionLocks::note_in_rows(LockName name, LockMode mode, const std::shared_ptr<const SlotLease>& lease) {
  Held& held = held_[name];
  if (held.lease != lease) held = Held();
  held.lease = lease;
  held.in_rows = std::max(held.in_rows, mode);
}

reactor::Task<Result<bool>> SessionLocks::try_take(LockName name, LockMode mode, Scope scope) {
  // A lock that this session is giving back must be gone before it is taken anew.
  const bool settled = co_await settle();
  if (!settled) co_return given_back_slowly();
  std::shared_ptr<const SlotLease> lease;
  if (const Held* const held = find(name)) {
    if (mode <= held->in_rows) {
      note(name, mode, scope);
      co_return true;
    }
    lease = held->lease;
  }
  if (lease == nullptr) {
    if (holder_ == 0) holder_ = locks_.draw_holder();
    auto leased = co_await locks_.lease();
    if (!leased.ok()) co_return leased.status();
    lease = std::move(*leased);
  }
  std::vector<WantedLock> wanted(1);
  wanted.front().name = name;
  wanted.front().mode = mode;
  Status status = co_await locks_.try_take(&wanted, lease.get(), holder_);
  if (!status.ok()) {
    // It may be taken.
    note_in_rows(name, mode, lease);
    sweep();
    co_return status;
  }
  if (wanted.front().taken) {
    note_in_rows(name, mode, lease);
    note(name, mode, scope);
  }
  co_return wanted.front().taken;
}

reactor::Task<Status> SessionLocks::take(LockName name, LockMode mode, Scope scope, Check check) {
  reactor::Executor& executor = locks_.engine().executor();
  const std::uint64_t since_ns = executor.now_ns();
  for (std::uint64_t pause_ns = kFirstPause_ns;; pause_ns = std::min(2 * pause_ns, kLongestPause_ns)) {
    const auto taken = co_await try_take(name, mode, scope);
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

bool SessionLocks::give_back(LockName name, LockMode mode) {
  Held* const held = find(name);
  if (held == nullptr || held->of(mode).by_session == 0) return false;
  --held->of(mode).by_session;
  // undo_attempt() does not take it back once more.
  const auto taken = std::ranges::find(taken_in_attempt_, std::pair(name, mode));
  if (taken != taken_in_attempt_.end()) taken_in_attempt_.erase(taken);
  sweep();
  return true;
}

void SessionLocks::give_back_all() {
  for (auto& [name, held] : held_) {
    held.shared.by_session = 0;
    held.exclusive.by_session = 0;
  }
  sweep();
}

void SessionLocks::undo_attempt() {
  for (const auto& [name, mode] : std::exchange(taken_in_attempt_, {})) give_back(name, mode);
}

void SessionLocks::end_transaction() {
  if (held_.empty()) return;
  for (auto& [name, held] : held_) {
    held.shared.by_transaction = false;
    held.exclusive.by_transaction = false;
  }
  sweep();
}

void SessionLocks::sweep() {
  std::map<std::shared_ptr<const SlotLease>, std::vector<NamedLocks::Release>> given;
  for (auto& [name, held] : held_) {
    if (held.wanted() == held.in_rows) continue;
    held.in_rows = held.wanted();
    given[held.lease].push_back({name, held.in_rows});
  }
  if (given.empty()) return;
  std::erase_if(held_, [](const auto& each) { return each.second.in_rows == LockMode::none; });
  if (releases_ == nullptr) releases_ = std::make_shared<NamedLocks::Releases>(locks_.engine().executor());
  for (auto& [lease, releases] : given) locks_.release(std::move(releases), lease, holder_, releases_);
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
    if (status.ok() && !lock.taken) continue;
    note_in_rows(lock.name, lock.mode, *lease);
    note(lock.name, lock.mode, Scope::transaction);
  }
  co_return status;
}

}  // namespace namdb::txn
