// Scenarios whose regions have copies: a run is its seed, flags give it again, and faults of hosts and of
// their store are data. NAMDB_SEEDS and NAMDB_FIRST_SEED run more than the fixed ones.
#include "tools/namsim/scenario/copies_scenario.h"

#include <array>
#include <catch2/catch.hpp>
#include <cstdio>
#include <string>

#include "tools/namsim/testing/seeds.h"

namespace namdb::sim {
namespace copies_scenario_test {

using Kind = Fault::Kind;

constexpr std::array<std::string_view, 7> kProtocols{"si",   "occ",     "nowait", "waitdie",
                                                     "mvcc", "sundial", "drtm"};

Fault parse_one(const std::string& fault) {
  const auto faults = parse_faults(R"({"faults": [)" + fault + "]}", "f.json");
  INFO((faults.ok() ? "" : faults.status().message()));
  REQUIRE(faults.ok());
  return faults->front();
}

std::string error_of(const std::string& fault) {
  const auto faults = parse_faults(R"({"faults": [)" + fault + "]}", "f.json");
  return faults.ok() ? "" : faults.status().message();
}

Scenario scenario_of(std::uint64_t seed, std::optional<std::uint32_t> hosts = {}) {
  Scenario scenario = Scenario::with_copies(seed, hosts);
  scenario.cluster.memory.protocol = kProtocols[seed % kProtocols.size()];
  return scenario;
}

// One region, and few clients.
Scenario small_scenario(std::uint64_t seed, std::uint32_t hosts, const Faults& faults) {
  Scenario scenario = Scenario::with_copies(seed, hosts, "register");
  Size small;
  small.memory_servers = small.computes = 1;
  small.clients = 2;
  scenario.resize(small);
  REQUIRE(scenario.use_faults(faults, "f.json").ok());
  return scenario;
}

Verdict sound_run(const Scenario& scenario) {
  INFO("namsim run " << scenario.flags());
  Verdict verdict = run_scenario(scenario, promised_level(scenario.cluster.memory.protocol));
  REQUIRE(verdict.anomaly == "");
  return verdict;
}

std::uint64_t count_of(const Verdict& verdict, Kind kind) {
  return verdict.happened[static_cast<std::size_t>(kind)];
}

}  // namespace copies_scenario_test

using namespace copies_scenario_test;

TEST_CASE("scenarios with copies keep what the protocol promises whatever the seed draws",
          "[copies_scenario]") {
  const auto [first, count] = Seeds(12);
  FaultCounts happened{};
  std::uint64_t committed = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    Scenario scenario = scenario_of(seed);
    REQUIRE(scenario.use_faults(scenario.drawn_faults(), "seed").ok());
    INFO("namsim run " << scenario.flags());
    const Verdict verdict = run_and_compare(scenario, promised_level(scenario.cluster.memory.protocol));
    REQUIRE(verdict.anomaly == "");
    committed += verdict.committed;
    for (std::size_t kind = 0; kind < happened.size(); ++kind) happened[kind] += verdict.happened[kind];
  }
  std::fprintf(stderr, "%llu commits; %s\n", static_cast<unsigned long long>(committed),
               to_text(happened).c_str());
  CHECK(committed > count * 10);
  if (count < 12) return;
  CHECK(happened[static_cast<std::size_t>(Kind::split_host)] > count / 4);
}

TEST_CASE("a scenario with copies runs the same each time, and its flags give it again",
          "[copies_scenario]") {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Scenario scenario = scenario_of(seed);
    REQUIRE(scenario.use_faults(scenario.drawn_faults(), "seed").ok());
    Scenario again = Scenario::with_copies(seed, scenario.hosts, scenario.workload);
    again.cluster.memory.protocol = scenario.cluster.memory.protocol;
    again.resize(scenario.size);
    REQUIRE(again.use_faults(again.drawn_faults(), "seed").ok());
    CHECK(again.flags() == scenario.flags());
    CHECK(again.flags().find(" --copies " + std::to_string(scenario.hosts)) != std::string::npos);
    CHECK(again.describe() == scenario.describe());
    CHECK(sound_run(again).fingerprint == sound_run(scenario).fingerprint);
  }
}

TEST_CASE("seeds draw one to three hosts of each region, and given ones change nothing else",
          "[copies_scenario]") {
  std::array<std::uint64_t, 4> drawn{};
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const Scenario scenario = Scenario::with_copies(seed);
    REQUIRE((scenario.hosts >= 1 && scenario.hosts <= 3));
    CHECK(scenario.cluster.copies == scenario.hosts - 1);
    ++drawn[scenario.hosts];
    const Scenario three = Scenario::with_copies(seed, 3);
    CHECK(three.cluster.copies == 2);
    CHECK(three.size == scenario.size);
    CHECK(three.workload == scenario.workload);
    CHECK(three.network.clock_drift_ppm == scenario.network.clock_drift_ppm);
  }
  for (std::size_t hosts = 1; hosts <= 3; ++hosts) CHECK(drawn[hosts] > 5);
}

TEST_CASE("seeds draw each fault of hosts and stores, which reads as the same fault", "[copies_scenario]") {
  FaultCounts drawn{};
  std::array<std::uint64_t, 3> directions{};
  std::array<std::uint64_t, 3> stores{};
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const Faults faults = draw_copies_faults(seed);
    CHECK(faults.size() >= 2);
    for (const Fault& fault : faults) {
      CHECK(parse_one(fault.text()).text() == fault.text());
      ++drawn[static_cast<std::size_t>(fault.kind)];
      if (fault.kind != Kind::split_host) continue;
      ++directions[static_cast<std::size_t>(fault.direction)];
      ++stores[static_cast<std::size_t>(fault.store)];
    }
    CHECK(Scenario::with_copies(seed).use_faults(faults, "seed").ok());
  }
  for (const Kind kind :
       {Kind::restart_memory, Kind::lose_host, Kind::lose_power, Kind::pause_memory, Kind::cut_store,
        Kind::lose_store_answer, Kind::delay_store, Kind::crash_compute, Kind::split_host})
    CHECK(drawn[static_cast<std::size_t>(kind)] > 20);
  for (const std::uint64_t count : directions) CHECK(count > 20);
  for (const std::uint64_t count : stores) CHECK(count > 20);
}

