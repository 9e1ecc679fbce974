// Workers with several execution slots: commits that run at once have one each, and nothing else changes.
#include <catch2/catch.hpp>
#include <map>

#include "proto/control.pb.h"
#include "tools/namsim/mutants/mutant.h"
#include "tools/namsim/scenario/scenario.h"
#include "tools/namsim/testing/seeds.h"

namespace namdb::sim {
namespace {

// Sound: counts the leases of each channel, granted and refused.
class Leases final : public Mutant {
 public:
  reactor::Task<Status> on_call(fabric::Service* inner, std::size_t /*server*/, fabric::PeerId peer,
                                std::uint16_t method, std::string_view request, std::string* reply) override {
    Status status = co_await inner->on_call(peer, method, request, *reply);
    if (method == control::LEASE_SLOT) ++(status.ok() ? granted : refused)[peer];
    co_return status;
  }

  std::uint64_t most_granted() const {
    std::uint64_t most = 0;
    for (const auto& [peer, count] : granted) most = std::max(most, count);
    return most;
  }

  std::map<fabric::PeerId, std::uint64_t> granted;
  std::map<fabric::PeerId, std::uint64_t> refused;
};

Scenario with_slots(std::uint64_t seed, const char* workload, std::size_t slots) {
  Scenario scenario = Scenario::of_seed(seed, workload);
  scenario.cluster.worker.slot.slots = slots;
  scenario.cluster.worker.slot.counters_per_slot = txn::SlotOptions().counters_per_slot;
  scenario.cluster.memory.max_slots_per_peer = 32;
  return scenario;
}

}  // namespace

TEST_CASE("commits of one worker that run at once have slots of their own while there are enough",
          "[slots]") {
  std::uint64_t most = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Leases leases;
    Scenario scenario = with_slots(seed, "register", 3);
    scenario.resize({.computes = 1, .clients = 6, .transactions = 60, .kills = 0});
    scenario.cluster.interposer = &leases;
    const Verdict verdict = run_scenario(scenario, history::strict_snapshot_isolation());
    INFO(scenario.flags());
    REQUIRE(verdict.anomaly == "");
    CHECK(verdict.committed > 0);
    CHECK(leases.most_granted() <= 3);
    most = std::max(most, leases.most_granted());
  }
  CHECK(most == 3);
}

TEST_CASE("a worker that gets fewer slots than it wants makes do with them", "[slots]") {
  std::uint64_t refused = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Leases leases;
    Scenario scenario = with_slots(seed, "register", 4);
    scenario.cluster.memory.max_slots_per_peer = 2;
    scenario.resize({.computes = 1, .clients = 6, .transactions = 60, .kills = 0});
    scenario.cluster.interposer = &leases;
    const Verdict verdict = run_scenario(scenario, history::strict_snapshot_isolation());
    INFO(scenario.flags());
    REQUIRE(verdict.anomaly == "");
    CHECK(verdict.committed > 0);
    CHECK(leases.most_granted() <= 2);
    for (const auto& [peer, count] : leases.refused) {
      CHECK(count == 1);  // asked once, not with every commit
      refused += count;
    }
  }
  CHECK(refused > 0);
}

TEST_CASE("with several slots for each worker histories are as strict while compute servers die", "[slots]") {
  const char* const workload = GENERATE("register", "append", "bank", "churn", "ring");
  const char* const protocol = GENERATE("si", "waitdie", "mvcc");
  const auto [first, count] = Seeds(15);
  CAPTURE(workload, protocol);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    Scenario scenario = with_slots(seed, workload, 2 + seed % 3);
    scenario.cluster.memory.protocol = protocol;
    if (seed % 2 == 0) scenario.cluster.worker.slot.counters_per_slot = 3;
    REQUIRE(scenario.use_faults(draw_faults(seed), "seed").ok());
    CAPTURE(seed);
    REQUIRE(run_and_compare(scenario, promised_level(protocol)).anomaly == "");
  }
}

}  // namespace namdb::sim
