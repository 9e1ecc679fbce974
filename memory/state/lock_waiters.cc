#include "memory/state/lock_waiters.h"

#include <algorithm>

#include "common/calls/word_stream.h"
#include "common/fabric/local_pool.h"
#include "common/layout/age.h"
#include "common/layout/words.h"

namespace namdb::memory {

using calls::LockRequest;
using layout::HeaderWord;

namespace {

// Looks that only yield; those after them are this far apart.
constexpr std::uint32_t kEagerLooks = 4;
constexpr std::uint64_t kBetweenLooks_ns = 20 * kMicrosecond_ns;

class Listed {
 public:
  Listed(std::vector<const LockRequest*>& list, const LockRequest& lock) : list_(list), lock_(lock) {
    list_.push_back(&lock_);
  }
  Listed(const Listed&) = delete;
  Listed& operator=(const Listed&) = delete;
  ~Listed() { std::erase(list_, &lock_); }

 private:
  std::vector<const LockRequest*>& list_;
  const LockRequest& lock_;
};

}  // namespace

bool LockWaiters::oldest(const LockRequest& lock) const {
  return std::ranges::none_of(waiting_, [&lock](const LockRequest* other) {
    return other->offset == lock.offset && layout::older(other->own.stamp(), lock.own.stamp());
  });
}

reactor::Task<Status> LockWaiters::lock_one(fabric::Channel* loopback, LockRequest lock,
                                            std::uint64_t deadline_ns, HeaderWord* found) {
  const Listed listed(waiting_, lock);
  const fabric::LocalBuffer word(loopback->pool(), 8);
  fabric::Batch batch;
  for (std::uint32_t looks = 0;; ++looks) {
    batch.read(lock.offset, word.data(), 8);
    loopback->post(batch);
    Status status = co_await batch.done();
    batch.clear();
    if (!status.ok()) co_return status;
    *found = HeaderWord(layout::load_word(word.data()));
    if (!found->locked() && oldest(lock)) {
      batch.compare_and_swap(lock.offset, found->value(), lock.own.value(), word.data());
      loopback->post(batch);
      status = co_await batch.done();
      batch.clear();
      if (!status.ok()) co_return status;
      const HeaderWord before(layout::load_word(word.data()));
      if (before == *found) co_return Status();
      *found = before;
    }
    if (found->locked() && *found != lock.seen) co_return Status();
    if (executor_.now_ns() >= deadline_ns) {
      *found = lock.seen;  // free it may be, but not for this one
      co_return Status();
    }
    if (looks < kEagerLooks) {
      co_await executor_.yield();
    } else {
      co_await executor_.sleep_for(kBetweenLooks_ns);
    }
  }
}

reactor::Task<Status> LockWaiters::lock(const Region& region, fabric::Channel& loopback,
                                        std::string_view request, std::string& reply) {
  const auto locks =
      calls::decode_lock(request, {region.bytes(), region.limit_bytes()}, fabric::kMaxCall_bytes);
  if (!locks) co_return Status(ErrorCode::protocol_violation, "locks that cannot be read");
  std::uint64_t deadline_ns = executor_.now_ns() + kPatience_ns;
  for (const LockRequest& each : *locks) {
    HeaderWord found;
    const Status status = co_await lock_one(&loopback, each, deadline_ns, &found);
    if (!status.ok()) co_return status;
    if (found.locked()) deadline_ns = 0;
    calls::append_word(reply, found.value());
  }
  co_return Status();
}

}  // namespace namdb::memory