TEST_CASE("a fault of hosts on a cluster without copies is refused, and lost data on one with copies",
          "[copies_scenario]") {
  const auto refused = [](Scenario scenario, const std::string& fault) {
    const Status status = scenario.use_faults({parse_one(fault)}, "f.json");
    return status.ok() ? "" : status.message();
  };
  CHECK(refused(Scenario::of_seed(1), R"({"fault": "split-host", "duration_ns": 1})") ==
        "split-host is for clusters with copies");
  CHECK(refused(Scenario::of_seed(1), R"({"fault": "pause-memory", "host": "copy", "duration_ns": 1})") ==
        "pause-memory: a host is for clusters with copies");
  CHECK(refused(Scenario::with_copies(1), R"({"fault": "crash-memory"})") ==
        "crash-memory is for clusters without copies");
  const std::string at = "f.json: faults[0].";
  CHECK(error_of(R"({"fault": "split-host", "duration_ns": 1, "store": "left"})") ==
        at + "store: must be one of both host rest");
  CHECK(error_of(R"({"fault": "restart-memory", "host": "backup"})") ==
        at + "host: must be one of primary copy");
  CHECK(error_of(R"({"fault": "cut-store"})") == at + "duration_ns: is missing");
  CHECK(error_of(R"({"fault": "delay-store"})") == at + "delay_ns: is missing");
  CHECK(error_of(R"({"fault": "lose-host", "compute": 0})") == at + "compute: unknown field");
}

TEST_CASE("hosts that are cut off from each other both ways and one, and from the store, lose nothing",
          "[copies_scenario]") {
  const char* const direction = GENERATE("both", "request", "reply");
  const char* const store = GENERATE("both", "host", "rest");
  const Fault split = parse_one(std::string(R"({"fault": "split-host", "at_ns": 500000000, "direction": ")") +
                                direction + R"(", "store": ")" + store + R"(", "duration_ns": 3000000000})");
  const Verdict verdict = sound_run(small_scenario(7, 2, {split}));
  CHECK(count_of(verdict, Kind::split_host) == 1);
  CHECK(verdict.committed > 10);
}

TEST_CASE("a store that fails, and a primary that is lost for good, lose nothing", "[copies_scenario]") {
  const std::uint32_t hosts = GENERATE(2U, 3U);
  const Verdict verdict = sound_run(
      small_scenario(9, hosts,
                     {parse_one(R"({"fault": "lose-store-answer", "at_ns": 300000000})"),
                      parse_one(R"({"fault": "lose-host", "at_ns": 400000000})"),
                      parse_one(R"({"fault": "cut-store", "at_ns": 9000000000, "duration_ns": 2000000000})"),
                      parse_one(R"({"fault": "delay-store", "at_ns": 12000000000, "delay_ns": 200000000})"),
                      parse_one(R"({"fault": "restart-memory", "host": "copy", "at_ns": 12001000000})")}));
  CHECK(count_of(verdict, Kind::lose_host) == 1);
  CHECK(count_of(verdict, Kind::cut_store) == 1);
  CHECK(verdict.lost == 1);
  CHECK(verdict.takeovers >= 1);
}

TEST_CASE("a region without a copy waits for its host", "[copies_scenario]") {
  const Verdict verdict =
      sound_run(small_scenario(11, 1,
                               {parse_one(R"({"fault": "restart-memory", "at_ns": 300000000})"),
                                parse_one(R"({"fault": "lose-host", "at_ns": 4000000000})"),
                                parse_one(R"({"fault": "lose-power", "at_ns": 5000000000})")}));
  CHECK(verdict.committed > 10);
  // Its machine is not lost, since no other host has the region.
  CHECK(count_of(verdict, Kind::restart_memory) == 1);
  CHECK(count_of(verdict, Kind::lose_host) == 0);
  CHECK(verdict.lost == 0);
  CHECK(verdict.takeovers == 0);
}

TEST_CASE("a fault of a host counts only where a host was there", "[copies_scenario]") {
  // Of one that starts again 6 s later at most, all others find nothing.
  const std::string end = R"({"fault": "restart-memory", "at_ns": 300000000})";
  Faults faults{parse_one(end), parse_one(end), parse_one(end)};
  for (const std::string name : {"split-host", "pause-memory", "cut-store", "slow-node"}) {
    faults.push_back(parse_one(R"({"fault": ")" + name + R"(", "at_ns": 300000000, "duration_ns": 1000000)" +
                               (name == "slow-node" ? R"(, "memory": 0, "delay_ns": 1000})" : "}")));
  }
  faults.push_back(parse_one(R"({"fault": "lose-store-answer", "at_ns": 300000000})"));
  const Verdict verdict = sound_run(small_scenario(11, 1, faults));
  CHECK(count_of(verdict, Kind::restart_memory) == 1);
  for (const Kind kind :
       {Kind::split_host, Kind::pause_memory, Kind::cut_store, Kind::slow_node, Kind::lose_store_answer})
    CHECK(count_of(verdict, kind) == 0);
}

}  // namespace namdb::sim
