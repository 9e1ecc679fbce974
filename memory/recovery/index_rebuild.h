// B+-trees of secondary indexes, made anew from the rows while the memory server opens. The keys of all rows
// are read and sorted in runs; then the pages of this server's part are written from left to right
// (memory/index/btree_loader.h). Only the newest version of a row has entries, and no entry is in doubt: no
// transaction has an older snapshot. Hash indexes are tables (table_rebuild.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/layout/global_address.h"
#include "common/reactor/task.h"
#include "memory/index/btree.h"
#include "memory/recovery/key_runs.h"
#include "memory/recovery/table_rebuild.h"
#include "memory/region/tables.h"
#include "proto/control.pb.h"

namespace namdb::memory {

// The keys of an index that a server's rows have, by the server with their part. Finished.
using IndexKeys = std::map<layout::ServerId, KeyRuns>;

// Which keys of the index that server has; nullopt: none.
std::optional<KeyRange> part_of(const control::IndexDescriptor& index, layout::ServerId server);

// Reads the places of a table's records one by one.
class PlaceReader {
 public:
  enum class What : std::uint8_t { nothing, row, deleted, torn };

  PlaceReader(const Recovery& recovery, const Table& table) : recovery_(recovery), table_(table) {}

  // torn: there is no body of the table, or one that is being written.
  What read(std::uint64_t place);
  // After that. Where transactions may be writing, waits for the body. Errors corrupt_data;
  // cannot_connect_now where it takes too long.
  reactor::Task<Result<What>> read_again(std::uint64_t place);
  std::span<const std::byte> body() const { return body_; }

 private:
  static constexpr std::uint64_t kPause_ns = 100 * kMicrosecond_ns;
  // An owner that dies while it writes is fenced, and its commit installed by this server.
  static constexpr std::uint64_t kPatience_ns = 5 * kSecond_ns;

  const Recovery& recovery_;
  const Table& table_;
  std::span<const std::byte> body_;  // in the region, or a copy
  std::vector<std::byte> copy_;
};

// The table is rebuilt, or has been open: places may be reserved, and rows deleted. Error corrupt_data where
// the index does not fit it; admin_shutdown.
reactor::Task<Result<IndexKeys>> collect_index_keys(Recovery recovery, TablePointer table,
                                                    control::IndexDescriptor index);

// The tree of this server's part, with all keys of those runs. Errors out_of_memory; corrupt_data where a key
// does not belong to the part; admin_shutdown.
reactor::Task<Result<std::unique_ptr<BTree>>> load_index(Recovery recovery, control::IndexDescriptor index,
                                                         std::vector<const KeyRuns*> sources);

}  // namespace namdb::memory
