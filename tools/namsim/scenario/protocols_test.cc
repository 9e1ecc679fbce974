// Every serializable protocol under contention, hostile options, faults and dying compute servers: many
// seeds, each a whole cluster, each history checked for cycles of any kind. NAMDB_SEEDS and NAMDB_FIRST_SEED
// run more than the fixed ones.
#include <catch2/catch.hpp>

#include "common/protocols/presets.h"
#include "common/protocols/protocol.h"
#include "tools/namsim/scenario/index_run.h"
#include "tools/namsim/scenario/scenario.h"
#include "tools/namsim/testing/seeds.h"

namespace namdb::sim {
namespace {

void run_seeds(std::string_view protocol, const char* workload, std::uint64_t default_count, bool faults,
               txn::ReadLocks read_locks = txn::ReadLocks::automatic,
               std::optional<protocol::StageCode> stages = std::nullopt) {
  const auto [first, count] = Seeds(default_count);
  std::uint64_t committed = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    Scenario scenario = Scenario::of_seed(seed, workload);
    scenario.cluster.memory.protocol = protocol;
    scenario.cluster.memory.stages = stages.value_or(draw_stages(seed));
    scenario.cluster.worker.read_locks = read_locks;
    scenario.cluster.memory.shared_read_locks = read_locks == txn::ReadLocks::shared;
    if (faults) REQUIRE(scenario.use_faults(draw_faults(seed), "seed").ok());
    INFO("namsim run " << scenario.flags());
    const Verdict verdict = run_and_compare(scenario, promised_level(protocol));
    REQUIRE(verdict.anomaly == "");
    committed += verdict.committed;
  }
  CHECK(committed > count * 5);
}

std::vector<std::string> names(bool all) {
  std::vector<std::string> names;
  for (const protocol::ProtocolTraits& traits : protocol::protocol_traits()) {
    if (all || traits.serializable) names.emplace_back(traits.name);
  }
  return names;
}

const std::vector<std::string> kAll = names(true);
const std::vector<std::string> kSerializable = names(false);

}  // namespace

TEST_CASE("histories are as isolated as the protocol promises under all choices of two-sided stages",
          "[protocols][histories]") {
  const std::string protocol = GENERATE(from_range(kAll));
  CAPTURE(protocol);
  run_seeds(protocol, "register", 30, false);
}

TEST_CASE("histories are strictly serializable under presets while compute servers die",
          "[protocols][crashes]") {
  const std::string name = GENERATE("drtm+h", "drtm+r", "farm", "fasst");
  const protocol::Preset* const preset = protocol::find_preset(name);
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    Scenario scenario = Scenario::of_seed(seed, "register");
    scenario.cluster.memory.preset = preset->name;
    scenario.cluster.memory.protocol = preset->protocol;
    scenario.cluster.memory.stages = preset->stage_code();
    REQUIRE(scenario.use_faults(draw_faults(seed), "seed").ok());
    INFO("namsim run " << scenario.flags());
    REQUIRE(run_and_compare(scenario, promised_level(preset->protocol)).anomaly == "");
  }
}

TEST_CASE("histories of serializable protocols have no write skew", "[protocols][histories]") {
  const std::string protocol = GENERATE(from_range(kSerializable));
  const char* const workload = GENERATE("write-skew", "append", "bank");
  CAPTURE(protocol, workload);
  run_seeds(protocol, workload, 25, false);
}

TEST_CASE("nothing is lost, halved or stays locked when compute servers die under any protocol",
          "[protocols][crashes]") {
  const std::string protocol = GENERATE(from_range(kAll));
  CAPTURE(protocol);
  run_seeds(protocol, "register", 30, true);
}

TEST_CASE("stages that are one call, and installs by name, leave nothing halved when compute servers die",
          "[protocols][crashes]") {
  const std::string protocol = GENERATE(from_range(kAll));
  const std::string stages = GENERATE("two-sided", "lock,install,release");
  const char* const workload = GENERATE("register", "churn");
  CAPTURE(protocol, stages, workload);
  run_seeds(protocol, workload, 12, true, txn::ReadLocks::automatic, protocol::StageCode::parse(stages));
}

TEST_CASE("histories are serializable where readers lock as well, while compute servers die",
          "[protocols][crashes]") {
  const std::string protocol = GENERATE("nowait", "waitdie");
  const char* const workload = GENERATE("register", "bank", "wire");
  CAPTURE(protocol, workload);
  run_seeds(protocol, workload, 12, true, txn::ReadLocks::exclusive);
}

TEST_CASE("histories are serializable where readers share locks", "[protocols][histories]") {
  const std::string protocol = GENERATE("nowait", "waitdie");
  const char* const workload = GENERATE("register", "write-skew", "append", "bank");
  CAPTURE(protocol, workload);
  run_seeds(protocol, workload, 25, false, txn::ReadLocks::shared);
}

TEST_CASE("no row stays locked and histories are serializable where readers share locks, while they die",
          "[protocols][crashes]") {
  const std::string protocol = GENERATE("nowait", "waitdie");
  const char* const workload = GENERATE("register", "bank", "wire", "churn", "schema", "smallbank");
  CAPTURE(protocol, workload);
  run_seeds(protocol, workload, 15, true, txn::ReadLocks::shared);
}

TEST_CASE("rows that come and go agree with their companions under any protocol", "[protocols][crashes]") {
  const std::string protocol = GENERATE(from_range(kAll));
  CAPTURE(protocol);
  run_seeds(protocol, "churn", 20, true);
}

