#include "memory/state/accounting.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <vector>

#include "common/layout/timestamp_vector.h"

namespace namdb::memory {
namespace {

// Adds a part whose kinds are set, and sums them up; one without bytes is left out.
void add(control::MemoryReply& reply, control::MemoryPurpose purpose, control::MemoryPart part) {
  part.set_purpose(purpose);
  part.set_bytes(part.used_bytes() + part.reserved_bytes() + part.waiting_bytes() + part.free_bytes() +
                 part.unusable_bytes());
  if (part.bytes() != 0) *reply.add_parts() = std::move(part);
}

void add_frame(control::MemoryReply& reply, const Region& region) {
  const layout::RegionMap& map = region.map();
  control::MemoryPart part;
  part.set_used_bytes(layout::kRegionMap_bytes);
  add(reply, control::MEMORY_REGION_MAP, part);
  std::uint64_t vector_bytes = 0;
  if (map.vector_capacity != 0) {
    vector_bytes = layout::vector_bytes(map.vector_capacity);
    part.set_used_bytes(layout::vector_bytes(region.vector_length()));
    part.set_free_bytes(vector_bytes - part.used_bytes());
    add(reply, control::MEMORY_TIMESTAMP_VECTOR, part);
  }
  control::MemoryPart alignment;
  alignment.set_unusable_bytes(region.fixed_bytes() - layout::kRegionMap_bytes - vector_bytes);
  add(reply, control::MEMORY_ALIGNMENT, alignment);
}

void add_journals(control::MemoryReply& reply, const ServerState& server) {
  control::MemoryPart part;
  part.set_waiting_bytes(server.journals.abandoned_bytes());
  part.set_used_bytes(server.journals.bytes() - part.waiting_bytes());
  add(reply, control::MEMORY_JOURNALS, part);
}

// Free and unusable bytes of an allocator's blocks. The caller tells apart the pieces that are handed out.
control::MemoryPart part_of(const control::MemoryPart& table, const SlabAllocator& slabs) {
  control::MemoryPart part = table;
  part.set_free_bytes(slabs.free_bytes());
  part.set_unusable_bytes(slabs.block_bytes() - slabs.used_bytes() - slabs.free_bytes());
  return part;
}

void set_handed_out(control::MemoryPart& part, std::uint64_t all_bytes, std::uint64_t waiting_bytes,
                    std::uint64_t reserved_bytes) {
  part.set_waiting_bytes(waiting_bytes);
  part.set_reserved_bytes(reserved_bytes);
  part.set_used_bytes(all_bytes - waiting_bytes - reserved_bytes);
}

void add_table(control::MemoryReply& reply, const ServerState& server, const Table& table,
               std::uint64_t waiting_records) {
  const bool is_index = table.shape.indexed_table != 0;
  const auto purpose_of = [is_index](control::MemoryPurpose purpose) {
    return is_index ? control::MEMORY_INDEXES : purpose;
  };
  control::MemoryPart common;
  common.set_table(is_index ? table.shape.indexed_table : table.shape.id);
  common.set_name(table.shape.name);
  common.set_dropped(table.discarded);

  std::uint64_t waiting_bytes = 0;
  std::uint64_t waiting_buckets = 0;
  for (const Outgrown& old : table.outgrown) {
    waiting_bytes += old.main.array.bytes();
    waiting_buckets += old.indirect.size();
  }
  control::MemoryPart main = common;
  set_handed_out(main, table.main_bytes(), table.discarded ? table.main_bytes() : waiting_bytes, 0);
  main.set_unusable_bytes(table.main_block_bytes() - table.main_bytes());
  add(reply, purpose_of(control::MEMORY_MAIN_BUCKETS), main);

  const auto add_pieces = [&](control::MemoryPurpose purpose, const SlabAllocator& slabs,
                              std::uint64_t waiting) {
    control::MemoryPart part = part_of(common, slabs);
    if (table.discarded) {
      set_handed_out(part, slabs.used_bytes(), slabs.used_bytes(), 0);
    } else {
      const bool buckets = purpose == control::MEMORY_INDIRECT_BUCKETS;
      const std::uint64_t reserved = server.reservations.unused(table.shape.id, buckets);
      set_handed_out(part, slabs.used_bytes(), waiting * slabs.unit_bytes(), reserved * slabs.unit_bytes());
    }
    add(reply, purpose_of(purpose), part);
  };
  add_pieces(control::MEMORY_INDIRECT_BUCKETS, table.indirect, waiting_buckets);
  add_pieces(control::MEMORY_RECORDS, table.records, waiting_records);
}

void add_index(control::MemoryReply& reply, const Index& index) {
  control::MemoryPart common;
  common.set_table(index.table);
  common.set_name(index.name);
  common.set_dropped(index.discarded);
  const SlabAllocator& pages = index.tree->pages();
  control::MemoryPart part = part_of(common, pages);
  set_handed_out(part, pages.used_bytes(), index.discarded ? pages.used_bytes() : 0, 0);
  add(reply, control::MEMORY_INDEXES, part);
}

void add_overflow(control::MemoryReply& reply, const Overflow& overflow, const OldVersions& old_versions) {
  control::MemoryPart part;
  part.set_free_bytes(overflow.spare_bytes());
  for (const auto& [group_bytes, slabs] : overflow.classes()) {
    part.set_free_bytes(part.free_bytes() + slabs->free_bytes());
  }
  set_handed_out(part, overflow.used_bytes(), old_versions.aging().bytes, 0);
  part.set_unusable_bytes(overflow.block_bytes() - overflow.used_bytes() - part.free_bytes());
  add(reply, control::MEMORY_OVERFLOW, part);
}

// Of very many parts the smaller ones are summed up by purpose, so that the reply fits into a call.
void merge_small_parts(control::MemoryReply& reply) {
  constexpr int kMaxParts = 4096;
  if (reply.parts_size() <= kMaxParts) return;
  std::vector<control::MemoryPart> parts(std::make_move_iterator(reply.mutable_parts()->begin()),
                                         std::make_move_iterator(reply.mutable_parts()->end()));
  reply.clear_parts();
  std::vector<std::uint64_t> sizes;
  for (const control::MemoryPart& part : parts) sizes.push_back(part.bytes());
  std::ranges::nth_element(sizes, sizes.begin() + kMaxParts, std::greater());
  const std::uint64_t least_bytes = sizes[kMaxParts];
  std::map<control::MemoryPurpose, control::MemoryPart> merged;
  for (control::MemoryPart& part : parts) {
    if (part.name().empty() || part.bytes() > least_bytes) {
      *reply.add_parts() = std::move(part);
      continue;
    }
    control::MemoryPart& sum = merged[part.purpose()];
    sum.set_merged(sum.merged() + 1);
    sum.set_used_bytes(sum.used_bytes() + part.used_bytes());
    sum.set_reserved_bytes(sum.reserved_bytes() + part.reserved_bytes());
    sum.set_waiting_bytes(sum.waiting_bytes() + part.waiting_bytes());
    sum.set_free_bytes(sum.free_bytes() + part.free_bytes());
    sum.set_unusable_bytes(sum.unusable_bytes() + part.unusable_bytes());
  }
  for (const auto& [purpose, sum] : merged) add(reply, purpose, sum);
}

}  // namespace

RegionUse region_use(const ServerState& server) {
  RegionUse use;
  use.fixed_bytes = server.region->fixed_bytes();
  use.free_bytes = server.region->blocks().free_bytes();
  use.journal_bytes = server.journals.bytes();
  for (const auto& [id, table] : server.tables.all()) {
    use.table_bytes +=
        table->main_block_bytes() + table->indirect.block_bytes() + table->records.block_bytes();
  }
  for (const auto& [id, index] : server.indexes.all()) use.index_bytes += index->tree->pages().block_bytes();
  use.overflow_bytes = server.overflow.block_bytes();
  return use;
}

control::MemoryReply account(const ServerState& server) {
  control::MemoryReply reply;
  const ExtentAllocator& extents = server.region->extents();
  reply.set_server_id(server.region->map().server_id);
  reply.set_epoch(server.region->map().epoch);
  reply.set_region_bytes(server.region->bytes());
  reply.set_limit_bytes(server.region->limit_bytes());
  reply.set_extent_bytes(extents.extent_bytes());
  reply.set_free_extents(extents.free_count());

  add_frame(reply, *server.region);
  add_journals(reply, server);
  std::map<std::uint32_t, std::uint64_t> waiting;  // records, by table
  for (const Freed& freed : server.reclaimer.pending()) {
    if (freed.offset != 0 && !freed.outgrown) ++waiting[freed.table];
  }
  for (const auto& [id, table] : server.tables.all()) add_table(reply, server, *table, waiting[id]);
  for (const auto& [id, index] : server.indexes.all()) add_index(reply, *index);
  add_overflow(reply, server.overflow, server.old_versions);
  control::MemoryPart free;
  free.set_free_bytes(server.region->blocks().free_bytes());
  add(reply, control::MEMORY_FREE_EXTENTS, free);
  merge_small_parts(reply);
  return reply;
}

}  // namespace namdb::memory
