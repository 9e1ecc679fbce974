// Moving words between a region and a buffer. A transport never copies with memcpy: each aligned 8-byte word
// is one atomic access, which is all that the contract promises, and what the thread sanitizer can check.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace namdb::fabric {

// The region's words are only ever touched through this.
inline std::atomic_ref<std::uint64_t> region_word(std::byte* address) {
  return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(address));
}

// Acquire loads, in ascending order. `length_bytes` is a multiple of 8; `region` is 8-byte aligned.
inline void copy_from_region(std::byte* destination, std::byte* region, std::size_t length_bytes) {
#pragma GCC unroll 8
  for (std::size_t i = 0; i < length_bytes; i += 8) {
    const std::uint64_t word = region_word(region + i).load(std::memory_order_acquire);
    std::memcpy(destination + i, &word, 8);
  }
}

// Release stores, in ascending order.
inline void copy_to_region(std::byte* region, const std::byte* source, std::size_t length_bytes) {
#pragma GCC unroll 8
  for (std::size_t i = 0; i < length_bytes; i += 8) {
    std::uint64_t word;
    std::memcpy(&word, source + i, 8);
    region_word(region + i).store(word, std::memory_order_release);
  }
}

// From a region that may grow and now has `region_bytes`: bytes beyond its end read as zero.
inline void copy_from_growing_region(std::byte* destination, std::byte* region, std::uint64_t region_bytes,
                                     std::uint64_t offset, std::size_t length_bytes) {
  const std::size_t inside_bytes =
      offset < region_bytes ? std::min<std::uint64_t>(length_bytes, region_bytes - offset) : 0;
  if (inside_bytes != 0) copy_from_region(destination, region + offset, inside_bytes);
  std::memset(destination + inside_bytes, 0, length_bytes - inside_bytes);
}

}  // namespace namdb::fabric
