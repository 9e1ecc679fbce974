// Words of images in ordinary memory, at any alignment.
#pragma once

#include <cstddef>
#include <cstdint>

namespace namdb::layout {

inline std::uint64_t load_word(const std::byte* bytes) {
  std::uint64_t word;
  __builtin_memcpy(&word, bytes, 8);
  return word;
}
inline void store_word(std::byte* bytes, std::uint64_t word) {
  __builtin_memcpy(bytes, &word, 8);
}

}  // namespace namdb::layout
