#include "common/base/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <climits>

namespace namdb {

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) {
  std::uint32_t state = ~before;
  while (!bytes.empty()) {
    // The library takes an int, and does not write through its pointer. It chooses at run time what the
    // processor has.
    const std::span<const std::byte> piece = bytes.first(std::min<std::size_t>(bytes.size(), INT_MAX));
    auto* data = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(piece.data()));
    state = crc32_iscsi(data, static_cast<int>(piece.size()), state);
    bytes = bytes.subspan(piece.size());
  }
  return ~state;
}

}  // namespace namdb
