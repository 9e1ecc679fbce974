// The region checker: silent about a cluster at rest, and each damage that is done by hand is one finding.
#include "tools/namsim/checks/region_check.h"
#include "common/layout/record_trailer.h"

#include <catch2/catch.hpp>
#include <functional>

#include "common/layout/bucket.h"
#include "common/layout/key.h"
#include "common/layout/overflow_group.h"
#include "common/layout/record.h"
#include "common/layout/timestamp_vector.h"
#include "tools/namsim/cluster/cluster.h"
#include "tools/namsim/workloads/tables.h"

namespace namdb::sim {
namespace region_check_test {

using layout::HeaderWord;
using layout::Stamp;

constexpr std::int64_t kRows = 40;
constexpr int kUpdates = 9;

reactor::Task<Status> fill(compute::Worker* worker) {
  constexpr std::uint64_t kSizeHint_rows = 20;  // few buckets: chains grow
  const layout::Schema schema = bigints({"id", "value"});
  Status status = co_await create_table(*worker, "rows", schema, kSizeHint_rows, 4);
  if (!status.ok()) co_return status;
  auto table = co_await worker->table("rows");
  if (!table.ok()) co_return table.status();
  const auto session = worker->open_session();
  const auto inserting = worker->begin(*session);
  for (std::int64_t id = 0; id < kRows; ++id) {
    layout::Row row((*table)->schema);
    status = row.writer().set_integer(0, id);
    if (!status.ok()) co_return status;
    inserting->insert(*table, row.bytes());
  }
  status = co_await inserting->fetch();
  if (status.ok()) status = co_await inserting->commit();
  for (int i = 0; i < kUpdates && status.ok();) {
    const auto transaction = worker->begin(*session);
    const layout::Key key = std::move(layout::Key((*table)->schema).integer(i < kUpdates - 1 ? 3 : 5));
    const txn::RowId row = transaction->get(*table, key.bytes());
    status = co_await transaction->fetch();
    if (status.ok()) status = transaction->update(row).set_integer(1, i);
    if (status.ok()) status = co_await transaction->commit();
    if (status.ok()) ++i;
    if (status.ok() || !status.info().retry) continue;
    co_await worker->backoff(1);
    status = {};
  }
  co_return status;
}

// One memory server with the table "rows"; the row with id 3 has versions in the overflow region,
// since nothing is collected, the one with id 5 in its ring.
struct AtRest {
  fabric::sim::SimWorld world{7};
  Cluster cluster;
  const memory::MemoryServer* server;
  memory::TablePointer table;

  static ClusterOptions options() {
    ClusterOptions options;
    options.region_bytes = 4U << 20;
    options.memory.extent_bytes = 64U << 10;
    options.memory.journal_bytes = 64U << 10;
    options.memory.collect_by_acknowledgement = false;
    options.memory.growth_percent = 1000;  // chains stay long
    return options;
  }
  explicit AtRest(const ClusterOptions& cluster_options = options()) : cluster(world, cluster_options) {
    cluster.add_compute();
    REQUIRE(world.run(cluster.node(0), fill(&cluster.worker(0))).ok());
    REQUIRE(cluster.stop_compute(0, 10 * kSecond_ns));
    REQUIRE(cluster.check_at_rest(10 * kSecond_ns) == "");
    server = cluster.memory(0).server.get();
    table = server->tables().find(1);
    REQUIRE(table);
  }

