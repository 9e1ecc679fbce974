// Samples how full the rings of old versions are: some records, and further ones the next time, so that an
// answer costs the same however large the tables are. Tables with no more records than that are sampled
// whole.
#pragma once

#include <cstdint>
#include <utility>

#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "memory/options.h"
#include "memory/region/region.h"
#include "memory/region/tables.h"

namespace namdb::memory {

struct RingSample {
  std::uint64_t records = 0;
  std::uint64_t slots = 0;
  std::uint64_t unmoved = 0;  // slots that no writer can take before the mover was there
};

class RingSampler {
 public:
  RingSampler(reactor::Executor& executor, const Region& region, const Options& options, const Tables& tables)
      : executor_(executor), region_(region), options_(options), tables_(tables) {}

  // Samples up to `limit` records, yielding now and then.
  reactor::Task<RingSample> look(std::uint64_t limit);

 private:
  void add(const Table& table, std::uint64_t record, RingSample& sample) const;

  reactor::Executor& executor_;
  const Region& region_;
  const Options& options_;
  const Tables& tables_;
  using Place = std::pair<std::uint32_t, std::uint64_t>;  // table, record; 0 = before the first
  Place last_;                                            // that was sampled
};

}  // namespace namdb::memory
