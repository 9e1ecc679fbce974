#include "memory/region/grant_numbers.h"

#include <algorithm>

#include "common/base/check.h"

namespace namdb::memory {

std::optional<std::uint64_t> GrantNumbers::next() {
  NAMDB_CHECK((last_ & kCount_mask) + 2 * kAhead < kCount_mask);
  if (log_ == nullptr) return ++last_;
  const bool asked = wanted_ > mark_;
  if (!asked && last_ + kAhead / 2 >= mark_) {
    wanted_ = last_ + kAhead;
    log_->log_mark(wanted_);
  }
  if (last_ >= mark_) return std::nullopt;
  return ++last_;
}

void GrantNumbers::marked(std::uint64_t mark) {
  mark_ = std::max(mark_, mark);
}

void GrantNumbers::pass(std::uint64_t number) {
  if (number <= last_) return;
  last_ = number;
  mark_ = std::max(mark_, number);
}

}  // namespace namdb::memory
