// Compute servers that change the catalog at the same time, across restarts of memory server 0 and pauses:
// each knows the catalog as it is, table by table.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/random.h"
#include "compute/api/table_change.h"
#include "memory/coordinator/catalog.h"
#include "tools/namsim/testing/seeds.h"
#include "tools/namsim/testing/two_computes.h"

namespace namdb::sim {
namespace catalog_follow_test {

using storage::TableRef;

// Tables as a catalog describes them: id, definition's version, indexes.
using Described = std::map<std::string, std::string>;

std::string description(std::uint32_t id, std::uint64_t altered_version, std::vector<std::uint32_t> indexes) {
  std::ranges::sort(indexes);
  std::string text = std::to_string(id) + " altered " + std::to_string(altered_version) + " indexes";
  for (const std::uint32_t index : indexes) text += " " + std::to_string(index);
  return text;
}

Described as_known(const std::vector<TableRef>& tables) {
  Described described;
  for (const TableRef& table : tables) {
    std::vector<std::uint32_t> indexes;
    for (const storage::IndexRef& index : table->indexes) {
      if (!index->replaced()) indexes.push_back(index->id);
    }
    described[table->name] = description(table->id, table->altered_version, std::move(indexes));
  }
  return described;
}

Described as_is(const memory::Catalog& catalog) {
  Described described;
  for (const auto& [name, table] : catalog.tables()) {
    if (table.has_hash_index() || table.replaces() != 0) continue;
    std::vector<std::uint32_t> indexes;
    for (const auto& [index_name, index] : catalog.indexes()) {
      if (index.table() == table.id()) indexes.push_back(index.id());
    }
    for (const auto& [other_name, other] : catalog.tables()) {
      if (other.has_hash_index() && other.hash_index().table() == table.id()) indexes.push_back(other.id());
    }
    described[name] = description(table.id(), table.altered_version(), std::move(indexes));
  }
  return described;
}

struct Changes {
  bool stop = false;
  std::uint64_t made = 0;
  std::string mistake;
};

// The other compute server may have been first, and memory servers may be away.
Status without_expected(Status status) {
  if (status.info().retry) return {};
  for (const ErrorCode code :
       {ErrorCode::duplicate_table, ErrorCode::undefined_table, ErrorCode::undefined_object,
        ErrorCode::table_is_altered, ErrorCode::connection_failure, ErrorCode::cannot_connect_now,
        ErrorCode::transaction_timeout, ErrorCode::memory_server_restarted, ErrorCode::portal_not_ready,
        ErrorCode::catalog_changed}) {
    if (status.code() == code) return {};
  }
  return status;
}

// Names that both compute servers use: a table is dropped and made again under one name all the time.
reactor::Task<void> change_tables(compute::Worker* worker, std::uint64_t seed, Changes* changes) {
  Random random(seed);
  const layout::Schema schema = bigints({"id", "number"});
  while (!changes->stop) {
    const std::string name = "n" + std::to_string(random.below(6));
    const TableRef known = worker->cached_table(name);
    Status status;
    if (known == nullptr) {
      layout::Schema wanted = schema;
      status = co_await create_table(*worker, name, std::move(wanted), 8, 0);
    } else if (random.chance(0.4)) {
      std::string dropped = name;
      status = co_await worker->drop_table(std::move(dropped));
    } else if (random.chance(0.4)) {
      txn::TableAlteration alteration;
      alteration.table = known;
      alteration.name = random.chance(0.5) ? name : "n" + std::to_string(random.below(6));
      alteration.columns = known->schema.columns();
      status = co_await worker->alter_table(std::move(alteration));
    } else {
      txn::IndexDefinition definition;
      definition.name = "i" + std::to_string(random.below(4));
      definition.table = name;
      definition.columns = {{1, false}};
      definition.hash = random.chance(0.3);
      status = co_await worker->create_index(std::move(definition));
    }
    if (status.ok()) ++changes->made;
    if (!status.ok()) status = without_expected(std::move(status));
    if (!status.ok()) changes->mistake = status.to_string();
    co_await worker->executor().sleep_for(random.below(3) * kMillisecond_ns);
  }
}

void check_equal(TwoComputes& test) {
  for (std::size_t compute = 0; compute < 2; ++compute) {
    INFO("compute server " << compute);
    REQUIRE(test.world.run_until([&] { return test.worker(compute).ready(); }, kPatience_ns));
    const auto tables = test.run(compute, test.worker(compute).tables());
    REQUIRE(tables.ok());
    CHECK(as_known(*tables) == as_is(*test.cluster->memory(0).server->catalog()));
  }
}

struct Race {
  Race(TwoComputes& two, std::uint64_t seed) : test(two) {
    for (std::size_t compute = 0; compute < 2; ++compute) {
      test.cluster->node(compute).spawn(
          gate, change_tables(&test.worker(compute), seed * 2 + compute, &changes[compute]));
    }
  }
  void end() {
    for (Changes& each : changes) each.stop = true;
    REQUIRE(test.world.run_until([this] { return gate.count() == 0; }, 3 * kPatience_ns));
    for (const Changes& each : changes) {
      INFO(each.mistake);
      REQUIRE(each.mistake.empty());
    }
  }
  std::uint64_t made() const { return changes[0].made + changes[1].made; }

