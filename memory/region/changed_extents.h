// The extents in which records changed since the last checkpoint began: by a journal entry that names one of
// their places, by a grant, or by a place that came back. Private memory, a bit an extent; one executor's
// thread.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace namdb::memory {

class ChangedExtents {
 public:
  // Extents are a power of two long.
  explicit ChangedExtents(std::uint64_t extent_bytes) : extent_bits_(std::countr_zero(extent_bytes)) {}

  // The number of the extent that holds the offset, which is one of the region's.
  std::uint32_t number_of(std::uint64_t offset) const {
    return static_cast<std::uint32_t>(offset >> extent_bits_);
  }
  void mark(std::uint64_t offset) { mark_number(number_of(offset)); }
  void mark_number(std::uint32_t extent) {
    if (extent >= marked_.size()) marked_.resize(extent + 1);
    marked_[extent] = true;
  }
  // Their offsets, in ascending order. None is marked afterwards.
  std::vector<std::uint64_t> take() {
    std::vector<std::uint64_t> offsets;
    for (std::uint64_t extent = 0; extent < marked_.size(); ++extent) {
      if (marked_[extent]) offsets.push_back(extent << extent_bits_);
    }
    marked_.clear();
    return offsets;
  }

 private:
  int extent_bits_;
  std::vector<bool> marked_;
};

}  // namespace namdb::memory