  const memory::Region& region() const { return server->region(); }
  const memory::Slot& slot() const { return server->slots()->active().begin()->second; }
  const layout::RecordLayout& shape() const { return table->shape.record; }
  // The record whose row was updated.
  std::uint64_t busy_record() const {
    std::uint64_t record = table->records.next_used(0);
    while (record != 0 && region().load(record + layout::overflow_head_offset(shape())) == 0)
      record = table->records.next_used(record);
    REQUIRE(record != 0);
    return record;
  }
  // A record whose body displaced a version that is in the ring alone, and where that version is.
  std::uint64_t ring_record(std::uint64_t* payload = nullptr) const {
    for (std::uint64_t record = table->records.next_used(0); record != 0;
         record = table->records.next_used(record)) {
      std::vector<std::byte> body(shape().body_bytes());
      region().read(record + 8, body);
      const layout::BodyHeader header = layout::decode_body_header(body.data());
      if (header.birth() ||
          HeaderWord(region().load(record + shape().ring_header_offset(header.ring_slot))).moved())
        continue;
      if (payload != nullptr) *payload = record + shape().ring_payload_offset(header.ring_slot);
      return record;
    }
    FAIL("no version is in a ring");
    return 0;
  }
  // Where the newest version in the overflow region lies.
  std::uint64_t overflow_head() const {
    return layout::OverflowLink(region().load(busy_record() + layout::overflow_head_offset(shape()))).entry();
  }
  // A main bucket that leads to another bucket and has an entry.
  std::uint64_t long_bucket() const {
    for (std::uint64_t i = 0; i < table->shape.buckets_per_server; ++i) {
      const std::uint64_t offset = table->main.array.bucket_offset(i);
      if (bucket(offset).next_offset != 0) return offset;
    }
    FAIL("no chain has grown");
    return 0;
  }
  layout::Bucket bucket(std::uint64_t offset) const {
    layout::Bucket bucket{};
    region().read(offset, std::as_writable_bytes(std::span(&bucket, 1)));
    return bucket;
  }
  void change_bucket(std::uint64_t offset, const std::function<void(layout::Bucket&)>& change) const {
    layout::Bucket changed = bucket(offset);
    change(changed);
    changed.seal(region().address(offset));
    region().write(offset, std::as_bytes(std::span(&changed, 1)));
  }
  void change_body(std::uint64_t record, const std::function<void(layout::BodyHeader&)>& change) const {
    std::vector<std::byte> body(shape().body_bytes());
    region().read(record + 8, body);
    layout::BodyHeader header = layout::decode_body_header(body.data());
    change(header);
    layout::seal_body(body, region().address(record), header);
    region().write(record + 8, body);
  }
  void flip(std::uint64_t offset) const { region().store(offset, region().load(offset) ^ 0x10000); }
};

struct Damage {
  const char* name;
  std::function<void(const AtRest&)> damage;
  const char* finding;  // some sentence has this
};

const std::vector<Damage>& damages() {
  static const std::vector<Damage> all{
      {"the map", [](const AtRest& at) { at.flip(16); }, "does not certify"},
      {"the catalog's version", [](const AtRest& at) { at.flip(at.region().catalog_version_offset()); },
       "is not that of the catalog"},
      {"a slot's word",
       [](const AtRest& at) { at.region().set_vector_word(0, Stamp{layout::kFirstLeasedSlot, 1}); },
       "its final counter"},
      {"a word of nobody", [](const AtRest& at) { at.region().set_vector_word(20, Stamp{999, 1}); },
       "which nobody knows"},
      {"a chain's lock",
       [](const AtRest& at) {
         at.region().store(at.long_bucket(), HeaderWord(Stamp{16, 3}, false, true).value());
       },
       "is still locked by commit ⟨16, 3⟩"},
      {"a bucket", [](const AtRest& at) { at.flip(at.long_bucket() + 32); }, "does not certify"},
      {"a bucket's generation",
       [](const AtRest& at) {
         at.change_bucket(at.long_bucket(), [](layout::Bucket& bucket) { ++bucket.generation; });
       },
       "generation 2"},
      {"a chain that ends too soon",
       [](const AtRest& at) {
         at.change_bucket(at.long_bucket(), [](layout::Bucket& bucket) { bucket.next_offset = 0; });
       },
       "was written, is not linked and waits for nothing"},
      {"a chain that leads into itself",
       [](const AtRest& at) {
         const std::uint64_t next = at.bucket(at.long_bucket()).next_offset;
         at.change_bucket(next, [next](layout::Bucket& bucket) { bucket.next_offset = next; });
       },
       "is reached twice"},
      {"an entry to nowhere",
       [](const AtRest& at) {
         at.change_bucket(at.long_bucket(), [](layout::Bucket& bucket) { bucket.entries[0].location += 8; });
       },
       "where no record is"},
      {"an entry twice",
       [](const AtRest& at) {
         at.change_bucket(at.long_bucket(),
                          [](layout::Bucket& bucket) { bucket.entries[1] = bucket.entries[0]; });
       },
       "is linked twice"},
      {"an entry's incarnation",
       [](const AtRest& at) {
         at.change_bucket(at.long_bucket(), [](layout::Bucket& bucket) {
           bucket.entries[0].location ^= std::uint64_t{1} << 48;
         });
       },
       "as incarnation"},
      {"an entry's hash",
       [](const AtRest& at) {
         at.change_bucket(at.long_bucket(), [](layout::Bucket& bucket) { ++bucket.entries[0].key_hash; });
       },
       "another key hash"},
      {"a record in another chain",
       [](const AtRest& at) {
         const std::uint64_t from = at.long_bucket();
         const std::uint64_t first = at.table->main.array.base_offset;
         const layout::BucketEntry entry = at.bucket(from).entries[0];
         const std::uint64_t to = from == first ? from + layout::kBucket_bytes : first;
         at.change_bucket(from, [](layout::Bucket& bucket) { bucket.entries[0] = {}; });
         at.change_bucket(to, [&](layout::Bucket& bucket) { bucket.entries[9] = entry; });
       },
       "in the wrong bucket chain"},
      {"a header word",
       [](const AtRest& at) {
         at.region().store(at.busy_record(), HeaderWord(Stamp{16, 2}, false, true).value());
       },
       "is still locked by commit ⟨16, 2⟩"},
      {"a header word of another commit",
       [](const AtRest& at) { at.region().store(at.busy_record(), HeaderWord(Stamp{16, 1}).value()); },
       "has a header of commit"},
      {"a body", [](const AtRest& at) { at.flip(at.busy_record() + 8 + layout::kBodyPrefix_bytes); },
       "a record that does not certify"},
      {"a body of a commit that was never published",
       [](const AtRest& at) {
         at.change_body(at.busy_record(), [](layout::BodyHeader& header) { header.stamp = {16, 99}; });
       },
       "which is not published"},
      {"a body of another table",
       [](const AtRest& at) {
         at.change_body(at.busy_record(), [](layout::BodyHeader& header) { header.table = 9; });
       },
       "a record of table 9"},
      {"a body of an earlier life of its place",
       [](const AtRest& at) {
         // The entry's 16 bits of the incarnation stay right.
         at.change_body(at.busy_record(), [](layout::BodyHeader& header) { header.incarnation ^= 0x10000; });
       },
       "its place was granted last as"},
      {"a version in the ring",
       [](const AtRest& at) {
         std::uint64_t payload = 0;
         at.ring_record(&payload);
         at.flip(payload + layout::kBodyPrefix_bytes);
       },
       "does not certify"},
      {"a ring slot that nothing leads to",
       [](const AtRest& at) {
         at.change_body(at.ring_record(),
                        [](layout::BodyHeader& header) { header.displaced = HeaderWord(); });
       },
       "no writer can ever take it"},
      {"a version in the overflow region",
       [](const AtRest& at) { at.flip(at.overflow_head() + layout::kOverflowBody_offset + 24); },
       "does not certify"},
      {"an overflow chain without its newest entry",
       [](const AtRest& at) {
         const std::uint64_t older = at.region().load(at.overflow_head() + layout::kOverflowNext_offset);
         REQUIRE(older != 0);
         at.region().store(at.busy_record() + layout::overflow_head_offset(at.shape()), older);
       },
       "the version before it"},
      {"an overflow chain that is cut",
       [](const AtRest& at) { at.region().store(at.overflow_head() + layout::kOverflowNext_offset, 0); },
       "is reached from no record"},
      {"a reserved record that was written",
       [](const AtRest& at) {
         at.change_bucket(at.long_bucket(), [](layout::Bucket& bucket) { bucket.entries[0] = {}; });
       },
       "was written, is not linked and waits for nothing"},
  };
  return all;
}

TEST_CASE("each damage of a region at rest is a finding", "[region]") {
  for (const Damage& damage : damages()) {
    const AtRest at;
    damage.damage(at);
    std::string found;
    for (const std::string& sentence : check_regions({at.server})) found += sentence + "\n";
    INFO(damage.name << ":\n" << found);
    CHECK(found.find(damage.finding) != std::string::npos);
  }
}

TEST_CASE("a reader's word that its owner has not given back is a finding", "[region]") {
  ClusterOptions options = AtRest::options();
  options.memory.protocol = "nowait";
  options.memory.shared_read_locks = true;
  const AtRest at(options);
  const std::uint64_t word = at.table->records.next_used(0) + at.shape().reader_offset(1);
  REQUIRE(at.region().load(word) == 0);
  const std::uint32_t slot = at.server->slots()->active().begin()->first;
  at.region().store(word, HeaderWord(Stamp{slot, 5}, false, true).value());
  const std::vector<std::string> found = check_regions({at.server});
  REQUIRE(found.size() == 1);
  CHECK(found[0].ends_with("has a reader of slot " + std::to_string(slot) + ", which its owner closed"));
}

TEST_CASE("a key that stands in a table twice is a finding", "[region]") {
  const AtRest at;
  // Another record gets the image of the first one's row.
  const std::uint64_t first = at.table->records.next_used(0);
  const std::uint64_t second = at.table->records.next_used(first);
  std::vector<std::byte> body(at.shape().body_bytes());
  at.region().read(first + 8, body);
  const layout::BodyHeader header = layout::decode_body_header(body.data());
  layout::seal_body(body, at.region().address(second), header);
  at.region().write(second + 8, body);
  at.region().store(second, header.header_word().value());
  std::string found;
  for (const std::string& sentence : check_regions({at.server})) found += sentence + "\n";
  INFO(found);
  CHECK(found.find("have one key") != std::string::npos);
}

TEST_CASE("memory that is taken twice or by nothing is a finding", "[region]") {
  const AtRest at;
  auto& blocks = const_cast<memory::Region&>(at.region()).blocks();
  const auto lost = blocks.allocate(at.table->main.block_bytes);
  REQUIRE(lost);
  std::vector<std::string> found = check_regions({at.server});
  REQUIRE(found.size() == 2);
  CHECK(found[0].ends_with("is taken and belongs to nothing"));
  CHECK(found[1].find("memory adds up to") != std::string::npos);
  blocks.free(at.table->main.array.base_offset, at.table->main.block_bytes);
  found = check_regions({at.server});
  REQUIRE(found.size() == 2);
  CHECK(found[0].ends_with("main buckets and counts as free"));
}

}  // namespace region_check_test
}  // namespace namdb::sim
