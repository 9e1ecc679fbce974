// The cost of a lookup in the hash index: READs of buckets for one lookup at several occupancies, drawn
// uniformly and by zipf, without a location cache and with caches of several sizes that start cold. The same
// table as DrTM's Table VI, whose cached figures belong to a cache with room for every key (16 bytes each).
//
// A real table on a memory server in this process, real transactions of one lookup each; the READ of the
// record itself is not counted. Counts, not times: the same on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "tools/support/report/progress.h"

namespace namdb::nambench {

struct HashBenchOptions {
  std::uint64_t keys = 200'000;
  std::uint64_t lookups = 0;  // 0: as many as keys
  std::vector<int> occupancies_percent = {50, 75, 90};
  double zipf_theta = 0.99;
  std::vector<double> cache_bytes_per_key = {1, 16};
  std::uint64_t seed = 1;
};

struct CachedReads {
  double bytes_per_key = 0;
  double reads = 0;  // of buckets, a lookup, from cold
};

struct HashReport {
  std::string distribution;  // "uniform" or "zipf"
  double occupancy = 0;      // that was reached: keys over the main buckets' entries
  double reads = 0;          // of buckets, a lookup
  std::vector<CachedReads> cached;
  double published = 0;  // DrTM's cluster hashing; 0: not published
  double published_cached = 0;
  std::uint64_t hash = 0;  // of what the lookups found
};

Result<std::vector<HashReport>> hash_bench(const HashBenchOptions& options, support::Progress& progress);

}  // namespace namdb::nambench
