// Copies and primaries that meet bad input: a store with an older value, a full disk, a folder of another
// database, a host of another version.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/calls/protocol_version.h"
#include "memory/placement/testing/two_hosts.h"
#include "proto/control.pb.h"

namespace namdb::memory {

using namespace copies_test;

namespace copies_refused_test {

// A primary that runs another version.
struct Stranger final : fabric::Service {
  Result<std::string> on_connect(fabric::PeerId /*peer*/, std::string_view /*hello*/) override {
    ++connections;
    control::Welcome welcome;
    welcome.set_protocol_version(calls::kProtocolVersion + 1);
    welcome.set_server_count(1);
    welcome.set_epoch(5);
    return welcome.SerializeAsString();
  }
  reactor::Task<Status> on_call(fabric::PeerId /*peer*/, std::uint16_t /*method*/,
                                std::string_view /*request*/, std::string& /*reply*/) override {
    ++called;
    co_return Status(ErrorCode::protocol_violation, "there is no such call");
  }
  void on_disconnect(fabric::PeerId /*peer*/) override {}

  int connections = 0;
  int called = 0;
};

}  // namespace copies_refused_test

using namespace copies_refused_test;

TEST_CASE("with a store that was set back to an older value nothing changes hands, and the primary goes on",
          "[placement]") {
  Pair pair;
  pair.await_sync();
  const auto before = pair.shared.stored;
  REQUIRE(before.configuration.place(0) == Place{2, kFirst, {kSecond}});
  pair.world().block(pair.primary->node(), pair.copy->node(), true);
  pair.copy->store().set_reachable(false);
  // The copy lacks it, and is off the list, as it reads there afterwards.
  REQUIRE(pair.writer.insert());
  REQUIRE(place_in(pair.shared) == Place{3, kFirst, {}});
  pair.copy->store().set_reachable(true);
  pair.world().run_for(2 * kSecond_ns);
  pair.shared.stored = before;
  pair.world().run_for(10 * kSecond_ns);
  CHECK_FALSE(pair.copy->ended());
  CHECK(has_line(pair.copy->lines(), "has place 2 of the region, and this host knows place 3"));
  CHECK_FALSE(pair.primary->copies().deposed());
  REQUIRE(pair.writer.insert());
  CHECK(place_in(pair.shared) == Place{2, kFirst, {kSecond}});
}

TEST_CASE("a primary does not give up its region by an older value of the store", "[placement]") {
  Pair pair;
  pair.await_sync();
  auto before = pair.shared.stored;
  const std::uint64_t revision = before.revision;
  before.configuration.set(0, {1, kSecond, {kFirst}});
  before.revision = 1;
  pair.shared.stored = before;
  // It reads the store when it cannot change it.
  pair.world().block(pair.primary->node(), pair.copy->node(), true);
  pair.world().run_for(5 * kSecond_ns);
  CHECK_FALSE(pair.primary->copies().deposed());
  CHECK_FALSE(pair.copy->ended());
  CHECK(place_in(pair.shared) == Place{1, kSecond, {kFirst}});
  // Nor does it change that value when the other history comes to the revision that it knows of its own.
  pair.shared.stored.revision = revision;
  pair.world().run_for(5 * kSecond_ns);
  CHECK(place_in(pair.shared) == Place{1, kSecond, {kFirst}});
  pair.world().block(pair.primary->node(), pair.copy->node(), false);
  // The copy counts as before.
  REQUIRE(pair.writer.insert());
  CHECK(pair.copy->in_sync());
}

TEST_CASE("a copy that finds no value in the store takes nothing over, and waits", "[placement]") {
  Pair pair;
  pair.await_sync();
  pair.shared.stored = {};
  lose(*pair.primary, *pair.copy);
  pair.primary->store().set_reachable(true);
  pair.world().run_for(10 * kSecond_ns);
  CHECK_FALSE(pair.copy->ended());
  CHECK(pair.shared.stored.revision == 0);
}

TEST_CASE("a host whose disk is full while it joins ends, the primary goes on, and with room it joins",
          "[placement]") {
  Machine machine;
  Told told;
  const std::unique_ptr<FaultDisk> first = finished_disk(machine, told);
  Machine other;
  SharedConfiguration shared;
  PrimaryProcess primary(*first, End::killed, shared, kFirst);
  Writer writer(primary, told);
  std::uint64_t capacity_bytes = 32U << 10;
  bool joined = false;
  int refused = 0;
  for (; !joined; capacity_bytes *= 2) {
    INFO("room for " << capacity_bytes << " bytes");
    other.disk.set_capacity(capacity_bytes);
    CopyProcess copy(primary.world(), other.disk, End::killed, shared, kSecond);
    REQUIRE(writer.until([&] { return copy.ended() || copy.in_sync(); }));
    joined = copy.in_sync();
    if (joined) break;
    ++refused;
    CHECK(copy.status().code() == kDiskFull);
    CHECK(place_in(shared).copies.empty());
    REQUIRE(writer.insert());
    CHECK_FALSE(primary.failed());
  }
  CHECK(refused > 0);
  other.disk.set_capacity(FaultDisk::kNever);
}

TEST_CASE("a host with a folder of another database is refused, and changes nothing", "[placement]") {
  Machine machine;
  Told told;
  const std::unique_ptr<FaultDisk> first = finished_disk(machine, told);
  Machine other;
  SharedConfiguration shared;
  PrimaryProcess primary(*first, End::killed, shared, kFirst);
  {
    SimNode& node = primary.world().add_node("before");
    other.disk.restart(End::killed, node);
    PlaceRecord record = placed_record();
    record.database_id = testing::kDatabaseId + 1;
    record.state = PlaceState::follows;
    const auto keeper = load_keeper(primary.world(), node, other.disk, record);
    REQUIRE(primary.world().run(node, keeper->store(record)).ok());
  }
  CopyProcess copy(primary.world(), other.disk, End::killed, shared, kSecond);
  REQUIRE(primary.world().run_until([&] { return copy.ended(); }, 10 * kSecond_ns));
  CHECK(copy.status().code() == ErrorCode::configuration);
  CHECK(copy.status().message().find("another database") != std::string::npos);
  CHECK(place_in(shared) == Place{1, kFirst, {}});
  Writer writer(primary, told);
  CHECK(writer.insert());
}

TEST_CASE("a host names a primary of another version, asks it nothing, and tries again", "[placement]") {
  SimWorld world(1);
  SimNode& node = world.add_node("stranger");
  std::vector<std::uint64_t> memory(64);
  Stranger stranger;
  fabric::sim::SimServerFabric fabric(node, std::as_writable_bytes(std::span(memory)), stranger);
  REQUIRE(world.run(node, fabric.listen(kFirst)).ok());
  SharedConfiguration shared;
  placement::Configuration configuration(1);
  configuration.set_database_id(testing::kDatabaseId);
  configuration.set(0, {1, kFirst, {}});
  shared.stored = {1, configuration};
  Machine machine;
  {
    CopyProcess copy(world, machine.disk, End::killed, shared, kSecond);
    world.run_for(5 * kSecond_ns);
    CHECK_FALSE(copy.ended());
    CHECK(has_line(copy.lines(), "another version of namdb is there"));
  }
  CHECK(stranger.connections > 1);
  CHECK(stranger.called == 0);
  CHECK(place_in(shared) == Place{1, kFirst, {}});
  world.run(node, fabric.close());
}

}  // namespace namdb::memory
