// Tables and indexes are made anew from the bodies of their rows, and hold these and nothing else.
#include "memory/recovery/table_rebuild.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "common/layout/bucket.h"
#include "common/layout/index_key.h"
#include "common/layout/placement.h"
#include "common/layout/row.h"
#include "common/layout/timestamp_floors.h"
#include "memory/index/indexes.h"
#include "memory/peers/version_epoch.h"
#include "memory/recovery/derived_state.h"
#include "memory/recovery/index_rebuild.h"
#include "memory/testing/test_cluster.h"

namespace namdb::memory {
namespace table_rebuild_test {

control::TableDescriptor numbers_table(std::uint32_t id, std::uint64_t buckets = 4) {
  control::TableDescriptor table = testing::accounts("t" + std::to_string(id), buckets);
  table.set_id(id);
  table.set_generation(3);
  return table;
}

// A memory server's region that is being opened.
struct OpeningServer {
  explicit OpeningServer(fabric::sim::SimWorld& simulation, std::uint16_t id = 0, std::uint16_t count = 1,
                         std::uint64_t region_bytes = 4U << 20)
      : world(simulation),
        node(world.add_node("m" + std::to_string(id))),
        memory(region_bytes / 8),
        loads(node, id, count) {
    options.server_id = id;
    options.server_count = count;
    options.index_page_bytes = 512;
    region = std::move(*Region::create(std::as_writable_bytes(std::span(memory)), options, 1));
    tables = std::make_unique<Tables>(node, *region, options);
    indexes = std::make_unique<Indexes>(node, *region, options, *tables, epoch);
  }
  Recovery recovery() { return {node, *region, options, progress}; }
  TablePointer restore(const control::TableDescriptor& table) {
    auto restored = tables->restore(table);
    REQUIRE(restored.ok());
    return *restored;
  }
  // A body in a new place; its offset.
  std::uint64_t put(Table& table, std::int64_t key, std::int64_t value, bool deleted = false,
                    std::uint64_t displaced = 0, std::uint32_t ring_slot = 0) {
    const std::uint64_t place = *table.records.allocate(*region->grants().next());
    const std::span<std::byte> body(region->at(place + 8), table.shape.record.body_bytes());
    layout::RowWriter writer(table.shape.schema, layout::body_payload(body));
    REQUIRE(writer.set_integer(0, key).ok());
    REQUIRE(writer.set_integer(1, value).ok());
    layout::seal_body(body, region->address(place),
                      {.stamp = {20, static_cast<std::uint32_t>(place)},
                       .deleted = deleted,
                       .displaced = layout::HeaderWord(displaced),
                       .table = table.shape.id,
                       .incarnation = static_cast<std::uint32_t>(place / 8),
                       .ring_slot = ring_slot});
    return place;
  }
  Result<TableContents> rebuild(TablePointer table) {
    return world.run(node, rebuild_table(recovery(), table));
  }
  std::uint64_t hash_of(const Table& table, std::int64_t key) const {
    return layout::row_hash(table.shape.id, table.shape.schema, std::as_bytes(std::span(&key, 1)),
                            options.server_count);
  }
  // Places by hash, of all entries; each bucket is certified, in its chain, and reached once.
  std::multimap<std::uint64_t, std::uint64_t> entries(const Table& table) const {
    std::multimap<std::uint64_t, std::uint64_t> found;
    std::set<std::uint64_t> reached;
    for (std::uint64_t i = 0; i < table.main.array.bucket_count; ++i) {
      std::uint64_t offset = table.main.array.bucket_offset(i);
      REQUIRE(region->load(offset) == 0);
      while (offset != 0) {
        REQUIRE(table.is_bucket(offset));
        REQUIRE(reached.insert(offset).second);
        layout::Bucket bucket;
        region->read(offset, std::as_writable_bytes(std::span(&bucket, 1)));
        REQUIRE(bucket.certified(region->address(offset)));
        REQUIRE(bucket.table == table.shape.id);
        REQUIRE(bucket.generation == table.main.array.generation);
        for (const layout::BucketEntry& entry : bucket.entries) {
          if (entry.free()) continue;
          REQUIRE(table.main.array.index_of(entry.key_hash, options.server_count) == i);
          const auto header = layout::decode_body_header(region->at(entry.offset() + 8));
          REQUIRE(entry.incarnation() == static_cast<std::uint16_t>(header.incarnation));
          found.emplace(entry.key_hash, entry.offset());
        }
        offset = bucket.next_offset;
      }
    }
    REQUIRE(reached.size() == table.main.array.bucket_count + table.indirect.used_count());
    return found;
  }

