#include "common/base/checksum.h"

// Inlined: another library that is loaded exports the same functions, slower ones.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace namdb {

std::uint64_t checksum64(std::span<const std::byte> bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace namdb
