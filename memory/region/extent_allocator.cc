#include "memory/region/extent_allocator.h"

#include <algorithm>

#include "common/base/check.h"

namespace namdb::memory {

ExtentRun ExtentAllocator::take(std::uint64_t first, std::uint64_t extents) {
  ExtentRun run{first_offset_ + first * extent_bytes_, extents, false};
  for (std::uint64_t i = first; i < first + extents; ++i) {
    run.dirty = run.dirty || state_[i] == State::dirty;
    state_[i] = State::used;
  }
  free_ -= extents;
  return run;
}

void ExtentAllocator::add(std::uint64_t extents) {
  high_ = count() + extents;  // of no allocated one is known whether it is the last
  state_.resize(count() + extents, State::clean);
  free_ += extents;
}

std::uint64_t ExtentAllocator::lacking(std::uint64_t extents, std::uint64_t keep_free) const {
  const std::uint64_t in_all = extents + keep_free - std::min(free_, extents + keep_free);
  std::uint64_t at_end = 0;
  while (at_end < std::min(extents, count()) && state_[count() - 1 - at_end] != State::used) ++at_end;
  return std::max<std::uint64_t>({in_all, extents - at_end, 1});
}

std::optional<ExtentRun> ExtentAllocator::allocate(std::uint64_t extents, std::uint64_t keep_free,
                                                   ExtentUse use) {
  auto run = find(extents, keep_free, use);
  if (!run && source_ && source_(lacking(extents, keep_free))) run = find(extents, keep_free, use);
  return run;
}

std::optional<ExtentRun> ExtentAllocator::find(std::uint64_t extents, std::uint64_t keep_free,
                                               ExtentUse use) {
  if (free_ < keep_free || free_ - keep_free < extents) return std::nullopt;
  NAMDB_CHECK(extents > 0);
  if (extents > free_) return std::nullopt;
  std::uint64_t length = 0;
  if (use == ExtentUse::records) {
    while (state_[low_] == State::used) ++low_;  // ends: there is a free one
    for (std::uint64_t i = low_; i < count(); ++i) {
      length = state_[i] == State::used ? 0 : length + 1;
      if (length == extents) return take(i + 1 - extents, extents);
    }
    return std::nullopt;
  }
  high_ = std::min(high_, count());
  while (state_[high_ - 1] == State::used) --high_;
  for (std::uint64_t i = high_; i > 0; --i) {
    length = state_[i - 1] == State::used ? 0 : length + 1;
    if (length == extents) return take(i - 1, extents);
  }
  return std::nullopt;
}

std::optional<ExtentRun> ExtentAllocator::claim(std::uint64_t offset, std::uint64_t extents) {
  if (offset < first_offset_ || (offset - first_offset_) % extent_bytes_ != 0 || extents == 0)
    return std::nullopt;
  const std::uint64_t first = (offset - first_offset_) / extent_bytes_;
  const std::uint64_t most = ~std::uint64_t{0} / extent_bytes_ / 2;
  if (first > most || extents > most) return std::nullopt;
  if (first + extents > count() && (!source_ || !source_(first + extents - count()))) return std::nullopt;
  if (first + extents > count()) return std::nullopt;
  for (std::uint64_t i = first; i < first + extents; ++i) {
    if (state_[i] == State::used) return std::nullopt;
  }
  return take(first, extents);
}

void ExtentAllocator::free(std::uint64_t offset, std::uint64_t extents) {
  NAMDB_CHECK(offset >= first_offset_ && (offset - first_offset_) % extent_bytes_ == 0);
  const std::uint64_t first = (offset - first_offset_) / extent_bytes_;
  NAMDB_CHECK(extents > 0 && first + extents <= count());
  for (std::uint64_t i = first; i < first + extents; ++i) {
    NAMDB_CHECK(state_[i] == State::used);
    state_[i] = State::dirty;
  }
  free_ += extents;
  low_ = std::min(low_, first);
  high_ = std::max(std::min(high_, count()), first + extents);
}

}  // namespace namdb::memory
