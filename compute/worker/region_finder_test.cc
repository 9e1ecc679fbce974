#include "compute/worker/region_finder.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "common/fabric/sim/client.h"
#include "common/placement/testing/simulated_host.h"

namespace namdb::compute {
namespace {

using fabric::sim::SimWorld;
using placement::Configuration;
using placement::testing::SimulatedHost;

constexpr std::uint64_t kDatabase = 7;
using Addresses = std::vector<std::string>;
const Addresses kFlags{"sim:a", "sim:b"};

Configuration moved(std::size_t region, placement::Place place) {
  Configuration configuration(kFlags.size());
  configuration.set_database_id(kDatabase);
  configuration.set(region, std::move(place));
  return configuration;
}

reactor::Task<Result<Configuration>> stored_places(Result<Configuration> stored) {
  co_return stored;
}

struct Finding {
  explicit Finding(SimWorld& sim_world)
      : world(sim_world), node(sim_world.add_node("worker")), inner(node), client(node, inner) {}
  ~Finding() {
    world.run(node, finder.settle());
    world.run(node, client.settle());
  }
  Finding(const Finding&) = delete;
  Finding& operator=(const Finding&) = delete;
  bool find() { return world.run(node, finder.find(nullptr)); }

  SimWorld& world;
  fabric::sim::SimNode& node;
  fabric::sim::SimClientFabric inner;
  fabric::PatientClient client;
  Addresses lines;
  int moves = 0;
  Result<Configuration> stored = Status(ErrorCode::connection_failure, "the store does not answer");
  RegionFinder finder{node,
                      client,
                      kFlags,
                      {.hello = [] { return std::string("hello"); },
                       .moved = [this] { ++moves; },
                       .ask_store = [this] { return stored_places(stored); },
                       .log = [this](const std::string& line) { lines.push_back(line); }}};
};

reactor::Task<void> connect(fabric::PatientClient* client, Status* outcome, bool* ended) {
  const auto channel = co_await client->connect("sim:a", "hello", nullptr);
  *outcome = channel.status();
  *ended = true;
}

}  // namespace

TEST_CASE("a worker finds a region wherever it goes, from any host that it knows", "[region_finder]") {
  SimWorld world(1);
  Finding finding(world);
  CHECK(finding.finder.addresses() == kFlags);
  CHECK_FALSE(finding.find());  // no host answers
  CHECK_FALSE(finding.finder.has_moved());
  {
    // The old host says it, before any other host knows.
    const SimulatedHost sign(world, "sim:b", moved(1, {1, "sim:c"}));
    CHECK(finding.find());
  }
  CHECK(finding.finder.addresses() == Addresses{"sim:a", "sim:c"});
  CHECK(finding.finder.has_moved());
  CHECK(finding.lines == Addresses{"memory server 1 is at sim:c now, not at sim:b"});
  {
    // It has moved on. Only the other memory server is left.
    const SimulatedHost other(world, "sim:a", moved(1, {2, "sim:d"}));
    CHECK(finding.find());
  }
  CHECK(finding.finder.addresses() == Addresses{"sim:a", "sim:d"});
  {
    // Back at its first machine, which is asked all the time.
    const SimulatedHost first(world, "sim:b", moved(1, {3, "sim:b"}));
    CHECK(finding.find());
    CHECK_FALSE(finding.find());
  }
  CHECK(finding.finder.addresses() == kFlags);
  CHECK(finding.moves == 3);
}

TEST_CASE("a worker whose hosts are all gone finds a region by the configuration store", "[region_finder]") {
  SimWorld world(1);
  Finding finding(world);
  CHECK_FALSE(finding.find());
  finding.stored = moved(0, {4, "sim:x", {"sim:y"}});
  CHECK(finding.find());
  CHECK(finding.finder.addresses() == Addresses{"sim:x", "sim:b"});
  CHECK(finding.finder.knows_copies());
  finding.finder.know_database(kDatabase);
  // Of another database.
  finding.stored = moved(0, {5, "sim:z"});
  finding.stored->set_database_id(kDatabase + 1);
  CHECK_FALSE(finding.find());
  CHECK(finding.finder.addresses() == Addresses{"sim:x", "sim:b"});
}

TEST_CASE("a worker does not wait for the host that had a region", "[region_finder]") {
  SimWorld world(1);
  SimulatedHost hung(world, "sim:a", moved(0, {0, "sim:a"}));
  world.pause(hung.node, 100 * kSecond_ns);
  const SimulatedHost other(world, "sim:b", moved(0, {1, "sim:c"}));
  Finding finding(world);
  finding.finder.know_database(kDatabase);
  const std::uint64_t began_ns = finding.node.now_ns();
  Status outcome;
  bool ended = false;
  reactor::Gate gate;
  finding.node.spawn(gate, connect(&finding.client, &outcome, &ended));
  CHECK(finding.find());
  world.run_until([&] { return ended; });
  CHECK_FALSE(outcome.ok());
  CHECK(finding.node.now_ns() - began_ns < fabric::PatientClient::kPatience_ns);
}

}  // namespace namdb::compute