TEST_CASE("money and orders add up, rings stay whole and schemas whole under serializable protocols",
          "[protocols][crashes]") {
  const std::string protocol = GENERATE(from_range(kSerializable));
  const char* const workload = GENERATE("smallbank", "tpcc", "ring", "schema", "wire");
  CAPTURE(protocol, workload);
  run_seeds(protocol, workload, 8, true);
}

TEST_CASE("indexes show what full scans show under any protocol while compute servers die",
          "[protocols][crashes]") {
  const std::string protocol = GENERATE(from_range(kAll));
  CAPTURE(protocol);
  IndexVerdict sum;
  const auto [first, count] = Seeds(15);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    CAPTURE(seed);
    const IndexVerdict verdict = run_indexes(seed, IndexTrouble::kills, nullptr, protocol, draw_stages(seed));
    REQUIRE(verdict.anomaly == "");
    sum.committed += verdict.committed;
    sum.compared += verdict.compared;
  }
  CHECK(sum.committed > count * 5);
  CHECK(sum.compared > count * 5);
}

// A transaction with an older timestamp than that of a deletion whose row has been reclaimed since cannot
// know that there was one. Without TimestampOrdering::go_after_forgotten this fails.
TEST_CASE("a transaction that is older than a row's deletion does not miss the row", "[protocols]") {
  Scenario scenario = Scenario::of_seed(501398, "churn");
  scenario.resize(
      {.memory_servers = 1, .computes = 3, .clients = 3, .transactions = 60, .keys = 10, .kills = 0});
  scenario.cluster.memory.protocol = "mvcc";
  REQUIRE(scenario.use_faults(draw_faults(scenario.seed), "seed").ok());
  CHECK(run_scenario(scenario, promised_level("mvcc")).anomaly == "");
}

// A record's address may be remembered of a time when the region was longer; its lease is asked for by CAS,
// which must not leave the region. Without Cluster::known_bytes these fail.
TEST_CASE("addresses beyond a region that was restarted shorter are not used", "[protocols]") {
  struct Seed {
    const char* workload;
    std::uint64_t seed;
    Size size;
  };
  const auto [workload, seed, size] = GENERATE(
      Seed{"churn",
           1501155,
           {.memory_servers = 3, .computes = 2, .clients = 3, .transactions = 60, .keys = 6, .kills = 3}},
      Seed{"tpcc",
           1501766,
           {.memory_servers = 3, .computes = 2, .clients = 3, .transactions = 25, .keys = 7, .kills = 2}});
  Scenario scenario = Scenario::of_seed(seed, workload);
  scenario.resize(size);
  scenario.cluster.memory.protocol = "mvcc";
  REQUIRE(scenario.use_faults(draw_faults(seed), "seed").ok());
  CHECK(run_scenario(scenario, promised_level("mvcc")).anomaly == "");
}

// Of two keys that one transaction reads, one is remembered where memory is the other's by now: the CAS that
// locks the one may not stand behind the READ of the other. Without Lookup::add_atomics this ends the run.
TEST_CASE("a lock at a remembered place does not overtake a READ of what is there now", "[protocols]") {
  Scenario scenario = Scenario::of_seed(1605388, "churn");
  scenario.resize(
      {.memory_servers = 2, .computes = 1, .clients = 3, .transactions = 60, .keys = 8, .kills = 2});
  scenario.cluster.memory.protocol = "nowait";
  REQUIRE(scenario.use_faults(draw_faults(scenario.seed), "seed").ok());
  CHECK(run_scenario(scenario, promised_level("nowait")).anomaly == "");
}

TEST_CASE("a wait for a slot ends when a memory server is lost", "[protocols]") {
  Scenario scenario = Scenario::of_seed(9100737, "register");
  scenario.resize(
      {.memory_servers = 3, .computes = 2, .clients = 3, .transactions = 25, .keys = 8, .kills = 0});
  scenario.cluster.memory.protocol = "mvcc";
  REQUIRE(scenario.use_faults(draw_faults(scenario.seed), "seed").ok());
  CHECK(run_and_compare(scenario, promised_level("mvcc")).anomaly == "");
}

// Where a version is visible once no transaction holds its record, a new row is changed by others as soon as
// a bucket names it, though its commit still holds the chain. Without Applier::names_in_memory these fail.
TEST_CASE("the applier does not put back a new row that others have changed since", "[protocols]") {
  struct Seed {
    const char* protocol;
    const char* workload;
    std::uint64_t seed;
    Size size;
  };
  const Seed found = GENERATE(
      Seed{"occ",
           "ring",
           103069,
           {.memory_servers = 3, .computes = 2, .clients = 3, .transactions = 25, .keys = 8, .kills = 2}},
      Seed{"waitdie",
           "churn",
           101892,
           {.memory_servers = 3, .computes = 3, .clients = 3, .transactions = 60, .keys = 15, .kills = 3}});
  Scenario scenario = Scenario::of_seed(found.seed, found.workload);
  scenario.resize(found.size);
  scenario.cluster.memory.protocol = found.protocol;
  REQUIRE(scenario.use_faults(draw_faults(found.seed), "seed").ok());
  CHECK(run_scenario(scenario, promised_level(found.protocol)).anomaly == "");
}

TEST_CASE("snapshot isolation lets write skew happen, and the checker sees it", "[protocols]") {
  std::uint64_t skewed = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Scenario scenario = Scenario::of_seed(seed, "write-skew");
    const Verdict verdict = run_scenario(scenario, promised_level("occ"));
    skewed += verdict.anomaly.empty() ? 0 : 1;
  }
  CHECK(skewed > 0);
}

}  // namespace namdb::sim
