#include "memory/region/tables.h"

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
  const auto begins_in = [offset](const layout::BucketArray& array) {
    return offset >= array.base_offset && offset - array.base_offset < array.bytes() &&
           (offset - array.base_offset) % layout::kBucket_bytes == 0;
  };
  return begins_in(main.array) || (next && begins_in(next->array)) || indirect.used(offset);
}

std::vector<MainBuckets> Table::arrays() const {
  std::vector<MainBuckets> arrays;
  for (const Outgrown& old : outgrown) arrays.push_back(old.main);
  arrays.push_back(main);
  if (next) arrays.push_back(*next);
  return arrays;
}

std::uint64_t Table::main_block_bytes() const {
  std::uint64_t bytes = 0;
  for (const MainBuckets& buckets : arrays()) bytes += buckets.block_bytes;
  return bytes;
}

std::uint64_t Table::main_bytes() const {
  std::uint64_t bytes = 0;
  for (const MainBuckets& buckets : arrays()) bytes += buckets.array.bytes();
  return bytes;
}

Status Tables::full() {
  ++refusals_;
  return Status(
      ErrorCode::out_of_memory,
      "the memory region of server " + std::to_string(region_.map().server_id) + " is full",
      "delete rows, drop tables, or start nam-memoryd with a larger --region-bytes or --region-limit");
}

reactor::Task<Result<std::uint64_t>> Tables::prepare(control::TableDescriptor descriptor) {
  Result<TableShape> shape = TableShape::create(descriptor);
  if (!shape.ok()) co_return shape.status();
  const std::uint32_t id = shape->id;
  if (id == 0) co_return Status(ErrorCode::protocol_violation, "a table needs an id");
  if (tables_.contains(id)) {
    co_return Status(ErrorCode::duplicate_table, "table " + std::to_string(id) + " is prepared already");
  }
  const auto block = region_.blocks().allocate(shape->buckets_per_server * layout::kBucket_bytes, true);
  if (!block) co_return full();

  const TablePointer table = std::make_shared<Table>(region_, std::move(*shape));
  table->main = {{block->offset, table->shape.buckets_per_server, table->shape.generation}, block->bytes};
  table->descriptor = std::move(descriptor);
  keep(table);
  layout::Bucket bucket{};
  bucket.table = id;
  bucket.generation = table->shape.generation;
  std::uint64_t in_step = 0;
  for (std::uint64_t i = 0; i < table->shape.buckets_per_server && !table->discarded; ++i) {
    const std::uint64_t offset = table->main.array.bucket_offset(i);
    bucket.seal(region_.address(offset));
    region_.write(offset, std::as_bytes(std::span(&bucket, 1)));
    if (++in_step < options_.step_units) continue;
    in_step = 0;
    co_await executor_.yield();
  }
  if (table->discarded) co_return undefined(id);
  table->ready = true;
  co_return table->main.array.base_offset;
}

Result<TablePointer> Tables::restore(const control::TableDescriptor& descriptor) {
  Result<TableShape> shape = TableShape::create(descriptor);
  if (!shape.ok()) return shape.status();
  const std::uint32_t id = shape->id;
  if (id == 0) return Status(ErrorCode::protocol_violation, "a table needs an id");
  if (tables_.contains(id))
    return Status(ErrorCode::duplicate_table, "table " + std::to_string(id) + " is there already");
  const TablePointer table = std::make_shared<Table>(region_, std::move(*shape));
  table->descriptor = descriptor;
  keep(table);
  return table;
}

void Tables::keep(const TablePointer& table) {
  const std::uint32_t id = table->shape.id;
  tables_[id] = table;
  last_id_ = std::max(last_id_, id);
  if (table->shape.indexed_table != 0) hash_indexes_.emplace(table->shape.indexed_table, id);
}

TablePointer Tables::find(std::uint32_t id) const {
  const auto found = tables_.find(id);
  if (found == tables_.end() || !found->second->ready || found->second->discarded) return nullptr;
  return found->second;
}

std::vector<std::uint32_t> Tables::hash_indexes_of(std::uint32_t id) const {
  std::vector<std::uint32_t> ids;
  for (auto entry = hash_indexes_.lower_bound({id, 0}); entry != hash_indexes_.end() && entry->first == id;
       ++entry) {
    if (!tables_.at(entry->second)->discarded) ids.push_back(entry->second);
  }
  return ids;
}

