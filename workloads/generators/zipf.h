// Zipf-distributed ranks, by the method of Gray et al., "Quickly Generating Billion-Record Synthetic
// Databases" (SIGMOD 1994), which YCSB uses: constant time a draw after one pass over the ranks.
#pragma once

#include <cstdint>

#include "common/base/random.h"

namespace namdb::workloads {

class Zipf {
 public:
  // Ranks 0 .. count-1, rank 0 the most frequent; 0 <= theta < 1, 0 being uniform; count > 0.
  Zipf(std::uint64_t count, double theta);

  std::uint64_t next(Random& random) const;
  std::uint64_t count() const { return count_; }
  double theta() const { return theta_; }

 private:
  std::uint64_t count_;
  double theta_;
  double alpha_ = 0;
  double zeta_ = 0;
  double eta_ = 0;
  double second_ = 0;
};

}  // namespace namdb::workloads
