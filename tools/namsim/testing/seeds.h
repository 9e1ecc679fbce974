// The seeds of a test: the fixed ones, or others by NAMDB_FIRST_SEED and NAMDB_SEEDS. With NAMDB_SEED_DIVISOR
// a share of the fixed ones, at least two.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace namdb::sim {

inline std::uint64_t number_from_environment(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

struct Seeds {
  explicit Seeds(std::uint64_t default_count)
      : first(number_from_environment("NAMDB_FIRST_SEED", 1)),
        count(number_from_environment("NAMDB_SEEDS", share_of(default_count))) {}

  static std::uint64_t share_of(std::uint64_t count) {
    const std::uint64_t divisor = number_from_environment("NAMDB_SEED_DIVISOR", 1);
    return divisor <= 1 ? count : std::min(count, std::max<std::uint64_t>(2, count / divisor));
  }

  std::uint64_t first;
  std::uint64_t count;
};

}  // namespace namdb::sim
