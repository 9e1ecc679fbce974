// A region without a primary in the configuration store becomes the host's that asks.
#include "memory/placement/claim.h"

#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/fabric/sim/world.h"
#include "common/placement/testing/memory_store.h"

namespace namdb::memory {
namespace claim_test {

using fabric::sim::SimNode;
using fabric::sim::SimWorld;
using placement::ConfigurationStore;
using placement::testing::MemoryStore;
using placement::testing::SharedConfiguration;

ClaimOptions claim_of(std::uint16_t server_id, std::uint64_t database_id) {
  ClaimOptions options;
  options.server_id = server_id;
  options.server_count = 2;
  options.address = "sim:m" + std::to_string(server_id);
  options.database_id = database_id;
  return options;
}

struct ClaimingHost {
  SimNode& node;
  MemoryStore store;
  std::optional<Result<ConfigurationStore::Stored>> claimed;
  std::vector<std::string> lines;
  reactor::Gate gate;

  ClaimingHost(SimWorld& world, SharedConfiguration& shared, const std::string& address)
      : node(world.add_node(address)), store(node, shared) {}
  void claim(ClaimOptions options) {
    options.notice = [this](const std::string& line) { lines.push_back(line); };
    node.spawn(gate, keep(std::move(options)));
  }
  reactor::Task<void> keep(ClaimOptions options) {
    claimed = co_await claim_region(&node, &store, std::move(options));
  }
  reactor::Task<void> close() { co_await gate.close(); }
};

}  // namespace claim_test

using namespace claim_test;

TEST_CASE("in a new configuration store memory server 0 says first which database it is", "[placement]") {
  const std::uint64_t stray_id = GENERATE(7, 8);
  SimWorld world(1);
  SharedConfiguration shared;
  ClaimingHost first(world, shared, "sim:m0");
  ClaimingHost second(world, shared, "sim:m1");
  second.claim(claim_of(1, stray_id));
  world.run_for(2 * kSecond_ns);
  CHECK_FALSE(second.claimed.has_value());
  CHECK(shared.changes == 0);
  CHECK(second.lines == std::vector<std::string>{"waits for the configuration store memory: "
                                                 "memory server 0 has no region there yet"});
  first.claim(claim_of(0, 7));
  REQUIRE(world.run_until([&] { return first.claimed.has_value() && second.claimed.has_value(); },
                          2 * kSecond_ns));
  CHECK(first.claimed->ok());
  CHECK(shared.stored.configuration.database_id() == 7);
  CHECK(shared.stored.configuration.place(0).address == "sim:m0");
  // The folder of another database is refused, and has changed nothing.
  CHECK(second.claimed->ok() == (stray_id == 7));
  CHECK(shared.stored.configuration.place(1).address == (stray_id == 7 ? "sim:m1" : ""));
  world.run(first.node, first.close());
  world.run(second.node, second.close());
}

TEST_CASE("a host whose folder knows a later place than the configuration store does not open by it",
          "[placement]") {
  // By its checkpoints, by its record, and by a record of another history.
  const int known_by = GENERATE(0, 1, 2);
  SimWorld world(1);
  SharedConfiguration shared;
  placement::Configuration old(2);
  old.set_database_id(7);
  old.set(0, {4, "sim:m0", {}});
  shared.stored = {9, old};
  ClaimingHost host(world, shared, "sim:m0");
  ClaimOptions options = claim_of(0, 7);
  options.claims = known_by == 0;
  if (known_by == 0) options.generation = std::uint64_t{5} << 32;
  if (known_by == 1) options.known = {5, "sim:m0", {}};
  if (known_by == 2) options.known = {4, "sim:m0", {"sim:n0"}};
  host.claim(std::move(options));
  REQUIRE(world.run_until([&] { return host.claimed.has_value(); }, kSecond_ns));
  CHECK(host.claimed->status().code() == ErrorCode::configuration);
  CHECK(shared.changes == 0);
  world.run(host.node, host.close());
}

TEST_CASE("the place of a folder that claims has a number above those of its checkpoints and of its copies",
          "[placement]") {
  SimWorld world(1);
  SharedConfiguration shared;
  ClaimingHost host(world, shared, "sim:m0");
  ClaimOptions options = claim_of(0, 7);
  options.known = {3, "sim:m0", {}};
  options.generation = (std::uint64_t{5} << 32) + 2;
  host.claim(std::move(options));
  REQUIRE(world.run_until([&] { return host.claimed.has_value(); }, kSecond_ns));
  CHECK(shared.stored.configuration.place(0).number == 5 + kUnknownPlaces);
  world.run(host.node, host.close());
}

}  // namespace namdb::memory
