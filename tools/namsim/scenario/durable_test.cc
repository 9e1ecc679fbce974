// Clusters whose memory servers keep a database on their disks: whole runs in which one of them ends and
// opens again, alone or with all others and with the loss of power. Nothing is lost, so each history is one
// over all these ends. NAMDB_SEEDS and NAMDB_FIRST_SEED run more than the fixed ones.
#include <catch2/catch.hpp>
#include <cstdio>

#include "common/protocols/protocol.h"
#include "tools/namsim/scenario/scenario.h"
#include "tools/namsim/testing/seeds.h"

namespace namdb::sim {
namespace {

std::string_view protocol_of(std::uint64_t seed) {
  const auto& all = protocol::protocol_traits();
  return all[seed % all.size()].name;
}

Scenario durable_scenario(std::uint64_t seed, std::uint64_t memory_servers) {
  Scenario scenario = Scenario::of_seed(seed);
  scenario.resize({.memory_servers = memory_servers});
  scenario.cluster.memory.protocol = protocol_of(seed);
  scenario.make_durable();
  return scenario;
}

void run_seeds(std::uint64_t first, std::uint64_t count,
               std::uint64_t (*memory_servers)(std::uint64_t seed)) {
  FaultCounts happened{};
  std::uint64_t committed = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    Scenario scenario = durable_scenario(seed, memory_servers(seed));
    INFO("namsim run " << scenario.flags() << " --faults seed");
    REQUIRE(scenario.use_faults(scenario.drawn_faults(), "seed").ok());
    const Verdict verdict = run_and_compare(scenario, promised_level(scenario.cluster.memory.protocol));
    REQUIRE(verdict.anomaly == "");
    REQUIRE(verdict.lives == 1);
    committed += verdict.committed;
    for (std::size_t kind = 0; kind < happened.size(); ++kind) happened[kind] += verdict.happened[kind];
  }
  std::fprintf(stderr, "%llu commits; %s\n", static_cast<unsigned long long>(committed),
               to_text(happened).c_str());
  CHECK(committed > count * 5);
  if (count < 20) return;
  CHECK(happened[static_cast<std::size_t>(Fault::Kind::restart_memory)] > count / 4);
  CHECK(happened[static_cast<std::size_t>(Fault::Kind::lose_power)] > count / 4);
}

}  // namespace

TEST_CASE("histories are as isolated as promised across restarts and losses of power", "[durable]") {
  const auto [first, count] = Seeds(20);
  run_seeds(first, count, [](std::uint64_t) { return std::uint64_t{1}; });
}

TEST_CASE("the same with several memory servers, of which one or all end", "[durable][several]") {
  const auto [first, count] = Seeds(20);
  run_seeds(first, count, [](std::uint64_t seed) { return 2 + seed % 2; });
}

TEST_CASE("runs with several memory servers that have failed", "[durable][several]") {
  struct Failed {
    std::uint64_t seed;
    std::string_view protocol;
    layout::VectorSpread vector;
    std::uint64_t memory_servers;
  };
  using layout::VectorSpread;
  const Failed all[] = {
      // A GATHER that a later one had overtaken closed a server that served.
      {261, "waitdie", VectorSpread::partitioned, 3},
      // A server had forgotten that a commit was finished, which no log said.
      {125, "sundial", VectorSpread::whole, 3},
      {351, "waitdie", VectorSpread::whole, 3},
      {1331, "sundial", VectorSpread::partitioned, 3},
      // A checkpoint knew of a later start of the server than the control entries behind it.
      {353, "sundial", VectorSpread::whole, 3},
      // A table that memory server 0 had finished was discarded on the others.
      {1035, "waitdie", VectorSpread::whole, 3},
  };
  for (const Failed& failed : all) {
    Scenario scenario = Scenario::of_seed(failed.seed);
    scenario.resize({.memory_servers = failed.memory_servers});
    scenario.cluster.memory.protocol = failed.protocol;
    scenario.make_durable();
    scenario.cluster.memory.timestamp_vector = failed.vector;
    INFO("namsim run " << scenario.flags() << " --faults seed");
    REQUIRE(scenario.use_faults(scenario.drawn_faults(), "seed").ok());
    const Verdict verdict = run_and_compare(scenario, promised_level(scenario.cluster.memory.protocol));
    CHECK(verdict.anomaly == "");
  }
}

// The end of a transaction released the locks of a commit whose outcome was not known. It was committed, and
// was not installed where its locks were gone.
TEST_CASE("locks of commits that lost a memory server stay until they are decided", "[durable][several]") {
  struct Failed {
    std::uint64_t seed;
    std::string_view protocol;
  };
  const Failed failed = GENERATE(Failed{7174, "waitdie"}, Failed{7368, "nowait"});
  Scenario scenario = Scenario::of_seed(failed.seed, "churn");
  scenario.resize({.memory_servers = 3, .kills = 2});
  scenario.cluster.memory.protocol = failed.protocol;
  scenario.cluster.memory.stages = *protocol::StageCode::parse("two-sided");
  scenario.make_durable();
  INFO("namsim run " << scenario.flags() << " --faults seed");
  REQUIRE(scenario.use_faults(scenario.drawn_faults(), "seed").ok());
  CHECK(run_and_compare(scenario, promised_level(failed.protocol)).anomaly == "");
}

TEST_CASE("faults of disks are refused where there is none", "[durable]") {
  Fault fault;
  fault.kind = Fault::Kind::lose_power;
  Scenario scenario = Scenario::of_seed(1);
  CHECK_FALSE(scenario.use_faults({fault}, "f.json").ok());
  scenario.make_durable();
  CHECK(scenario.use_faults({fault}, "f.json").ok());
}

}  // namespace namdb::sim
