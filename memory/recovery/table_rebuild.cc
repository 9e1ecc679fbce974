#include "memory/recovery/table_rebuild.h"

#include <algorithm>
#include <span>
#include <string>

#include "common/base/check.h"
#include "common/layout/bucket.h"
#include "common/layout/placement.h"
#include "common/layout/record.h"

namespace namdb::memory {
namespace {

using layout::Bucket;

class TableRebuild {
 public:
  TableRebuild(Recovery recovery, Table& table)
      : region_(recovery.region),
        options_(recovery.options),
        table_(table),
        shape_(table.shape.record),
        certified_(recovery.certified) {}

  // The next place in use; 0 behind the last.
  std::uint64_t next(std::uint64_t place) const { return table_.records.next_used(place); }
  // Frames the record, or frees its place.
  Status frame(std::uint64_t place, TableContents& contents);
  Status make_buckets(std::uint64_t rows);
  std::uint64_t bucket_count() const { return main_.array.bucket_count; }
  Bucket empty_bucket() const;
  void clear_bucket(std::uint64_t index) const;
  Status enter(std::uint64_t place);
  void seal_chain(std::uint64_t index) const;
  void open() {
    table_.main = main_;
    table_.ready = true;
  }
  void give_up() {
    table_.indirect.release_all();
    if (main_.block_bytes != 0) region_.blocks().free(main_.array.base_offset, main_.block_bytes);
  }

 private:
  std::span<std::byte> body_at(std::uint64_t place) const {
    return {region_.at(place + 8), shape_.body_bytes()};
  }
  Bucket& bucket_at(std::uint64_t offset) const {
    return *reinterpret_cast<Bucket*>(region_.at(offset));  // no peer reaches it
  }
  Status corrupt(std::uint64_t place, const std::string& what) const;

  Region& region_;
  const Options& options_;
  Table& table_;
  const layout::RecordLayout& shape_;
  bool certified_;
  MainBuckets main_;
};

Status TableRebuild::corrupt(std::uint64_t place, const std::string& what) const {
  return Status(ErrorCode::corrupt_data, "table \"" + table_.shape.name + "\", record at " +
                                             std::to_string(place) + " of memory server " +
                                             std::to_string(options_.server_id) + ": " + what);
}

Status TableRebuild::frame(std::uint64_t place, TableContents& contents) {
  const std::span<std::byte> body = body_at(place);
  const layout::BodyHeader header = layout::decode_body_header(body.data());
  const bool certified = certified_ ? header.table != 0 : layout::certify_body(body, region_.address(place));
  if (certified && header.table != table_.shape.id)
    return corrupt(place, "it is of table " + std::to_string(header.table));
  if (certified && shape_.timestamps)
    contents.largest_timestamp = std::max(contents.largest_timestamp, header.timestamp());
  if (certified && !header.deleted) {
    if (shape_.timestamps && shape_.ring_slots != 0) {
      // Its link would lead to a version that is not there.
      layout::BodyHeader first = header;
      first.ring_slot = layout::kNoRingSlot;
      layout::seal_body(body, region_.address(place), first);
    }
    layout::frame_new_record(std::span(region_.at(place), shape_.locked_bytes()), shape_);
    ++contents.rows;
    contents.bytes += shape_.record_bytes();
    return Status();
  }
  const bool empty = std::ranges::all_of(body, [](std::byte byte) { return byte == std::byte{0}; });
  if (!certified && !empty) return corrupt(place, "its body does not certify");
  region_.zero(place, shape_.record_bytes());
  table_.records.free(place);
  ++contents.freed;
  return Status();
}

Status TableRebuild::make_buckets(std::uint64_t rows) {
  std::uint32_t doublings = doublings_for(rows, table_.shape.buckets_per_server);
  std::optional<Block> block;
  while (true) {
    if (TableShape::valid_buckets(table_.shape.buckets_per_server, doublings)) {
      const std::uint64_t bytes = (table_.shape.buckets_per_server << doublings) * layout::kBucket_bytes;
      block = region_.blocks().allocate(bytes, true);
    }
    // Without room its chains are longer.
    if (block || doublings == 0) break;
    --doublings;
  }
  if (!block)
    return Status(ErrorCode::out_of_memory,
                  "the region has no room for the buckets of table \"" + table_.shape.name + "\"",
                  "start nam-memoryd with a larger --region-bytes or --region-limit");
  main_ = {{block->offset, table_.shape.buckets_per_server << doublings, table_.shape.generation + doublings},
           block->bytes};
  return Status();
}

Bucket TableRebuild::empty_bucket() const {
  Bucket bucket{};
  bucket.table = table_.shape.id;
  bucket.generation = main_.array.generation;
  return bucket;
}

void TableRebuild::clear_bucket(std::uint64_t index) const {
  bucket_at(main_.array.bucket_offset(index)) = empty_bucket();
}

Status TableRebuild::enter(std::uint64_t place) {
  const layout::Schema& schema = table_.shape.schema;
  const std::span<const std::byte> body = body_at(place);
  const auto key = layout::body_payload(body).subspan(schema.key_offset(), schema.key_bytes());
  const std::uint64_t servers = options_.server_count;
  const std::uint64_t hash = layout::row_hash(table_.shape.id, schema, key, servers);
  if (layout::bucket_index(hash, servers) != options_.server_id)
    return corrupt(place, "its key belongs to another memory server");
  Bucket& main = bucket_at(main_.array.bucket_offset(main_.array.index_of(hash, servers)));
  Bucket* last = main.lock_word == 0 ? &main : &bucket_at(main.lock_word);
  auto entry = std::ranges::find_if(last->entries, &layout::BucketEntry::free);
  if (entry == last->entries.end()) {
    const auto added = table_.indirect.allocate();
    if (!added)
      return Status(ErrorCode::out_of_memory,
                    "the region has no room for the buckets of table \"" + table_.shape.name + "\"");
    last->next_offset = *added;
    main.lock_word = *added;
    last = &bucket_at(*added);
    *last = empty_bucket();
    entry = last->entries.begin();
  }
  *entry = layout::BucketEntry::make(hash, place, layout::decode_body_header(body.data()).incarnation);
  return Status();
}

void TableRebuild::seal_chain(std::uint64_t index) const {
  std::uint64_t offset = main_.array.bucket_offset(index);
  bucket_at(offset).lock_word = 0;
  for (; offset != 0; offset = bucket_at(offset).next_offset) bucket_at(offset).seal(region_.address(offset));
}

// Tells when it is time to let other tasks run.
class Steps {
 public:
  explicit Steps(const Options& options) : units_(options.step_units) {}
  bool over() {
    if (++done_ < units_) return false;
    done_ = 0;
    return true;
  }

