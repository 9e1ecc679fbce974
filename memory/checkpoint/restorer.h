// Puts the records of a checkpoint into their places in an empty region, and those that redo of the log
// creates: the first half of opening a region after a restart.
//
//   1. Tables::define() every table that the catalog has. Nothing else takes memory of the region yet.
//   2. state(): the manifest's. From here on blocks and numbers of grants are as they were.
//   3. chunk(): each chunk of the generation, in any order.
//   4. redo of the log, in any order, but block() before the entries that stand behind it: birth() for an
//      entry that creates a record. For one that updates it the caller writes the body that stands in the
//      region, and marks the extent as changed.
//   5. finish(): header words, trailers and rings; no tombstone is left.
// Then the rest of the region follows from the records: buckets, indexes.
//
// A birth applies iff its grant number is greater than the place's life. Outside of all blocks every life is
// over. Blocks and records of tables that are not defined are ignored. One executor's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

#include "common/base/error.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "memory/checkpoint/chunk.h"
#include "memory/region/region.h"
#include "memory/region/tables.h"
#include "proto/control.pb.h"

namespace namdb::memory {

class Restorer {
 public:
  // All outlive this.
  Restorer(reactor::Executor& executor, Region& region, Tables& tables)
      : executor_(executor), region_(region), tables_(tables) {}

  // Error corrupt_data, out_of_memory: as of block().
  Status state(const control::CheckpointState& state);
  // Errors of decode_chunk(); corrupt_data where a body does not certify at its place, or where records
  // are laid out otherwise than the table's.
  Status chunk(std::uint64_t extent, std::span<const std::byte> bytes);
  // A block that was taken while the log was written (GrantLog::log_block). It takes the place of those that
  // were taken before it. Errors: out_of_memory where the region has no such place; corrupt_data where
  // other blocks leave no room for it.
  Status block(const RecordBlock& block);
  // True if it applied, and the body, which certifies at its place, stands there now.
  bool birth(std::uint32_t table, std::uint64_t offset, std::uint64_t grant, std::span<const std::byte> body);
  // Of all records. Places of deleted rows are free, and keep their lives: no snapshot is so old that it
  // needs them.
  reactor::Task<void> finish();

 private:
  Status add_section(const ChunkSection& section);
  // Null if it is not defined.
  Table* find(std::uint32_t id) const;

  reactor::Executor& executor_;
  Region& region_;
  Tables& tables_;
  std::map<std::uint64_t, RecordBlock> blocks_;  // by offset
};

}  // namespace namdb::memory
