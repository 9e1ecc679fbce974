// Regions whose servers have lost all but the bodies of their records are rebuilt from these and the catalog,
// and the checker of regions finds them whole: every row, every index entry, and nothing else.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/layout/record.h"
#include "common/protocols/protocol.h"
#include "compute/api/transaction.h"
#include "memory/recovery/derived_state.h"
#include "memory/recovery/index_rebuild.h"
#include "proto/control.pb.h"
#include "tools/namsim/checks/region_check.h"
#include "tools/namsim/cluster/cluster.h"
#include "tools/namsim/testing/eager_cluster.h"
#include "tools/namsim/workloads/tables.h"

namespace namdb::sim {
namespace rebuild_test {

constexpr const char* kTable = "things";
constexpr std::uint64_t kPatience_ns = 60 * kSecond_ns;

// Inserts, updates, deletes and inserts again; one transaction each.
reactor::Task<Status> change_rows(compute::Worker* worker, std::uint64_t seed, int changes) {
  Random random(seed);
  const auto session = worker->open_session();
  for (int i = 0; i < changes; ++i) {
    const auto table = co_await worker->table(kTable);
    if (!table.ok()) co_return table.status();
    const auto key = static_cast<std::int64_t>(random.below(400));
    const auto value = static_cast<std::int64_t>(random.below(100));
    const auto transaction = worker->begin(*session);
    const txn::RowId row = transaction->get(*table, key_of((*table)->schema, key).bytes());
    Status status = co_await transaction->fetch();
    if (status.ok() && !transaction->found(row)) {
      layout::Row fresh((*table)->schema);
      NAMDB_CHECK(fresh.writer().set_integer(0, key).ok() && fresh.writer().set_integer(1, value).ok() &&
                  fresh.writer().set_integer(2, 1000 + key).ok());
      transaction->insert(*table, fresh.bytes());
      status = co_await transaction->fetch();
    } else if (status.ok() && random.chance(0.3)) {
      transaction->erase(row);
    } else if (status.ok()) {
      status = transaction->update(row).set_integer(1, value);
    }
    if (status.ok()) status = co_await transaction->commit();
    if (!status.ok() && !status.info().retry) co_return status;
  }
  co_return Status();
}

struct RebuildSubject {
  RebuildSubject(std::string_view protocol, std::uint32_t memory_servers, std::uint64_t seed)
      : world(seed), cluster(world, eager_cluster(protocol, memory_servers)) {
    cluster.add_compute();
    REQUIRE(run(create_table(worker(), kTable, bigints({"id", "number", "code"}), 50, 0)).ok());
    REQUIRE(run(create_table(worker(), "empty", bigints({"id"}), 50, 0)).ok());
    REQUIRE(run(change_rows(&worker(), seed, 150)).ok());
    create_index({"by_number", kTable, {{1, true}}});
    create_index({"by_code", kTable, {{2, false}}, true});
    create_index({"hashed", kTable, {{1, false}}, false, true});
    create_index({"hashed_code", kTable, {{2, false}}, true, true});
    REQUIRE(run(change_rows(&worker(), seed + 1, 500)).ok());
  }
  compute::Worker& worker() { return cluster.worker(0); }
  Status run(reactor::Task<Status> task) { return world.run(cluster.node(0), std::move(task)); }
  void create_index(txn::IndexDefinition definition) {
    const Status status = run(worker().create_index(std::move(definition)));
    INFO(status.to_string());
    REQUIRE(status.ok());
  }
  memory::MemoryServer& server(std::uint32_t i) { return *cluster.memory(i).server; }
  std::uint32_t servers() const { return cluster.options().memory_servers; }
  std::vector<const memory::MemoryServer*> all() {
    std::vector<const memory::MemoryServer*> all;
    for (std::uint32_t i = 0; i < servers(); ++i) all.push_back(&server(i));
    return all;
  }
  std::vector<control::IndexDescriptor> indexes() {
    std::vector<control::IndexDescriptor> indexes;
    for (const auto& [name, index] : server(0).catalog()->indexes()) indexes.push_back(index);
    return indexes;
  }

