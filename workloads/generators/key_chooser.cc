#include "workloads/generators/key_chooser.h"

#include <algorithm>

#include "common/base/check.h"

namespace namdb::workloads {

KeyChooser::KeyChooser(std::uint64_t count, Skew skew)
    : skew_(skew), zipf_(count, skew.hot_keys > 0 ? 0 : skew.zipf_theta) {
  skew_.hot_keys = std::min(skew_.hot_keys, count);
}

std::uint64_t KeyChooser::next(Random& random) const {
  if (skew_.hot_keys == 0) return zipf_.next(random);
  if (skew_.hot_keys == count() || random.chance(skew_.hot_probability)) return random.below(skew_.hot_keys);
  return skew_.hot_keys + random.below(count() - skew_.hot_keys);
}

void KeyChooser::next_distinct(Random& random, std::span<std::uint64_t> keys) const {
  NAMDB_CHECK(keys.size() <= count());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto taken = keys.first(i);
    const auto is_taken = [&](std::uint64_t key) { return std::ranges::find(taken, key) != taken.end(); };
    keys[i] = next(random);
    // A small or very skewed key space may hardly yield another: after some draws take the next free key.
    for (int draw = 0; draw < 16 && is_taken(keys[i]); ++draw) keys[i] = next(random);
    while (is_taken(keys[i])) keys[i] = (keys[i] + 1) % count();
  }
}

}  // namespace namdb::workloads
