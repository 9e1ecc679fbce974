#include "memory/region/ring_sampler.h"

#include "common/layout/stamp.h"

namespace namdb::memory {

void RingSampler::add(const Table& table, std::uint64_t record, RingSample& sample) const {
  const layout::HeaderWord word(region_.load(record));
  // Reserved and never written, or reclaimed: a ring that no transaction uses.
  if (word.value() == 0 || word.stamp().slot == layout::kCollectorSlot) return;
  const layout::RecordLayout& shape = table.shape.record;
  ++sample.records;
  sample.slots += shape.ring_slots;
  for (std::uint32_t i = 0; i < shape.ring_slots; ++i) {
    const layout::HeaderWord ring(region_.load(record + shape.ring_header_offset(i)));
    sample.unmoved += ring.moved() ? 0 : 1;
  }
}

reactor::Task<RingSample> RingSampler::look(std::uint64_t limit) {
  RingSample sample;
  const Place begin = last_;
  Place at = begin;
  bool wrapped = false;
  std::uint32_t in_step = 0;
  while (sample.records < limit) {
    const auto entry = tables_.all().lower_bound(at.first);
    if (entry == tables_.all().end()) {
      if (wrapped) break;
      wrapped = true;
      at = {0, 0};
      continue;
    }
    if (entry->first != at.first) at = {entry->first, 0};
    const Table& table = *entry->second;
    const bool usable = table.ready && !table.discarded;
    at.second = usable ? table.records.next_used(at.second) : 0;
    if (at.second == 0) {
      at = {at.first + 1, 0};
      continue;
    }
    if (wrapped && at > begin) break;
    add(table, at.second, sample);
    if (++in_step < options_.step_units) continue;
    in_step = 0;
    co_await executor_.yield();
  }
  last_ = wrapped && at > begin ? begin : at;
  co_return sample;
}

}  // namespace namdb::memory