  fabric::sim::SimWorld& world;
  fabric::sim::SimNode& node;
  Options options = testing::small_options();
  std::vector<std::uint64_t> memory;
  std::unique_ptr<Region> region;
  std::unique_ptr<Tables> tables;
  VersionEpoch epoch;
  std::unique_ptr<Indexes> indexes;
  RecoveryProgress progress;
  IndexLoads loads;
};

std::vector<std::string> keys_of(const BTree& tree) {
  std::vector<std::string> keys;
  tree.scan({}, {}, false, [&](std::string_view key) {
    keys.emplace_back(key);
    return true;
  });
  return keys;
}

TEST_CASE("a table is rebuilt with all its rows, framed and linked once, and its other places free",
          "[recovery]") {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    INFO("seed " << seed);
    Random random(seed);
    fabric::sim::SimWorld world(seed);
    OpeningServer server(world);
    const TablePointer table = server.restore(numbers_table(5, 1 + random.below(8)));
    std::map<std::int64_t, std::uint64_t> rows;
    std::uint64_t others = 0;
    for (std::uint64_t i = random.below(1500); i > 0; --i) {
      const std::uint64_t kind = random.below(10);
      const auto key = static_cast<std::int64_t>(i);
      others += kind <= 1 ? 1 : 0;
      if (kind == 0) {
        REQUIRE(table->records.allocate(*server.region->grants().next()));  // and never written
      } else if (kind == 1) {
        server.put(*table, key, 1, true);
      } else {
        rows[key] = server.put(*table, key, 1, false, 4711, 2);
      }
    }
    const auto contents = server.rebuild(table);
    REQUIRE(contents.ok());
    CHECK(contents->rows == rows.size());
    CHECK(contents->freed == others);
    CHECK(table->records.used_count() == rows.size());
    CHECK(server.tables->find(5) == table);
    CHECK(table->main.array.bucket_count * 3 * layout::kBucketEntries >= 4 * rows.size());
    CHECK(table->doublings() == doublings_for(rows.size(), table->shape.buckets_per_server));
    const auto entries = server.entries(*table);
    REQUIRE(entries.size() == rows.size());
    const layout::RecordLayout& shape = table->shape.record;
    for (const auto& [key, place] : rows) {
      const auto entry = entries.find(server.hash_of(*table, key));
      REQUIRE(entry != entries.end());
      REQUIRE(entry->second == place);
      const auto header = layout::decode_body_header(server.region->at(place + 8));
      REQUIRE(server.region->load(place) == header.header_word().value());
      REQUIRE(server.region->load(place + shape.trailer_offset()) == 0);
      for (std::uint32_t i = 0; i < shape.ring_slots; ++i)
        REQUIRE(layout::HeaderWord(server.region->load(place + shape.ring_header_offset(i))).moved());
    }
    CHECK(server.progress.rows == rows.size());
    CHECK(server.progress.text().find(std::to_string(rows.size()) + " rows") != std::string::npos);
  }
}

TEST_CASE("a body that does not certify, or is another table's, is named and the table does not open",
          "[recovery]") {
  for (const bool damaged : {false, true}) {
    fabric::sim::SimWorld world(1);
    OpeningServer server(world);
    const TablePointer table = server.restore(numbers_table(5));
    server.put(*table, 1, 1);
    const std::uint64_t place = server.put(*table, 2, 2);
    if (damaged) {
      server.region->store(place + 48, 77);
    } else {
      const std::span<std::byte> body(server.region->at(place + 8), table->shape.record.body_bytes());
      layout::seal_body(body, server.region->address(place), {.stamp = {20, 1}, .table = 6});
    }
    const Status status = server.rebuild(table).status();
    CHECK(status.code() == ErrorCode::corrupt_data);
    CHECK(status.message().find("record at " + std::to_string(place) + " of memory server 0") !=
          std::string::npos);
    CHECK(server.tables->find(5) == nullptr);
  }
}

TEST_CASE("a region without room for the buckets refuses to open and keeps its memory", "[recovery]") {
  fabric::sim::SimWorld world(1);
  OpeningServer server(world, 0, 1, 1U << 20);
  const TablePointer table = server.restore(numbers_table(5, 1));
  for (std::int64_t key = 0; key < 400; ++key) server.put(*table, key, 0);
  const std::uint64_t before = server.region->blocks().free_bytes();
  std::vector<Block> taken;
  while (const auto block = server.region->blocks().allocate(4096)) taken.push_back(*block);
  const Status status = server.rebuild(table).status();
  CHECK(status.code() == ErrorCode::out_of_memory);
  CHECK(server.tables->find(5) == nullptr);
  for (const Block& block : taken) server.region->blocks().free(block.offset, block.bytes);
  CHECK(server.region->blocks().free_bytes() == before);
  REQUIRE(server.rebuild(table).ok());
  CHECK(server.entries(*table).size() == 400);
}

TEST_CASE("a table or an index that is being made when the server is told to stop is given up within a step",
          "[recovery]") {
  constexpr std::int64_t kRows = 120;
  fabric::sim::SimWorld world(1);
  OpeningServer server(world);
  const TablePointer table = server.restore(numbers_table(5));
  for (std::int64_t key = 0; key < kRows; ++key) server.put(*table, key, key);
  const std::uint64_t before = server.region->blocks().free_bytes();
  int asked = 0;
  int patience = 0;
  Recovery recovery = server.recovery();
  recovery.stopping = [&] { return ++asked > patience; };
  const auto is_given_up = [&](const Status& status) {
    if (status.ok()) return false;
    CHECK(status.code() == ErrorCode::admin_shutdown);
    CHECK(asked == patience + 1);
    asked = 0;
    ++patience;
    return true;
  };
  while (is_given_up(world.run(server.node, rebuild_table(recovery, table)).status())) {
    CHECK(server.tables->find(5) == nullptr);
    CHECK(server.region->blocks().free_bytes() == before);
  }
  // Rows are framed, and come into buckets.
  const int steps = static_cast<int>(kRows / server.options.step_units);
  CHECK(patience >= 2 * steps);
  CHECK(server.entries(*table).size() == kRows);

  control::IndexDescriptor index;
  index.set_id(9);
  index.set_name("by_value");
  index.set_table(5);
  index.set_page_bytes(512);
  index.add_columns()->set_column(1);
  index.add_parts()->set_server(0);
  asked = patience = 0;
  const auto make_index = [&] {
    SendIndexLoad nobody;
    return world.run(server.node, rebuild_indexes(recovery, *server.tables, *server.indexes, {index},
                                                  server.loads, std::move(nobody), {0}));
  };
  while (is_given_up(make_index())) CHECK(server.indexes->find(9) == nullptr);
  CHECK(patience >= 2 * steps);
  CHECK(keys_of(*server.indexes->find(9)->tree).size() == kRows);
}

TEST_CASE("the floors of timestamps lie behind every version, also those of deleted rows", "[recovery]") {
  fabric::sim::SimWorld world(1);
  OpeningServer server(world);
  control::TableDescriptor descriptor = numbers_table(5);
  descriptor.set_timestamps(true);
  const TablePointer table = server.restore(descriptor);
  const std::uint64_t place = server.put(*table, 1, 1, false, 500, 1);
  server.put(*table, 2, 2, true, 900);
  server.put(*table, 3, 3, false, 700, layout::kNoRingSlot);
  const SendIndexLoad nobody;
  const auto derived = world.run(server.node, rebuild_derived(server.recovery(), *server.tables,
                                                              *server.indexes, {}, server.loads, nobody, 10));
  REQUIRE(derived.ok());
  CHECK(derived->largest_timestamp == 900);
  for (std::size_t i = 0; i <= layout::kTimestampFloors; ++i)
    CHECK(server.region->load(layout::timestamp_floor_offset(i)) == 910);
  // Its older versions are gone, and nothing leads to them.
  const std::span<const std::byte> body(server.region->at(place + 8), table->shape.record.body_bytes());
  CHECK(layout::certify_body(body, server.region->address(place)));
  CHECK(layout::decode_body_header(body.data()).ring_slot == layout::kNoRingSlot);
  CHECK(layout::decode_body_header(body.data()).timestamp() == 500);
}

TEST_CASE("indexes in parts on several servers get exactly the keys of all servers' rows", "[recovery]") {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    for (const std::uint16_t count : {1, 3}) {
      INFO("seed " << seed << ", servers " << count);
      Random random(seed);
      fabric::sim::SimWorld world(seed);
      std::vector<std::unique_ptr<OpeningServer>> servers;
      for (std::uint16_t i = 0; i < count; ++i)
        servers.push_back(std::make_unique<OpeningServer>(world, i, count));
      for (const auto& server : servers) server->restore(numbers_table(5));
      control::IndexDescriptor index;
      index.set_id(9);
      index.set_name("by_value");
      index.set_table(5);
      index.set_unique(random.chance(0.5));
      index.set_page_bytes(512);
      index.add_columns()->set_column(1);
      const auto& schema = (*servers[0]->tables->all().begin()).second->shape.schema;
      const auto shape = layout::IndexShape::create(schema, {{1, false}});
      for (std::uint16_t i = 0; i < count; ++i) {
        control::IndexPart& part = *index.add_parts();
        part.set_server((i + 1U) % count);  // not in the order of the servers
        if (i > 0) part.set_low(std::string(layout::IndexPrefix(*shape).integer(300 * i).integer(5).bytes()));
      }
      std::vector<std::set<std::string>> expected(count);
      for (std::int64_t key = 0; key < 700; ++key) {
        // One key is the first of a part.
        const auto value = key == 5 ? 300 : static_cast<std::int64_t>(random.below(1000));
        const Table& any = *servers[0]->tables->all().begin()->second;
        const auto owner = layout::bucket_index(servers[0]->hash_of(any, key), count);
        OpeningServer& server = *servers[owner];
        Table& table = *server.tables->all().begin()->second;
        const bool deleted = key != 5 && random.chance(0.1);
        const std::uint64_t place = server.put(table, key, value, deleted);
        if (deleted) continue;
        const layout::RowView row(table.shape.schema,
                                  layout::body_payload(std::span<const std::byte>(
                                      server.region->at(place + 8), table.shape.record.body_bytes())));
        const std::string bytes = layout::index_key(*shape, row).bytes;
        for (std::uint16_t i = 0; i < count; ++i) {
          if (part_of(index, i)->covers(bytes)) expected[i].insert(bytes);
        }
      }
      struct Opening {
        static reactor::Task<void> open(OpeningServer* server, std::vector<control::IndexDescriptor> indexes,
                                        SendIndexLoad send, int* opened) {
          const auto derived = co_await rebuild_derived(server->recovery(), *server->tables, *server->indexes,
                                                        indexes, server->loads, send, 0);
          INFO(derived.status().to_string());
          REQUIRE(derived.ok());
          ++*opened;
        }
        static reactor::Task<Status> deliver(OpeningServer* to, std::string request) {
          // Any request may come twice.
          Status status = to->loads.receive(request);
          if (status.ok()) status = to->loads.receive(request);
          co_return status;
        }
      };
      reactor::Gate gate;
      int opened = 0;
      const SendIndexLoad send = [&servers](layout::ServerId to, std::string request) {
        return Opening::deliver(servers[to].get(), std::move(request));
      };
      const std::vector<control::IndexDescriptor> indexes{index};
      for (const auto& server : servers)
        server->node.spawn(gate, Opening::open(server.get(), indexes, send, &opened));
      REQUIRE(world.run_until([&] { return opened == count; }, kSecond_ns));
      for (std::uint16_t i = 0; i < count; ++i) {
        const IndexPointer rebuilt = servers[i]->indexes->find(9);
        REQUIRE(rebuilt != nullptr);
        CHECK_FALSE(rebuilt->building());
        REQUIRE(rebuilt->tree->check().empty());
        CHECK(keys_of(*rebuilt->tree) == std::vector<std::string>(expected[i].begin(), expected[i].end()));
      }
    }
  }
}