  TwoComputes& test;
  Changes changes[2];
  reactor::Gate gate;
};

TEST_CASE("two compute servers that change tables and indexes at the same time know the same catalog",
          "[catalog]") {
  const auto [first, count] = Seeds(10);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    INFO("seed " << seed);
    TwoComputes test(seed);
    Race race(test, seed);
    for (int look = 0; look < 5; ++look) {
      test.world.run_for(300 * kMillisecond_ns);
      // One that has looked away for that long learns the rest at once.
      if (look % 2 == 0) REQUIRE(test.read(1).ok());
    }
    race.end();
    CHECK(race.made() > 20);
    check_equal(test);
  }
}

TEST_CASE("compute servers know the catalog that memory server 0 has after a restart", "[catalog]") {
  const auto [first, count] = Seeds(3);
  for (const DiskAfter disk : {DiskAfter::killed, DiskAfter::power_lost}) {
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
      INFO("seed " << seed);
      TwoComputes test(seed, true);
      Race race(test, seed);
      for (int restart = 0; restart < 2; ++restart) {
        test.world.run_for(200 * kMillisecond_ns);
        test.cluster->restart_memory(0, disk);
        test.world.run_for(kPatience_ns);
      }
      race.end();
      check_equal(test);
    }
  }
}

TEST_CASE("after memory server 0 has restarted empty, nothing of the former catalog is known", "[catalog]") {
  TwoComputes test(5);
  REQUIRE(test.run(0, create_table(test.worker(0), "former", bigints({"id"}), 8, 0)).ok());
  const std::uint32_t id = test.worker(0).cached_table("former")->id;
  test.cluster->restart_memory(0);
  REQUIRE(test.world.run_until([&] { return !test.worker(0).ready(); }, kPatience_ns));
  REQUIRE(
      test.world.run_until([&] { return test.worker(0).ready() && test.worker(1).ready(); }, kPatience_ns));
  check_equal(test);
  REQUIRE(test.run(1, create_table(test.worker(1), "later", bigints({"id"}), 8, 0)).ok());
  CHECK(test.worker(1).cached_table("later")->id <= id);
  check_equal(test);
  CHECK(test.worker(0).cached_table("former") == nullptr);
}

TEST_CASE("a compute server that was away for long gets the whole catalog, if it was told too little",
          "[catalog]") {
  TwoComputes test(6);
  // More drops than the memory server remembers.
  const auto change = [&test](std::uint32_t from, std::uint32_t count) {
    for (std::uint32_t i = from; i < from + count; ++i) {
      const std::string name = "x" + std::to_string(i);
      memory::Catalog& catalog = *test.cluster->memory(0).server->parts().catalog;
      control::CreateRoutineRequest create;
      create.set_name(name);
      const auto version = catalog.create_routine(create);
      REQUIRE(version.ok());
      control::DropRoutineRequest drop;
      drop.set_name(name);
      drop.set_version(*version);
      REQUIRE(catalog.drop_routine(drop).ok());
      catalog.forget_drops(catalog.position());
    }
  };
  REQUIRE(test.run(0, create_table(test.worker(0), "u", bigints({"id"}), 8, 0)).ok());
  check_equal(test);
  const TableRef kept = test.worker(1).cached_table("u");
  change(0, 6000);
  REQUIRE(test.run(0, create_table(test.worker(0), "v", bigints({"id"}), 8, 0)).ok());
  check_equal(test);
  // Tables that are still there keep their objects.
  CHECK(test.worker(1).cached_table("u") == kept);
}

}  // namespace catalog_follow_test
}  // namespace namdb::sim
