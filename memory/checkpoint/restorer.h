// Puts the records of a checkpoint into their places in an empty region, and keeps the lives of places for
// redo of the log: the first half of opening a region after a restart.
//
//   1. Tables::restore() every table that the catalog has. Nothing else takes memory of the region yet.
//   2. state(): the manifest's. From here on blocks and numbers of grants are as they were.
//   3. chunk(): each chunk of the generation, in any order.
//   4. redo of the log, in any order, but block() before the entries that stand behind it. A birth, an entry
//      that creates a record, is news iff its grant number is greater than life() of its place: then born().
//      Redo writes the bodies, and marks extents that it changes (Region::changed()).
// Records have bodies then, and neither header words nor rings; deleted ones are there. Everything else
// follows from the bodies. One executor's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "common/base/error.h"
#include "memory/checkpoint/chunk.h"
#include "memory/region/region.h"
#include "memory/region/tables.h"
#include "proto/control.pb.h"

namespace namdb::memory {

class Restorer {
 public:
  // Both outlive this.
  Restorer(Region& region, const Tables& tables) : region_(region), tables_(tables) {}

  // Errors: those of block().
  Status state(const control::CheckpointState& state);
  // Sections of tables that were not restored, and of blocks that state() does not name, are void. Errors:
  // those of decode_chunk(); corrupt_data where a body does not certify at its place, or where records are
  // laid out otherwise than the table's.
  Status chunk(std::uint64_t extent, std::span<const std::byte> bytes);
  // A block that was taken while the log was written (GrantLog::log_block). It replaces the blocks there that
  // were taken before it, and is ignored if a later block has replaced it. Errors: out_of_memory where the
  // region has no such place; corrupt_data where something else leaves no room for it.
  Status block(const RecordBlock& block);

  // Null for a table that was not restored.
  const layout::RecordLayout* shape(std::uint32_t table) const;
  // The lives of the place up to this number are over, except the life of the record that stands there.
  // nullopt: the table has no such place. Every life there is over, since a block goes when its last record
  // has gone.
  std::optional<std::uint64_t> life(std::uint32_t table, std::uint64_t offset) const;
  // From now on the place, which has a life(), is in use for a record of that grant.
  void born(std::uint32_t table, std::uint64_t offset, std::uint64_t grant);

 private:
  Status add_section(const ChunkSection& section);
  Table* find(std::uint32_t id) const;

  Region& region_;
  const Tables& tables_;
  std::map<std::uint64_t, RecordBlock> blocks_;  // by offset
};

}  // namespace namdb::memory
