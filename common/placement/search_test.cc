// Hosts that answer, hang, refuse, answer late, or belong to another database, in virtual time.
#include "common/placement/search.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/fabric/patient_client.h"
#include "common/fabric/sim/client.h"
#include "common/fabric/sim/world.h"
#include "common/placement/testing/simulated_host.h"

namespace namdb::placement {
namespace {

using fabric::sim::SimNode;
using fabric::sim::SimWorld;
using testing::SimulatedHost;

constexpr std::uint64_t kDatabase = 7;
constexpr std::uint64_t kHang_ns = 100 * kSecond_ns;
// Two regions, of flags.
const std::vector<std::string> kFlags{"sim:a", "sim:b"};

Configuration moved(std::size_t region, Place place, std::uint64_t database = kDatabase) {
  Configuration configuration(kFlags.size());
  configuration.set_database_id(database);
  configuration.set(region, std::move(place));
  return configuration;
}

struct Searcher {
  explicit Searcher(SimWorld& sim_world, std::uint64_t database = kDatabase)
      : world(sim_world), node(sim_world.add_node("searcher")), inner(node), client(node, inner) {
    if (database != 0) search.know_database(database);
    search.on_learned([this] { ++learned; });
  }
  ~Searcher() {
    world.run(node, search.settle());
    world.run(node, client.settle());
  }
  Searcher(const Searcher&) = delete;
  Searcher& operator=(const Searcher&) = delete;

  bool ask(const std::vector<std::string>& addresses) {
    std::vector<PlaceSearch::Host> hosts;
    for (const std::string& address : addresses) hosts.push_back({address, {}});
    return world.run(node, search.ask(&client, std::move(hosts)));
  }
  Place place(std::size_t region) const { return search.places().place(region); }

  SimWorld& world;
  SimNode& node;
  fabric::sim::SimClientFabric inner;
  fabric::PatientClient client;
  PlaceSearch search{node, [] { return std::string("hello"); }, Configuration(kFlags)};
  int learned = 0;
};

}  // namespace

TEST_CASE("of all hosts that answer the highest number is taken, in whatever order they are asked",
          "[search]") {
  const bool forwards = GENERATE(true, false);
  SimWorld world(1);
  const SimulatedHost a(world, "sim:a", moved(1, {1, "sim:c"}));
  const SimulatedHost b(world, "sim:b", moved(1, {2, "sim:d"}));
  const SimulatedHost none(world, "sim:none", Configuration(kFlags));
  Searcher searcher(world);
  CHECK(searcher.ask(forwards ? std::vector<std::string>{"sim:a", "sim:b", "sim:none"}
                              : std::vector<std::string>{"sim:none", "sim:b", "sim:a"}));
  CHECK(searcher.place(1) == Place{2, "sim:d"});
  CHECK(searcher.place(0) == Place{0, "sim:a"});
  CHECK(searcher.learned >= 1);
  // They know no more than that.
  CHECK_FALSE(searcher.ask({"sim:a", "sim:b", "sim:none"}));
  CHECK(searcher.place(1) == Place{2, "sim:d"});
}

TEST_CASE("hosts that hang or refuse hold up nobody", "[search]") {
  SimWorld world(1);
  SimulatedHost hung(world, "sim:a", moved(1, {9, "sim:x"}));
  world.pause(hung.node, kHang_ns);
  const SimulatedHost other(world, "sim:b", moved(1, {1, "sim:c"}));
  Searcher searcher(world);
  const std::uint64_t began_ns = searcher.node.now_ns();
  CHECK(searcher.ask({"sim:nobody", "sim:a", "sim:b", ""}));
  CHECK(searcher.node.now_ns() - began_ns < PlaceSearch::kPatience_ns);
  CHECK(searcher.place(1) == Place{1, "sim:c"});
  // Where nothing is learned they are waited for, and once only.
  CHECK_FALSE(searcher.ask({"sim:nobody", "sim:a", "sim:b"}));
  const std::uint64_t again_ns = searcher.node.now_ns();
  CHECK(again_ns - began_ns < 2 * fabric::PatientClient::kPatience_ns);
  for (int i = 0; i < 3; ++i) CHECK_FALSE(searcher.ask({"sim:a", "sim:b"}));
  CHECK(searcher.node.now_ns() - began_ns < kHang_ns);
}

TEST_CASE("an answer that comes late is learned all the same", "[search]") {
  SimWorld world(1);
  SimulatedHost late(world, "sim:a", moved(1, {1, "sim:c"}));
  world.pause(late.node, PlaceSearch::kPatience_ns + 100 * kMillisecond_ns);
  Searcher searcher(world);
  CHECK_FALSE(searcher.ask({"sim:a"}));
  CHECK(searcher.learned == 0);
  // It is not asked a second time meanwhile.
  CHECK_FALSE(searcher.ask({"sim:a"}));
  world.run(searcher.node, searcher.search.settle());
  CHECK(late.connects == 1);
  CHECK(searcher.learned == 1);
  CHECK(searcher.place(1) == Place{1, "sim:c"});
}

TEST_CASE("answers of hosts of another database are not learned", "[search]") {
  SimWorld world(1);
  const SimulatedHost stranger(world, "sim:a", moved(1, {5, "sim:x"}, kDatabase + 1));
  const SimulatedHost own(world, "sim:b", moved(1, {1, "sim:c"}));
  {
    Searcher searcher(world);
    CHECK(searcher.ask({"sim:a", "sim:b"}));
    CHECK(searcher.place(1) == Place{1, "sim:c"});
  }
  // Without its database's id it accepts no answer when two databases are named.
  Searcher searcher(world, 0);
  CHECK_FALSE(searcher.ask({"sim:a", "sim:b"}));
  CHECK(searcher.place(1) == Place{0, "sim:b"});
  CHECK(searcher.search.places().database_id() == 0);
  CHECK(searcher.ask({"sim:b"}));
  CHECK(searcher.search.places().database_id() == kDatabase);
  CHECK_FALSE(searcher.ask({"sim:a"}));
  CHECK(searcher.place(1) == Place{1, "sim:c"});
}

TEST_CASE("a host is asked over a connection that is there", "[search]") {
  SimWorld world(1);
  Searcher searcher(world);
  std::vector<PlaceSearch::Host> hosts;
  hosts.push_back({"sim:a", [](std::string request) -> reactor::Task<Result<std::string>> {
                     CHECK(Configuration::decode(request).has_value());
                     co_return moved(0, {3, "sim:c"}).encode();
                   }});
  CHECK(world.run(searcher.node, searcher.search.ask(&searcher.client, std::move(hosts))));
  CHECK(searcher.place(0) == Place{3, "sim:c"});
}

}  // namespace namdb::placement
