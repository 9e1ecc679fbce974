#include "compute/txn/run_reads.h"

#include <algorithm>

namespace namdb::protocol {

RunReads::RunReads(fabric::LocalPool& pool, std::span<Lookup* const> lookups) {
  reactor::PooledVector<Lookup*> sorted;
  for (Lookup* lookup : lookups) {
    if (lookup->state() == Lookup::State::record) sorted.push_back(lookup);
  }
  std::ranges::sort(sorted, {}, [](const Lookup* lookup) { return lookup->record(); });
  for (std::size_t first = 0; first < sorted.size();) {
    const layout::GlobalAddress from = sorted[first]->record();
    std::uint64_t length_bytes = sorted[first]->read_bytes();
    std::size_t next = first + 1;
    for (; next < sorted.size() && sorted[next]->record().server() == from.server(); ++next) {
      const std::uint64_t begin = sorted[next]->record().offset() - from.offset();
      const std::uint64_t end = std::max(length_bytes, begin + sorted[next]->read_bytes());
      if (begin > length_bytes + kGap_bytes || end > kRun_bytes) break;
      length_bytes = end;
    }
    if (next - first > 1) add_run(pool, std::span(sorted).subspan(first, next - first), length_bytes);
    first = next;
  }
}

void RunReads::add_run(fabric::LocalPool& pool, std::span<Lookup* const> lookups,
                       std::uint64_t length_bytes) {
  const layout::GlobalAddress from = lookups.front()->record();
  Run& run = runs_.emplace_back(Run{from, fabric::LocalBuffer(pool, length_bytes)});
  for (Lookup* lookup : lookups)
    lookup->read_from(run.bytes.data() + (lookup->record().offset() - from.offset()));
}

void RunReads::add_reads(txn::BatchSet& batches) const {
  for (const Run& run : runs_) batches.read(run.from, run.bytes.data(), run.bytes.size());
}

}  // namespace namdb::protocol