 private:
  std::uint32_t units_;
  std::uint32_t done_ = 0;
};

reactor::Task<Status> rebuild_buckets(Recovery recovery, TableRebuild& rebuild, std::uint64_t rows) {
  Steps steps(recovery.options);
  recovery.progress.stage = RecoveryStage::buckets;
  Status status = rebuild.make_buckets(rows);
  if (!status.ok()) co_return status;
  for (std::uint64_t i = 0; i < rebuild.bucket_count(); ++i) {
    rebuild.clear_bucket(i);
    if (steps.over()) status = co_await recovery.rest();
    if (!status.ok()) co_return status;
  }
  for (std::uint64_t place = rebuild.next(0); place != 0; place = rebuild.next(place)) {
    status = rebuild.enter(place);
    if (status.ok() && steps.over()) status = co_await recovery.rest();
    if (!status.ok()) co_return status;
  }
  for (std::uint64_t i = 0; i < rebuild.bucket_count(); ++i) {
    rebuild.seal_chain(i);
    if (steps.over()) status = co_await recovery.rest();
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

}  // namespace

Status Recovery::stopped() const {
  if (!stopping || !stopping()) return Status();
  return Status(ErrorCode::admin_shutdown, "the memory server was told to end while it opened");
}

reactor::Task<Status> Recovery::rest() const {
  co_await executor.yield();
  co_return stopped();
}

std::uint32_t doublings_for(std::uint64_t rows, std::uint64_t buckets_per_server) {
  using Wide = unsigned __int128;
  std::uint32_t doublings = 0;
  while (Wide{rows} * 4 > (Wide{buckets_per_server} << doublings) * 3 * layout::kBucketEntries) ++doublings;
  return doublings;
}

reactor::Task<Result<TableContents>> rebuild_table(Recovery recovery, TablePointer table) {
  NAMDB_CHECK(!table->ready && table->main.block_bytes == 0 && table->indirect.used_count() == 0);
  TableRebuild rebuild(recovery, *table);
  TableContents contents;
  Steps steps(recovery.options);
  recovery.progress.subject = table->shape.name;
  recovery.progress.stage = RecoveryStage::records;
  for (std::uint64_t place = rebuild.next(0); place != 0;) {
    const std::uint64_t following = rebuild.next(place);
    Status status = rebuild.frame(place, contents);
    if (status.ok() && steps.over()) status = co_await recovery.rest();
    if (!status.ok()) co_return status;
    place = following;
  }
  Status status = co_await rebuild_buckets(recovery, rebuild, contents.rows);
  if (!status.ok()) {
    rebuild.give_up();
    co_return status;
  }
  rebuild.open();
  recovery.progress.rows += contents.rows;
  recovery.progress.bytes += contents.bytes;
  recovery.progress.freed += contents.freed;
  ++recovery.progress.tables;
  co_return contents;
}

}  // namespace namdb::memory
