// Records that lie side by side, READ together: of the lookups of one step, those that know where their
// records are and are near one another share a READ. It brings the bytes between them, too.
//
// Each record certifies itself, as in a READ of its own: the words of a READ are fetched in any order. A
// lookup that must read its record again READs it by itself.
#pragma once

#include <cstdint>
#include <span>

#include "common/fabric/local_pool.h"
#include "common/layout/global_address.h"
#include "common/reactor/pooled_allocator.h"
#include "compute/cluster/batch_set.h"
#include "compute/txn/lookup.h"

namespace namdb::protocol {

class RunReads {
 public:
  // The most unwanted bytes between two records, and the longest READ.
  static constexpr std::uint64_t kGap_bytes = 2U << 10;
  static constexpr std::uint64_t kRun_bytes = 128U << 10;

  // The lookups have not READ anything. The object lives until each of them has advanced once.
  RunReads(fabric::LocalPool& pool, std::span<Lookup* const> lookups);
  // Before each run of the batches, until the lookups advance.
  void add_reads(txn::BatchSet& batches) const;

 private:
  struct Run {
    layout::GlobalAddress from;
    fabric::LocalBuffer bytes;
  };
  void add_run(fabric::LocalPool& pool, std::span<Lookup* const> lookups, std::uint64_t length_bytes);

  reactor::PooledVector<Run> runs_;
};

}  // namespace namdb::protocol
