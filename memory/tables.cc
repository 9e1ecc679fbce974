#include "memory/tables.h"

#include <algorithm>
#include <string>

namespace namdb::memory {
namespace {

// Pieces that one call hands out at most.
constexpr std::uint32_t kMaxAllocation = 4096;

Status undefined(std::uint32_t id) {
  return Status(ErrorCode::undefined_table, "this memory server has no table " + std::to_string(id));
}

}  // namespace

bool Table::is_bucket(std::uint64_t offset) const {
  if (offset >= bucket_base && offset < bucket_base + main_bytes()) {
    return (offset - bucket_base) % layout::kBucket_bytes == 0;
  }
  return indirect.used(offset);
}

Status Tables::full() {
  ++refusals_;
  return Status(ErrorCode::out_of_memory,
                "the memory region of server " + std::to_string(region_.map().server_id) + " is full",
                "delete rows, drop tables, or start nam-memoryd with a larger --region-bytes");
}

reactor::Task<Result<std::uint64_t>> Tables::prepare(control::TableDescriptor descriptor) {
  Result<TableShape> shape = TableShape::create(descriptor);
  if (!shape.ok()) co_return shape.status();
  const std::uint32_t id = shape->id;
  if (id == 0) co_return Status(ErrorCode::protocol_violation, "a table needs an id");
  if (tables_.contains(id)) {
    co_return Status(ErrorCode::duplicate_table, "table " + std::to_string(id) + " is prepared already");
  }
  const std::uint64_t extents =
      region_.extents().extents_for(shape->buckets_per_server * layout::kBucket_bytes);
  const auto run = region_.extents().allocate(extents, region_.extents().reserve());
  if (!run) co_return full();

  const TablePointer table = std::make_shared<Table>(region_, std::move(*shape));
  table->bucket_base = run->offset;
  table->bucket_extents = run->extents;
  tables_[id] = table;
  layout::Bucket bucket{};
  bucket.table = id;
  bucket.generation = table->shape.generation;
  std::uint64_t in_step = 0;
  for (std::uint64_t i = 0; i < table->shape.buckets_per_server && !table->discarded; ++i) {
    const std::uint64_t offset = run->offset + i * layout::kBucket_bytes;
    bucket.seal(region_.address(offset));
    region_.write(offset, std::as_bytes(std::span(&bucket, 1)));
    if (++in_step < options_.step_units) continue;
    in_step = 0;
    co_await executor_.yield();
  }
  if (table->discarded) co_return undefined(id);
  table->ready = true;
  co_return table->bucket_base;
}

TablePointer Tables::find(std::uint32_t id) const {
  const auto found = tables_.find(id);
  if (found == tables_.end() || !found->second->ready || found->second->discarded) return nullptr;
  return found->second;
}

bool Tables::discard(std::uint32_t id) {
  const auto found = tables_.find(id);
  if (found == tables_.end() || found->second->discarded) return false;
  found->second->discarded = true;
  return true;
}

bool Tables::release(std::uint32_t id) {
  const auto found = tables_.find(id);
  NAMDB_CHECK(found != tables_.end() && found->second->discarded);
  if (found->second.use_count() > 1) return false;
  region_.extents().free(found->second->bucket_base, found->second->bucket_extents);
  tables_.erase(found);  // the units give their extents back
  return true;
}

Status Tables::allocate(Units& units, std::uint32_t count, control::AllocateReply& reply) {
  if (count == 0) return Status(ErrorCode::protocol_violation, "an allocation of nothing");
  control::Range* range = nullptr;
  for (std::uint32_t i = 0; i < std::min(count, kMaxAllocation); ++i) {
    const auto offset = units.allocate();
    if (!offset) {
      if (range == nullptr) return full();
      ++refusals_;
      break;
    }
    if (range == nullptr || range->offset() + range->length_bytes() != *offset) {
      range = reply.add_ranges();
      range->set_offset(*offset);
    }
    range->set_length_bytes(range->length_bytes() + units.unit_bytes());
  }
  return Status();
}

Status Tables::allocate_records(std::uint32_t id, std::uint32_t count, control::AllocateReply& reply) {
  const TablePointer table = find(id);
  return table ? allocate(table->records, count, reply) : undefined(id);
}

Status Tables::allocate_buckets(std::uint32_t id, std::uint32_t count, control::AllocateReply& reply) {
  const TablePointer table = find(id);
  return table ? allocate(table->indirect, count, reply) : undefined(id);
}

Result<std::vector<std::uint64_t>> Tables::returned(const control::ReturnMemoryRequest& request) const {
  const TablePointer table = find(request.table());
  if (!table) return undefined(request.table());
  const Units& units = request.buckets() ? table->indirect : table->records;
  std::vector<std::uint64_t> offsets;
  for (const control::Range& range : request.ranges()) {
    if (range.length_bytes() % units.unit_bytes() != 0 || range.length_bytes() > region_.bytes()) {
      return Status(ErrorCode::protocol_violation, "a returned range is no whole number of pieces");
    }
    for (std::uint64_t i = 0; i < range.length_bytes(); i += units.unit_bytes()) {
      if (!units.used(range.offset() + i)) {
        return Status(ErrorCode::protocol_violation, "returned memory was not handed out");
      }
      offsets.push_back(range.offset() + i);
    }
  }
  std::sort(offsets.begin(), offsets.end());
  if (std::adjacent_find(offsets.begin(), offsets.end()) != offsets.end()) {
    return Status(ErrorCode::protocol_violation, "memory is returned twice");
  }
  return offsets;
}

void Tables::free_buckets(std::uint32_t id, const std::vector<std::uint64_t>& offsets) {
  const TablePointer table = find(id);
  if (!table) return;
  for (const std::uint64_t offset : offsets) {
    if (!table->indirect.used(offset)) continue;
    region_.zero(offset, layout::kBucket_bytes);
    table->indirect.free(offset);
  }
}

void Tables::free_record(std::uint32_t id, std::uint64_t offset) {
  const TablePointer table = find(id);
  if (!table || !table->records.used(offset)) return;
  region_.zero(offset, table->shape.record.record_bytes());
  table->records.free(offset);
}

}  // namespace namdb::memory
