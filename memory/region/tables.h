// The memory of each table on this server: main buckets (one block), indirect buckets, records. While the
// main buckets are doubled (table_growth.h) there are two arrays of them, and older ones until no peer can
// come there.
//
// A table is prepared in steps that yield, and usable once its buckets are certified and empty. Once it is
// discarded it takes no calls, and its memory is given back after its reuse epoch (epoch_reclaimer.h), when
// no task of this server uses it. Everything is handed out zeroed: no image of an earlier life certifies
// there.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/layout/bucket.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "memory/region/descriptor.h"
#include "memory/region/region.h"
#include "memory/region/slab_allocator.h"
#include "proto/control.pb.h"

namespace namdb::memory {

// An array of main buckets, at the beginning of the block that it lies in.
struct MainBuckets {
  layout::BucketArray array;
  std::uint64_t block_bytes = 0;
};

// An array whose chains were all forwarded, with the indirect buckets that hang off it.
struct Outgrown {
  MainBuckets main;
  std::vector<std::uint64_t> indirect;
  bool retired = false;  // given to the EpochReclaimer
};

struct Table {
  Table(Region& region, TableShape table_shape)
      : shape(std::move(table_shape)),
        indirect(region, layout::kBucket_bytes, Pieces::zeroed),
        records(region, shape.record.record_bytes(), Pieces::records, shape.id) {}

  // Arrays of main buckets that take memory, oldest first.
  std::vector<MainBuckets> arrays() const;
  // True if a bucket of this table, main or indirect, begins at the offset. Outgrown arrays do not count.
  bool is_bucket(std::uint64_t offset) const;
  std::uint32_t doublings() const { return main.array.generation - shape.generation; }
  // The bytes of all arrays of main buckets, and of the blocks that hold them.
  std::uint64_t main_bytes() const;
  std::uint64_t main_block_bytes() const;

  TableShape shape;
  control::TableDescriptor descriptor;  // as the table was prepared here, or restored
  MainBuckets main;                     // every key's chain is in this array, or forwarded to `next`
  std::optional<MainBuckets> next;      // growth is under way: it becomes `main`
  std::vector<std::uint64_t> forwarded_indirect;  // old indirect buckets of chains that went to `next`
  std::deque<Outgrown> outgrown;                  // oldest first
  SlabAllocator indirect;
  SlabAllocator records;
  bool ready = false;
  bool discarded = false;
};

// Shared by tasks that keep a table over a suspension; its memory is not given back while one does.
using TablePointer = std::shared_ptr<Table>;

class Tables {
 public:
  Tables(reactor::Executor& executor, Region& region, const Options& options)
      : executor_(executor), region_(region), options_(options) {}

  // The offset of the first main bucket. Error out_of_memory; duplicate_table when the id is in use.
  reactor::Task<Result<std::uint64_t>> prepare(control::TableDescriptor descriptor);
  // A table whose records are in the region before it opens. The caller fills `records`, makes the buckets,
  // and sets `ready` (memory/recovery). Errors as of prepare().
  Result<TablePointer> restore(const control::TableDescriptor& descriptor);
  // Null for a table that is unknown, not ready, or discarded.
  TablePointer find(std::uint32_t id) const;
  // From now on find() does not know it. False when it was not there.
  bool discard(std::uint32_t id);
  // Gives back a discarded table's memory. False while some task still holds the table: ask again.
  bool release(std::uint32_t id);
  // Gives back the outgrown array that begins at the offset, if the table still has it.
  reactor::Task<void> release_outgrown(std::uint32_t id, std::uint64_t base_offset);
  // Where the chain of a key with that hash begins; 0 if it is not on this server, or if the bucket is being
  // written and so cannot be read now.
  std::uint64_t find_chain(const Table& table, std::uint64_t key_hash) const;

  Status allocate_records(std::uint32_t id, std::uint32_t count, control::AllocateReply& reply);
  Status allocate_buckets(std::uint32_t id, std::uint32_t count, control::AllocateReply& reply);
  // Checks all ranges before it changes anything; the pieces that they cover.
  Result<std::vector<std::uint64_t>> returned(const control::ReturnMemoryRequest& request) const;
  void free_buckets(std::uint32_t id, const std::vector<std::uint64_t>& offsets);
  // Clears a record that no peer can reach any more and makes it available.
  void free_record(std::uint32_t id, std::uint64_t offset);

  // Tables with the entries of that table's hash indexes.
  std::vector<std::uint32_t> hash_indexes_of(std::uint32_t id) const;
  // True if the table is one with a hash index's entries.
  bool has_hash_index(std::uint32_t id) const;

  // All tables by id, discarded ones included.
  const std::map<std::uint32_t, TablePointer>& all() const { return tables_; }
  // The greatest id that a table here had. Ids ascend, so one above it has had no table yet.
  std::uint32_t last_id() const { return last_id_; }
  // Counts that the region was found full; the error for the caller.
  Status full();
  // How often that was so.
  std::uint64_t refusals() const { return refusals_; }

 private:
  Status allocate(SlabAllocator& slabs, std::uint32_t count, control::AllocateReply& reply);

  reactor::Executor& executor_;
  Region& region_;
  const Options& options_;
  void keep(const TablePointer& table);

  std::map<std::uint32_t, TablePointer> tables_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> hash_indexes_;  // indexed tables, and those of entries
  std::uint32_t last_id_ = 0;
  std::uint64_t refusals_ = 0;
};

}  // namespace namdb::memory
