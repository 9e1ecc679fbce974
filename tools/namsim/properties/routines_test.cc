// Routines of the catalog as several compute servers know them, across restarts of the memory server.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tools/namsim/testing/seeds.h"
#include "tools/namsim/testing/two_computes.h"

namespace namdb::sim {
namespace routines_test {

using storage::RoutineRef;

struct Changes {
  bool stop = false;
  std::uint64_t made = 0;
  std::string mistake;
};

constexpr std::uint64_t kPause_ns = 200'000;

// Creates and drops routines, one after the other; the worker knows of each at once.
reactor::Task<void> change_routines(compute::Worker* worker, Changes* changes) {
  for (std::uint64_t number = 0; !changes->stop; ++number) {
    const std::string name = "r" + std::to_string(number);
    txn::RoutineDefinition definition;
    definition.name = name;
    definition.text = "text";
    Status status = co_await worker->create_routine(std::move(definition));
    const RoutineRef created = worker->cached_routine(name);
    if (status.ok() && created == nullptr && worker->ready()) changes->mistake = name + " is not known";
    if (status.ok() && created != nullptr) status = co_await worker->drop_routine(name, created->version);
    if (status.ok() && worker->cached_routine(name) != nullptr) changes->mistake = name + " is still known";
    if (status.ok()) ++changes->made;
    // The connection may end under way.
    if (!status.ok() && status.code() != ErrorCode::connection_failure) changes->mistake = status.to_string();
    // Without a pause there are 100,000 changes, which meet the connections' turns no more often.
    co_await worker->executor().sleep_for(kPause_ns);
  }
}

struct Subject : TwoComputes {
  using TwoComputes::TwoComputes;
  Status create(std::size_t compute, const std::string& name, const std::string& text,
                std::uint64_t replaces_version = 0) {
    return run(compute, worker(compute).create_routine({name, text, replaces_version}));
  }
  Status drop(std::size_t compute, const std::string& name, std::uint64_t version) {
    return run(compute, worker(compute).drop_routine(name, version));
  }
  // By a look into the catalog where the cache lacks it.
  RoutineRef find(std::size_t compute, const std::string& name) {
    const auto found = run(compute, worker(compute).routine(name));
    REQUIRE(found.ok());
    return *found;
  }
  RoutineRef cached(std::size_t compute, const std::string& name) {
    return worker(compute).cached_routine(name);
  }
};

TEST_CASE("a changed routine is known at once where it was changed, and to others as a changed table is",
          "[routines]") {
  Subject test(1);
  const std::uint64_t version = test.worker(1).catalog_version();
  std::uint64_t before = test.worker(0).catalog_version();
  REQUIRE(test.create(0, "r", "first").ok());
  CHECK(test.worker(0).catalog_version() != before);
  const RoutineRef created = test.cached(0, "r");
  REQUIRE(created != nullptr);
  CHECK(created->name == "r");
  CHECK(created->definition == "first");
  // An unknown name is looked for.
  CHECK(test.cached(1, "r") == nullptr);
  const RoutineRef known = test.find(1, "r");
  REQUIRE(known != nullptr);
  CHECK(known->id == created->id);
  CHECK(known->version == created->version);
  CHECK(test.worker(1).catalog_version() != version);
  CHECK(test.find(1, "other") == nullptr);

  // A known name is not; a snapshot shows that the catalog has changed.
  REQUIRE(test.create(0, "other", "text").ok());
  REQUIRE(test.create(0, "r", "second", created->version).ok());
  const RoutineRef replaced = test.cached(0, "r");
  CHECK(replaced->definition == "second");
  CHECK(replaced->id == created->id);
  CHECK(replaced->version > created->version);
  CHECK(created->definition == "first");
  before = test.worker(1).catalog_version();
  CHECK(test.find(1, "r") == known);
  REQUIRE(test.read(1).ok());
  CHECK(test.worker(1).catalog_version() != before);
  CHECK(test.cached(1, "r")->definition == "second");

  // One that is as it was keeps its object.
  const RoutineRef other = test.cached(1, "other");
  REQUIRE(other != nullptr);
  CHECK(test.drop(1, "r", known->version).code() == ErrorCode::undefined_function);
  REQUIRE(test.drop(1, "r", replaced->version).ok());
  CHECK(test.cached(1, "r") == nullptr);
  CHECK(test.cached(1, "other") == other);
  CHECK(test.cached(0, "r") == replaced);
  const auto all = test.run(0, test.worker(0).routines());
  REQUIRE(all.ok());
  REQUIRE(all->size() == 1);
  CHECK(all->front()->name == "other");
  CHECK(test.cached(0, "r") == nullptr);
}

TEST_CASE("of two compute servers that change one routine at the same time, one does", "[routines]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    Subject test(seed);
    const auto race = [&](std::uint64_t replaces_version) {
      std::vector<Status> ended(2);
      reactor::Gate gate;
      for (std::size_t compute = 0; compute < 2; ++compute) {
        const std::string text = "by " + std::to_string(compute);
        test.cluster->node(compute).spawn(
            gate,
            note_end(test.worker(compute).create_routine({"r", text, replaces_version}), &ended[compute]));
      }
      REQUIRE(test.world.run_until([&gate] { return gate.count() == 0; }, kSecond_ns));
      const std::size_t winner = ended[0].ok() ? 0 : 1;
      REQUIRE(ended[winner].ok());
      REQUIRE(ended[1 - winner].code() == ErrorCode::duplicate_function);
      REQUIRE(test.cached(winner, "r")->definition == "by " + std::to_string(winner));
      return test.cached(winner, "r")->version;
    };
    const std::uint64_t created = race(0);
    const std::uint64_t replaced = race(created);
    REQUIRE(replaced > created);
    // Both know the one that is there now.
    for (std::size_t compute = 0; compute < 2; ++compute) {
      REQUIRE(test.run(compute, test.worker(compute).routines()).ok());
      REQUIRE(test.cached(compute, "r")->version == replaced);
    }
  }
}

TEST_CASE("routines are there when a memory server has opened its database again", "[routines]") {
  for (const DiskAfter disk : {DiskAfter::killed, DiskAfter::power_lost}) {
    Subject test(3, true);
    REQUIRE(test.create(0, "kept", "first").ok());
    REQUIRE(test.create(0, "dropped", "text").ok());
    REQUIRE(test.create(0, "kept", "second", test.cached(0, "kept")->version).ok());
    const RoutineRef kept = test.cached(0, "kept");
    const std::uint32_t dropped_id = test.cached(0, "dropped")->id;
    REQUIRE(test.drop(0, "dropped", test.cached(0, "dropped")->version).ok());
    test.cluster->restart_memory(0, disk);
    test.world.run_for(kPatience_ns);
    for (std::size_t compute = 0; compute < 2; ++compute) {
      REQUIRE(test.worker(compute).ready());
      const RoutineRef found = test.cached(compute, "kept");
      REQUIRE(found != nullptr);
      CHECK(found->id == kept->id);
      CHECK(found->version == kept->version);
      CHECK(found->definition == "second");
      CHECK(test.find(compute, "dropped") == nullptr);
    }
    REQUIRE(test.create(1, "dropped", "again").ok());
    CHECK(test.cached(1, "dropped")->id > dropped_id);
    REQUIRE(test.create(1, "kept", "third", kept->version).ok());
  }
}

TEST_CASE("a changed routine is known at once, also while the worker's connection gives way to another",
          "[routines]") {
  const auto [first, count] = Seeds(10);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    INFO("seed " << seed);
    Subject test(seed, true, 2);
    Changes changes;
    reactor::Gate gate;
    test.cluster->node(0).spawn(gate, change_routines(&test.worker(0), &changes));
    test.world.run_for(100 * kMillisecond_ns);
    test.cluster->kill_memory(1);
    test.world.run_for(2 * kSecond_ns);
    REQUIRE(test.worker(0).ready());
    REQUIRE(test.run(0, create_table(test.worker(0), "u", bigints({"id"}), 50, 0)).code() ==
            ErrorCode::cannot_connect_now);
    test.cluster->restart_memory(1, DiskAfter::killed);
    test.world.run_for(10 * kSecond_ns);
    changes.stop = true;
    REQUIRE(test.world.run_until([&gate] { return gate.count() == 0; }, kPatience_ns));
    INFO(changes.mistake);
    REQUIRE(changes.mistake.empty());
    REQUIRE(changes.made > 100);
    REQUIRE(test.run(0, create_table(test.worker(0), "u", bigints({"id"}), 50, 0)).ok());
  }
}

TEST_CASE("without a memory server routines are neither found nor changed, and an empty one has none",
          "[routines]") {
  Subject test(4);
  REQUIRE(test.create(0, "r", "text").ok());
  const std::uint64_t version = test.cached(0, "r")->version;
  test.cluster->kill_memory(0);
  REQUIRE(test.world.run_until([&] { return !test.worker(0).ready(); }, kPatience_ns));
  CHECK(test.cached(0, "r") == nullptr);
  CHECK(test.run(0, test.worker(0).routine("r")).status().code() == ErrorCode::connection_failure);
  CHECK(test.run(0, test.worker(0).routines()).status().code() == ErrorCode::connection_failure);
  CHECK(test.create(0, "s", "text").code() == ErrorCode::connection_failure);
  CHECK(test.drop(0, "r", version).code() == ErrorCode::connection_failure);
  test.cluster->restart_memory(0);
  REQUIRE(test.world.run_until([&] { return test.worker(0).ready(); }, kPatience_ns));
  CHECK(test.find(0, "r") == nullptr);
  CHECK(test.create(0, "r", "text").ok());
}

}  // namespace routines_test
}  // namespace namdb::sim
