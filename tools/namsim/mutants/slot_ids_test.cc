// Ids of execution slots are used once, and run out some day. Rows of such slots can be read for ever.
#include <algorithm>
#include <catch2/catch.hpp>

#include "proto/control.pb.h"
#include "tools/namsim/mutants/mutant.h"
#include "tools/namsim/scenario/fault_options.h"
#include "tools/namsim/scenario/scenario.h"

namespace namdb::sim {
namespace {

// Sound: counts the leases that are refused because no id is left.
class RefusedLeases final : public Mutant {
 public:
  reactor::Task<Status> on_call(fabric::Service* inner, std::size_t server, fabric::PeerId peer,
                                std::uint16_t method, std::string_view request, std::string* reply) override {
    static_cast<void>(server);
    Status status = co_await inner->on_call(peer, method, request, *reply);
    if (method == control::LEASE_SLOT &&
        status.to_string().find("all ids of execution slots") != std::string::npos)
      ++count;
    co_return status;
  }

  std::uint64_t count = 0;
};

}  // namespace

TEST_CASE("runs in which the ids of execution slots end go on reading, and the refusal says why", "[slots]") {
  const auto* const drawn = std::ranges::find(kDrawnOptions, std::string_view("first_slot"),
                                              [](const DrawnOption& option) { return option.name; });
  REQUIRE(drawn != kDrawnOptions.end());
  std::uint64_t ended = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    RefusedLeases refused;
    Scenario scenario = Scenario::of_seed(seed, "register", Emphasis::short_slots);
    Fault first{.kind = Fault::Kind::set, .option = drawn->name, .value = drawn->value};
    REQUIRE(scenario.use_faults({first}, "none").ok());
    scenario.resize({.computes = 4, .transactions = 100});
    scenario.cluster.interposer = &refused;
    const Verdict verdict = run_scenario(scenario, history::strict_snapshot_isolation());
    INFO(scenario.flags());
    CHECK(verdict.anomaly == "");
    CHECK(verdict.committed > 0);
    if (refused.count > 0) ++ended;
  }
  CHECK(ended > 0);
}

}  // namespace namdb::sim