  fabric::sim::SimWorld world;
  Cluster cluster;
};

std::string no_findings(const std::vector<std::string>& findings) {
  std::string lines;
  for (const std::string& finding : findings) lines += finding + "\n";
  return lines;
}

// The rows that are not deleted, by table and server: place and payload. Bodies of timestamp protocols are
// sealed anew, but not their rows.
using Rows = std::map<std::pair<std::uint32_t, std::uint64_t>, std::string>;
Rows rows_of(const memory::MemoryServer& server) {
  Rows rows;
  for (const auto& [id, table] : server.tables().all()) {
    if (table->discarded) continue;
    std::vector<std::byte> body(table->shape.record.body_bytes());
    for (std::uint64_t place = table->records.next_used(0); place != 0;
         place = table->records.next_used(place)) {
      server.region().read(place + 8, body);
      if (!layout::certify_body(body, server.region().address(place))) continue;
      if (layout::decode_body_header(body.data()).deleted) continue;
      rows[{id, place}] = std::string(reinterpret_cast<const char*>(body.data()) + layout::kBodyPrefix_bytes,
                                      body.size() - layout::kBodyPrefix_bytes);
    }
  }
  return rows;
}

std::set<std::string> keys_of(const memory::BTree& tree) {
  std::set<std::string> keys;
  tree.scan({}, {}, false, [&](std::string_view key) {
    keys.emplace(key);
    return true;
  });
  return keys;
}

// Leaves the bodies of the tables' records in place, and nothing else of tables and indexes.
void strip(RebuildSubject& subject, std::uint32_t server) {
  memory::ServerState& parts = subject.server(server).parts();
  memory::Region& region = *parts.region;
  std::vector<std::uint32_t> indexes;
  for (const auto& [id, index] : parts.indexes.all()) indexes.push_back(id);
  for (const std::uint32_t id : indexes) {
    parts.indexes.discard(id);
    REQUIRE(subject.world.run(*subject.cluster.memory(server).node, parts.indexes.release(id)));
  }
  for (const auto& [id, table] : parts.tables.all()) {
    REQUIRE_FALSE(table->next.has_value());
    for (std::uint64_t place = table->records.next_used(0); place != 0;
         place = table->records.next_used(place)) {
      std::vector<std::byte> body(table->shape.record.body_bytes());
      region.read(place + 8, body);
      region.zero(place, table->shape.record.record_bytes());
      if (layout::certify_body(body, region.address(place))) region.write(place + 8, body);
    }
    for (const memory::MainBuckets& main : table->arrays()) {
      region.zero(main.array.base_offset, main.array.bytes());
      region.blocks().free(main.array.base_offset, main.block_bytes);
    }
    for (const memory::Block& block : table->indirect.blocks()) region.zero(block.offset, block.bytes);
    table->indirect.release_all();
    table->outgrown.clear();
    table->forwarded_indirect.clear();
    table->main = {};
    table->ready = false;
  }
}

reactor::Task<void> reopen(memory::ServerState* parts, std::vector<control::IndexDescriptor> indexes,
                           memory::IndexLoads* loads, memory::SendIndexLoad send,
                           memory::RecoveryProgress* progress, Status* status, int* done) {
  const memory::Recovery recovery{parts->executor, *parts->region, parts->options, *progress};
  const auto derived =
      co_await memory::rebuild_derived(recovery, parts->tables, parts->indexes, indexes, *loads, send, 1);
  *status = derived.status();
  ++*done;
}

void check_rebuild(RebuildSubject& subject) {
  const auto at_rest = [&] {
    for (std::uint32_t i = 0; i < subject.servers(); ++i) {
      const memory::ServerState& parts = subject.server(i).parts();
      if (!parts.old_versions.empty() || !parts.reclaimer.empty() || parts.overflow.used_bytes() != 0)
        return false;
      for (const auto& [id, table] : parts.tables.all()) {
        if (table->next.has_value()) return false;
      }
    }
    return true;
  };
  // Other servers than 0 learn from a living worker which old versions they may free.
  REQUIRE(subject.world.run_until(at_rest, kPatience_ns));
  REQUIRE(subject.cluster.stop_compute(0, kPatience_ns));
  REQUIRE(subject.cluster.check_at_rest(kPatience_ns).empty());
  const std::vector<control::IndexDescriptor> indexes = subject.indexes();
  std::vector<Rows> rows;
  std::map<std::uint32_t, std::set<std::string>> keys;
  for (std::uint32_t i = 0; i < subject.servers(); ++i) {
    rows.push_back(rows_of(subject.server(i)));
    for (const auto& [id, index] : subject.server(i).indexes().all()) keys[id].merge(keys_of(*index->tree));
    strip(subject, i);
  }

  std::vector<std::unique_ptr<memory::IndexLoads>> loads;
  std::vector<memory::RecoveryProgress> progress(subject.servers());
  for (std::uint32_t i = 0; i < subject.servers(); ++i)
    loads.push_back(
        std::make_unique<memory::IndexLoads>(subject.server(i).parts().executor, i, subject.servers()));
  struct Delivery {
    static reactor::Task<Status> deliver(memory::IndexLoads* to, std::string request) {
      co_return to->receive(request);
    }
  };
  const memory::SendIndexLoad send = [&loads](layout::ServerId to, std::string request) {
    return Delivery::deliver(loads[to].get(), std::move(request));
  };
  reactor::Gate gate;
  int done = 0;
  std::vector<Status> opened(subject.servers());
  for (std::uint32_t i = 0; i < subject.servers(); ++i)
    subject.cluster.memory(i).node->spawn(gate, reopen(&subject.server(i).parts(), indexes, loads[i].get(),
                                                       send, &progress[i], &opened[i], &done));
  REQUIRE(subject.world.run_until([&] { return done == static_cast<int>(subject.servers()); }, kPatience_ns));

  std::map<std::uint32_t, std::set<std::string>> again;
  memory::Catalog& catalog = *subject.server(0).parts().catalog;
  std::uint64_t live = 0;
  for (std::uint32_t i = 0; i < subject.servers(); ++i) {
    INFO("server " << i << ": " << opened[i].to_string());
    REQUIRE(opened[i].ok());
    CHECK(rows_of(subject.server(i)) == rows[i]);
    for (const auto& [id, table] : subject.server(i).tables().all()) {
      REQUIRE(catalog.reopen(i, id, table->main.array.base_offset, table->doublings()).ok());
      if (table->shape.name == kTable) live += table->records.used_count();
    }
    for (const auto& [id, index] : subject.server(i).indexes().all()) again[id].merge(keys_of(*index->tree));
  }
  CHECK(live > 100);
  REQUIRE(again.size() == 2);
  for (const auto& [id, found] : again) {
    CHECK(found.size() == live);
    CHECK(std::ranges::includes(keys[id], found));
  }
  CHECK(no_findings(check_regions(subject.all())) == "");
}

TEST_CASE("a region is rebuilt from the bodies of its records, under every protocol", "[rebuild]") {
  for (const protocol::ProtocolTraits& protocol : protocol::protocol_traits()) {
    const bool is_default = protocol.name == protocol::kDefaultProtocol;
    for (const std::uint32_t servers :
         is_default ? std::vector<std::uint32_t>{1, 3} : std::vector<std::uint32_t>{2}) {
      INFO(protocol.name << ", " << servers << " servers");
      RebuildSubject subject(protocol.name, servers, 5);
      check_rebuild(subject);
    }
  }
}

}  // namespace rebuild_test
}  // namespace namdb::sim
