#include "common/fabric/huge_memory.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>

namespace namdb::fabric {

TEST_CASE("memory begins where a huge page does, is all there and zeroed") {
  const std::size_t length_bytes = GENERATE(std::size_t{4096}, std::size_t{2} << 20, std::size_t{4} << 20);
  // The remains of one mapping must not be the reason why the next one is aligned.
  for (int i = 0; i < 8; ++i) {
    std::byte* base = map_memory(length_bytes);
    const std::size_t border_bytes = length_bytes < (2U << 20) ? 4096 : 2U << 20;
    REQUIRE(reinterpret_cast<std::uintptr_t>(base) % border_bytes == 0);
    REQUIRE(std::all_of(base, base + length_bytes, [](std::byte byte) { return byte == std::byte{0}; }));
    std::fill_n(base, length_bytes, std::byte{1});
    std::byte* between = map_memory(4096);
    unmap_memory(base, length_bytes);
    unmap_memory(between, 4096);
  }
}

}  // namespace namdb::fabric
