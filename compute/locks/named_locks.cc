#include "compute/locks/named_locks.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "compute/locks/lock_rows.h"

namespace namdb::txn {
namespace {

// Of an engine's attempts: many sessions may want one lock.
constexpr std::uint32_t kMoreAttempts = 16;
// An answer that a slot has not ended counts for so long.
constexpr std::uint64_t kAskAgain_ns = 100 * kMillisecond_ns;
constexpr std::size_t kMostSlots = 4096;
constexpr std::uint64_t kReleasePause_ns = 20 * kMillisecond_ns;

// The transaction's outcome is known, or it is repeated.
bool tries_again(const Status& status) {
  return !status.ok() && (status.info().retry || status.code() == ErrorCode::unknown_outcome);
}

}  // namespace

NamedLocks::Holder NamedLocks::draw_holder() {
  return static_cast<Holder>(engine_.executor().random().next() >> 1);
}

reactor::Task<Result<std::shared_ptr<const SlotLease>>> NamedLocks::lease() {
  while (leasing_) co_await changed_.wait();
  if (lease_ == nullptr || lease_->ended()) {
    leasing_ = true;
    auto leased = co_await engine_.lease_slot();
    leasing_ = false;
    changed_.notify_all();
    if (!leased.ok()) co_return leased.status();
    lease_ = std::move(*leased);
  }
  co_return lease_;
}

reactor::Task<Result<bool>> NamedLocks::has_ended(std::uint32_t slot) {
  const std::uint64_t now_ns = engine_.executor().fresh_now_ns();
  const auto known = slots_.find(slot);
  if (known != slots_.end() && (known->second.ended || now_ns - known->second.asked_ns < kAskAgain_ns))
    co_return known->second.ended;
  const auto ended = co_await engine_.slot_ended(slot);
  if (!ended.ok()) co_return ended.status();
  if (slots_.size() >= kMostSlots) slots_.clear();
  slots_[slot] = {*ended, now_ns};
  co_return *ended;
}

reactor::Task<Status> NamedLocks::try_take(std::vector<WantedLock>* wanted, const SlotLease* lease,
                                           Holder holder) {
  Status status;
  for (std::uint32_t attempt = 1; attempt <= kMoreAttempts * engine_.retry_options().max_attempts;) {
    std::vector<std::uint32_t> unknown;  // slots of holders of which it is not known whether they have ended
    status = co_await take_once(wanted, lease->slot(), holder, &unknown);
    if (!status.ok() && !tries_again(status)) co_return status;
    bool ended = false;
    for (const std::uint32_t slot : unknown) {
      const auto result = co_await has_ended(slot);
      if (!result.ok()) co_return result.status();
      ended = ended || *result;
    }
    // A lock of such a holder is free.
    if (status.ok() && !ended) co_return status;
    if (!status.ok()) co_await engine_.backoff(attempt++);
  }
  co_return status;
}

bool NamedLocks::is_known_to_have_ended(std::uint32_t slot) const {
  const auto known = slots_.find(slot);
  return known != slots_.end() && known->second.ended;
}

reactor::Task<Status> NamedLocks::take_once(std::vector<WantedLock>* wanted, std::uint32_t slot,
                                            Holder holder, std::vector<std::uint32_t>* unknown) {
  const LockOwner taker{slot, holder};
  std::vector<LockName> names;
  bool any_shared = false;
  for (const WantedLock& lock : *wanted) {
    names.push_back(lock.name);
    any_shared = any_shared || lock.mode == LockMode::shared;
  }
  LockRows rows(engine_);
  Status status = co_await rows.read(std::move(names), any_shared);
  if (!status.ok()) co_return status;
  for (std::size_t i = 0; i < wanted->size(); ++i) {
    WantedLock& lock = (*wanted)[i];
    const std::vector<LockOwner>& owners = rows.owners(i);
    const bool is_owner = std::ranges::find(owners, taker) != owners.end();
    lock.taken = is_owner && lock.mode <= rows.mode(i);
    if (lock.taken) continue;
    const bool shares = lock.mode == LockMode::shared && rows.mode(i) == LockMode::shared;
    const bool has_place = shares && owners.size() < LockRows::kMostShares;
    std::optional<std::size_t> ended;  // of the owners
    bool others = false;
    for (std::size_t owner = 0; owner < owners.size(); ++owner) {
      const std::uint32_t its_slot = owners[owner].slot;
      if (its_slot != slot && is_known_to_have_ended(its_slot)) {
        ended = owner;
      } else if (owners[owner] != taker) {
        others = true;
        if (its_slot != slot && !has_place) unknown->push_back(its_slot);
      }
    }
    if (others && !has_place && !(shares && ended)) continue;
    if (lock.mode == LockMode::exclusive) {
      status = rows.set_exclusive(i, taker);
    } else if (shares) {
      status = rows.add_share(i, taker, ended);
    } else {
      status = rows.set_shared(i, taker);
    }
    if (!status.ok()) co_return status;
    lock.taken = true;
  }
  // There is nothing to conclude but that others hold some.
  if (!rows.has_changes()) co_return Status();
  co_return co_await rows.commit();
}

void NamedLocks::release(std::vector<Release> given, std::shared_ptr<const SlotLease> lease, Holder holder,
                         std::shared_ptr<Releases> releases) {
  ++releases->under_way;
  engine_.executor().spawn(gate_,
                           release_all(std::move(given), std::move(lease), holder, std::move(releases)));
}

// A lock that is not given back stays while this worker lives, so this goes on until it is.
reactor::Task<void> NamedLocks::release_all(std::vector<Release> given,
                                            std::shared_ptr<const SlotLease> lease, Holder holder,
                                            std::shared_ptr<Releases> releases) {
  for (std::uint32_t attempt = 1; !lease->ended(); ++attempt) {
    const Status status = co_await release_once(&given, lease->slot(), holder);
    if (status.ok() || gate_.closing()) break;
    if (tries_again(status)) {
      co_await engine_.backoff(attempt);
    } else {
      co_await engine_.executor().sleep_for(kReleasePause_ns);
    }
  }
  --releases->under_way;
  releases->changed.notify_all();
  changed_.notify_all();
}

reactor::Task<Status> NamedLocks::release_once(const std::vector<Release>* given, std::uint32_t slot,
                                               Holder holder) {
  const LockOwner giver{slot, holder};
  std::vector<LockName> names;
  bool any_shared = false;
  for (const Release& release : *given) {
    names.push_back(release.name);
    any_shared = any_shared || release.kept == LockMode::shared;
  }
  LockRows rows(engine_);
  Status status = co_await rows.read(std::move(names), any_shared);
  for (std::size_t i = 0; status.ok() && i < given->size(); ++i) {
    const std::vector<LockOwner>& owners = rows.owners(i);
    const auto owner = std::ranges::find(owners, giver);
    // It may never have been taken.
    if (owner == owners.end() || rows.mode(i) <= (*given)[i].kept) continue;
    if ((*given)[i].kept == LockMode::shared) {
      status = rows.set_shared(i, giver);
    } else if (rows.mode(i) == LockMode::shared) {
      status = rows.remove_share(i, static_cast<std::size_t>(owner - owners.begin()));
    } else {
      rows.erase(i);
    }
  }
  if (!status.ok()) co_return status;
  // Also without changes: rows of different moments may lack a share that has got another place.
  co_return co_await rows.commit();
}

reactor::Task<void> NamedLocks::wait_for_change(std::uint64_t until_ns) {
  co_await changed_.wait_until(until_ns);
}

reactor::Task<void> NamedLocks::close() {
  co_await gate_.close();
  lease_.reset();
}

}  // namespace namdb::txn
