#include "common/calls/lock_calls.h"

#include "common/calls/word_stream.h"

namespace namdb::calls {

void append(std::string& request, const LockRequest& lock) {
  append_word(request, lock.offset);
  append_word(request, lock.seen.value());
  append_word(request, lock.own.value());
}

std::optional<std::vector<LockRequest>> decode_lock(std::string_view request, const RegionLength& region,
                                                    std::uint64_t max_reply_bytes) {
  if (request.empty() || request.size() % LockRequest::kEncoded_bytes != 0) return std::nullopt;
  if (request.size() / LockRequest::kEncoded_bytes * 8 > max_reply_bytes) return std::nullopt;
  std::vector<LockRequest> locks;
  std::uint64_t seen = 0;
  std::uint64_t own = 0;
  LockRequest lock;
  while (take_word(request, lock.offset) && take_word(request, seen) && take_word(request, own)) {
    lock.seen = layout::HeaderWord(seen);
    lock.own = layout::HeaderWord(own);
    const bool within = lock.offset % 8 == 0 && lock.offset <= region.region_bytes - 8;
    const bool locks_both = lock.seen.locked() && lock.own.locked() && !lock.own.stamp().none();
    if (!within || !locks_both) return std::nullopt;
    locks.push_back(lock);
  }
  return locks;
}

}  // namespace namdb::calls
