// Which extents of the region are free. The list is the server's private memory, never in the region.
//
// Extents for records come from the low end, all others from the high end. So at the place of a records'
// extent, another copy of the region (or this one after a restart) may have nothing yet, but seldom something
// else. An extent that was used once is dirty: a caller that needs zeros clears it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace namdb::memory {

struct ExtentRun {
  std::uint64_t offset = 0;
  std::uint64_t extents = 0;
  bool dirty = false;  // some of the bytes may be not zero
};

enum class ExtentUse : std::uint8_t { records, other };

class ExtentAllocator {
 public:
  // `count` extents from `first_offset` on, all free and all zero.
  ExtentAllocator(std::uint64_t first_offset, std::uint64_t extent_bytes, std::uint64_t count)
      : first_offset_(first_offset), extent_bytes_(extent_bytes), state_(count, State::clean), free_(count) {}

  // Asked to add() so many or more when an allocation finds too few; false: it cannot.
  using Source = std::function<bool(std::uint64_t extents)>;
  void set_source(Source source) { source_ = std::move(source); }
  // Free and zero, behind the last.
  void add(std::uint64_t extents);

  // A contiguous run; nullopt when there is none, or when fewer than `keep_free` would be left.
  std::optional<ExtentRun> allocate(std::uint64_t extents, std::uint64_t keep_free = 0,
                                    ExtentUse use = ExtentUse::other);
  // That run. nullopt when it is not a run of free extents, not even behind the end of those that there are.
  std::optional<ExtentRun> claim(std::uint64_t offset, std::uint64_t extents);
  // Any part of allocated runs; it counts as dirty.
  void free(std::uint64_t offset, std::uint64_t extents);

  std::uint64_t extent_bytes() const { return extent_bytes_; }
  std::uint64_t first_offset() const { return first_offset_; }
  // `extent` counts from 0 to count() - 1.
  bool used(std::uint64_t extent) const { return state_[extent] == State::used; }
  std::uint64_t count() const { return state_.size(); }
  std::uint64_t free_count() const { return free_; }
  std::uint64_t free_bytes() const { return free_ * extent_bytes_; }
  // The extents that tables leave to old versions: a region full of new rows still takes updates and deletes.
  std::uint64_t reserve() const { return (count() + 31) / 32; }
  // How many extents hold `bytes`.
  std::uint64_t extents_for(std::uint64_t bytes) const {
    return bytes / extent_bytes_ + (bytes % extent_bytes_ != 0 ? 1 : 0);
  }

 private:
  enum class State : std::uint8_t { clean, dirty, used };
  ExtentRun take(std::uint64_t first, std::uint64_t extents);
  std::optional<ExtentRun> find(std::uint64_t extents, std::uint64_t keep_free, ExtentUse use);
  // How many more must be there, at the end, for such an allocation.
  std::uint64_t lacking(std::uint64_t extents, std::uint64_t keep_free) const;

  std::uint64_t first_offset_;
  std::uint64_t extent_bytes_;
  std::vector<State> state_;
  Source source_;
  std::uint64_t free_;
  std::uint64_t low_ = 0;                   // no free extent below
  std::uint64_t high_ = ~std::uint64_t{0};  // no free extent at or above; clipped to count()
};

}  // namespace namdb::memory
