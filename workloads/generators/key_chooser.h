// Which of a number of keys a transaction touches: uniform, zipf, or a hot set.
#pragma once

#include <cstdint>
#include <span>

#include "common/base/random.h"
#include "workloads/generators/zipf.h"

namespace namdb::workloads {

struct Skew {
  double zipf_theta = 0;       // 0: no zipf
  std::uint64_t hot_keys = 0;  // 0: no hot set. Keys 0 .. hot_keys-1 are hot
  double hot_probability = 0;  // that a key is drawn from the hot set
};

class KeyChooser {
 public:
  // `count` > 0. With a hot set, zipf is ignored; more hot keys than keys means all.
  KeyChooser(std::uint64_t count, Skew skew);

  std::uint64_t next(Random& random) const;
  // Fills `keys` with different keys; at most count() of them. The transaction's operations on one key would
  // otherwise become fewer, and with them its cost.
  void next_distinct(Random& random, std::span<std::uint64_t> keys) const;
  std::uint64_t count() const { return zipf_.count(); }

 private:
  Skew skew_;
  Zipf zipf_;
};

}  // namespace namdb::workloads