TEST_CASE("keys from other servers are outside input", "[recovery]") {
  fabric::sim::SimWorld world(1);
  fabric::sim::SimNode& node = world.add_node("m0");
  IndexLoads loads(node, 0, 3);
  CHECK(loads.receive("x").code() == ErrorCode::protocol_violation);
  CHECK(loads.receive(encode(calls::IndexLoad{0, 1, 0, true, {}})).code() == ErrorCode::protocol_violation);
  CHECK(loads.receive(encode(calls::IndexLoad{9, 0, 0, true, {}})).code() == ErrorCode::protocol_violation);
  CHECK(loads.receive(encode(calls::IndexLoad{9, 3, 0, true, {}})).code() == ErrorCode::protocol_violation);
  CHECK(loads.receive(encode(calls::IndexLoad{9, 1, 1, true, {}})).code() == ErrorCode::corrupt_data);
  CHECK(loads.receive(encode(calls::IndexLoad{9, 1, 0, true, {}, 77})).code() ==
        ErrorCode::cannot_connect_now);
  CHECK(loads.receive(encode(calls::IndexLoad{9, 1, 0, true, {}})).ok());
  CHECK(loads.receive(encode(calls::IndexLoad{9, 1, 1, true, {}})).code() == ErrorCode::corrupt_data);
  loads.stop();
  CHECK(world.run(node, loads.complete(9)).code() == ErrorCode::cannot_connect_now);
}

}  // namespace table_rebuild_test
}  // namespace namdb::memory
