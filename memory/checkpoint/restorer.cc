#include "memory/checkpoint/restorer.h"

#include <string>
#include <utility>
#include <vector>

#include "common/layout/record.h"

namespace namdb::memory {
namespace {

std::string name_of(const RecordBlock& block) {
  return "the block of " + std::to_string(block.bytes) + " bytes at " + std::to_string(block.offset) +
         " for records of table " + std::to_string(block.table);
}

}  // namespace

Table* Restorer::find(std::uint32_t id) const {
  const auto found = tables_.all().find(id);
  return found == tables_.all().end() || found->second->discarded ? nullptr : found->second.get();
}

Status Restorer::state(const control::CheckpointState& state) {
  region_.grants().pass(state.grant_mark());
  for (const control::RecordBlock& added : state.blocks()) {
    const Status status = block({added.table(), added.offset(), added.bytes(), added.taken()});
    if (!status.ok()) return status;
  }
  return {};
}

Status Restorer::block(const RecordBlock& block) {
  Table* const table = find(block.table);
  if (table == nullptr) return {};
  if (block.bytes == 0 || block.offset + block.bytes < block.offset)
    return Status(ErrorCode::corrupt_data, name_of(block) + " cannot be");
  if (block.offset < region_.map().first_extent_offset)
    return Status(ErrorCode::configuration, name_of(block) + " lies where the timestamp vector is",
                  "start nam-memoryd with as few --slots as before");
  // Blocks do not overlap, so those that this one meets follow one another.
  auto other = blocks_.lower_bound(block.offset);
  if (other != blocks_.begin()) {
    const RecordBlock& before = std::prev(other)->second;
    if (before.offset + before.bytes > block.offset) --other;
  }
  std::vector<RecordBlock> older;
  for (; other != blocks_.end() && other->first < block.offset + block.bytes; ++other) {
    if (other->second.taken >= block.taken) return {};
    older.push_back(other->second);
  }
  for (const RecordBlock& gone : older) {
    find(gone.table)->records.release_block(gone.offset);
    blocks_.erase(gone.offset);
  }
  region_.grants().pass(block.taken);
  if (table->records.claim_block(block)) {
    blocks_[block.offset] = block;
    return {};
  }
  if (block.offset + block.bytes > region_.bytes()) {
    return Status(ErrorCode::out_of_memory,
                  name_of(block) + " lies behind the region's end, and it does not grow",
                  "start nam-memoryd with a --region-bytes or --region-limit as large as before");
  }
  return Status(ErrorCode::corrupt_data, name_of(block) + " has no room beside the others");
}

Status Restorer::chunk(std::uint64_t extent, std::span<const std::byte> bytes) {
  const Result<Chunk> chunk = decode_chunk(extent, bytes);
  if (!chunk.ok()) return chunk.status();
  for (const ChunkSection& section : chunk->sections) {
    Status status = add_section(section);
    if (!status.ok()) return status;
  }
  return {};
}

Status Restorer::add_section(const ChunkSection& section) {
  Table* const table = find(section.block.table);
  const auto known = blocks_.find(section.block.offset);
  if (table == nullptr || known == blocks_.end() || known->second != section.block) return {};
  const layout::RecordLayout& shape = table->shape.record;
  if (section.shape != ChunkShape{shape.record_bytes(), shape.body_bytes()}) {
    return Status(ErrorCode::corrupt_data, "a checkpoint has records of table " +
                                               std::to_string(section.block.table) +
                                               " in another layout than the catalog's");
  }
  for (const ChunkPlace& place : section.places) {
    if (place.body.empty()) {
      table->records.restore(place.offset, place.life, false);
      continue;
    }
    if (!layout::certify_body(place.body, region_.address(place.offset)) ||
        layout::decode_body_header(place.body.data()).table != section.block.table) {
      return Status(ErrorCode::corrupt_data, "a checkpoint has a damaged record of table " +
                                                 std::to_string(section.block.table) + " at " +
                                                 std::to_string(place.offset));
    }
    region_.write(place.offset + 8, place.body);
    table->records.restore(place.offset, place.life, true);
  }
  return {};
}

const layout::RecordLayout* Restorer::shape(std::uint32_t id) const {
  const Table* const table = find(id);
  return table == nullptr ? nullptr : &table->shape.record;
}

std::optional<std::uint64_t> Restorer::life(std::uint32_t id, std::uint64_t offset) const {
  const Table* const table = find(id);
  if (table == nullptr || !table->records.block_of(offset)) return std::nullopt;
  return table->records.life(offset);
}

void Restorer::born(std::uint32_t id, std::uint64_t offset, std::uint64_t grant) {
  find(id)->records.restore(offset, grant, true);
  region_.changed().mark(offset);
}

}  // namespace namdb::memory