bool Tables::has_hash_index(std::uint32_t id) const {
  const auto found = tables_.find(id);
  return found != tables_.end() && found->second->shape.indexed_table != 0;
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
  for (const MainBuckets& buckets : found->second->arrays()) {
    if (buckets.block_bytes != 0) region_.blocks().free(buckets.array.base_offset, buckets.block_bytes);
  }
  hash_indexes_.erase({found->second->shape.indexed_table, id});
  tables_.erase(found);  // the units give their blocks back
  return true;
}

reactor::Task<void> Tables::release_outgrown(std::uint32_t id, std::uint64_t base_offset) {
  const TablePointer table = find(id);
  if (!table) co_return;  // all of it is given back together
  const auto is_meant = [base_offset](const Outgrown& outgrown) {
    return outgrown.main.array.base_offset == base_offset;
  };
  const auto found = std::find_if(table->outgrown.begin(), table->outgrown.end(), is_meant);
  if (found == table->outgrown.end()) co_return;
  const Outgrown old = std::move(*found);
  table->outgrown.erase(found);
  region_.blocks().free(old.main.array.base_offset, old.main.block_bytes);
  std::uint64_t in_step = 0;
  for (const std::uint64_t offset : old.indirect) {
    if (!table->indirect.used(offset)) continue;
    region_.zero(offset, layout::kBucket_bytes);
    table->indirect.free(offset);
    if (++in_step < options_.step_units) continue;
    in_step = 0;
    co_await executor_.yield();
  }
}

std::uint64_t Tables::find_chain(const Table& table, std::uint64_t key_hash) const {
  const std::uint64_t servers = options_.server_count;
  if (layout::bucket_index(key_hash, servers) != options_.server_id) return 0;
  const std::uint64_t offset = table.main.array.bucket_offset(table.main.array.index_of(key_hash, servers));
  if (!table.next) return offset;
  layout::Bucket bucket;
  region_.read(offset, std::as_writable_bytes(std::span(&bucket, 1)));
  if (!bucket.certified(region_.address(offset))) return 0;
  if (!bucket.forwarded()) return offset;
  return table.next->array.bucket_offset(table.next->array.index_of(key_hash, servers));
}

Status Tables::allocate(SlabAllocator& slabs, std::uint32_t count, control::AllocateReply& reply) {
  if (count == 0) return Status(ErrorCode::protocol_violation, "an allocation of nothing");
  control::Range* range = nullptr;
  for (std::uint32_t i = 0; i < std::min(count, kMaxAllocation); ++i) {
    const auto offset = slabs.allocate(reply.grant());
    if (!offset) {
      if (range == nullptr) return full();
      ++refusals_;
      break;
    }
    if (range == nullptr || range->offset() + range->length_bytes() != *offset) {
      range = reply.add_ranges();
      range->set_offset(*offset);
    }
    range->set_length_bytes(range->length_bytes() + slabs.unit_bytes());
  }
  return Status();
}

Status Tables::allocate_records(std::uint32_t id, std::uint32_t count, control::AllocateReply& reply) {
  const TablePointer table = find(id);
  if (!table) return undefined(id);
  const auto grant = region_.grants().next();
  if (!grant) {
    return Status(ErrorCode::disk_full,
                  "record space of server " + std::to_string(region_.map().server_id) +
                      " cannot be granted: its log has no room for the numbers of grants");
  }
  reply.set_grant(*grant);
  return allocate(table->records, count, reply);
}

Status Tables::allocate_buckets(std::uint32_t id, std::uint32_t count, control::AllocateReply& reply) {
  const TablePointer table = find(id);
  return table ? allocate(table->indirect, count, reply) : undefined(id);
}

Result<std::vector<std::uint64_t>> Tables::returned(const control::ReturnMemoryRequest& request) const {
  const TablePointer table = find(request.table());
  if (!table) return undefined(request.table());
  const SlabAllocator& slabs = request.buckets() ? table->indirect : table->records;
  std::vector<std::uint64_t> offsets;
  for (const control::Range& range : request.ranges()) {
    if (range.length_bytes() % slabs.unit_bytes() != 0 || range.length_bytes() > region_.bytes()) {
      return Status(ErrorCode::protocol_violation, "a returned range is no whole number of pieces");
    }
    for (std::uint64_t i = 0; i < range.length_bytes(); i += slabs.unit_bytes()) {
      if (!slabs.used(range.offset() + i)) {
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
