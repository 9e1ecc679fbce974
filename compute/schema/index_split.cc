#include "compute/schema/index_split.h"

#include <algorithm>
#include <numeric>

namespace namdb::schema {
namespace {

// The boundary of different keys that is next to `wanted`; 0: there is none.
std::size_t nearest_boundary(const std::vector<std::string>& keys, std::size_t wanted) {
  const auto is_boundary = [&keys](std::size_t at) {
    return at > 0 && at < keys.size() && keys[at - 1] != keys[at];
  };
  for (std::size_t distance = 0; distance <= keys.size(); ++distance) {
    if (is_boundary(wanted + distance)) return wanted + distance;
    if (wanted > distance && is_boundary(wanted - distance)) return wanted - distance;
  }
  return 0;
}

}  // namespace

std::vector<std::string> choose_splits(std::vector<std::string> keys, std::size_t parts) {
  std::ranges::sort(keys);
  std::vector<std::string> splits;
  for (std::size_t part = 1; part < parts; ++part) {
    const std::size_t at = nearest_boundary(keys, keys.size() * part / parts);
    if (at == 0) break;
    const std::string& before = keys[at - 1];
    const std::string& first = keys[at];
    const auto differ = std::ranges::mismatch(before, first).in2;
    std::string split(first.begin(), differ + 1);
    if (splits.empty() || splits.back() < split) splits.push_back(std::move(split));
  }
  return splits;
}

bool out_of_balance(std::span<const std::uint64_t> bytes, std::uint64_t balanced_bytes,
                    std::uint64_t least_bytes) {
  if (bytes.size() < 2) return false;
  const std::uint64_t sum = std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
  const std::uint64_t largest = *std::ranges::max_element(bytes);
  return largest > least_bytes && largest * bytes.size() > sum + sum / 2 && sum / 2 >= balanced_bytes;
}

}  // namespace namdb::schema
