// Stores that were set back to an older value, and have gone on from it, or will not: hosts tell that history
// from their own, by their records, too, and say what they wait for.
#include <catch2/catch.hpp>
#include <string>

#include "memory/placement/testing/two_hosts.h"

namespace namdb::memory {

using namespace copies_test;

namespace copies_history_test {

// Puts a value there whose place of the region is that one.
void set_store(SharedConfiguration& shared, Place place) {
  shared.stored.configuration.set(0, std::move(place));
  shared.stored.revision += 100;
}

}  // namespace copies_history_test

using namespace copies_history_test;

TEST_CASE("a folder from which was answered without its copy is not opened by a value that lists the copy",
          "[placement]") {
  Pair pair;
  pair.await_sync();
  const auto before = pair.shared.stored;
  pair.copy.reset();
  REQUIRE(pair.writer.insert());
  REQUIRE(place_in(pair.shared) == Place{3, kFirst, {}});
  pair.primary.reset();
  pair.shared.stored = before;
  PrimaryProcess again(*pair.first, End::power_lost, pair.shared, kFirst);
  REQUIRE(again.life().status().ok());
  CHECK(again.failed());
  CHECK(again.refusal().message() ==
        "the configuration store memory has place 2 of the region, and this host knows place 3");
}

TEST_CASE("a primary knows its place durably before it answers", "[placement]") {
  Machine machine;
  Told told;
  const std::unique_ptr<FaultDisk> first = finished_disk(machine, told);
  SharedConfiguration shared;
  {
    PrimaryProcess primary(*first, End::killed, shared, kFirst);
    Writer writer(primary, told);
    REQUIRE(writer.insert());
    REQUIRE(place_in(shared) == Place{1, kFirst, {}});
  }
  SimWorld world(1);
  SimNode& node = world.add_node("afterwards");
  first->restart(End::power_lost, node);
  const auto keeper = load_keeper(world, node, *first, vacant_record());
  CHECK(keeper->record().state == PlaceState::here);
  CHECK(keeper->record().configuration.place(0) == Place{1, kFirst, {}});
}

TEST_CASE("a primary says which copies keep it from answering when they follow and take nothing",
          "[placement]") {
  Pair pair;
  pair.await_sync();
  pair.copy.reset();
  REQUIRE(pair.writer.insert());
  pair.primary.reset();
  // One that this host's record fits. The copy knows a later place.
  set_store(pair.shared, {4, kFirst, {kSecond}});
  PrimaryProcess primary(*pair.first, End::killed, pair.shared, kFirst);
  REQUIRE_FALSE(primary.failed());
  {
    SimNode& node = primary.world().add_node("before");
    pair.other.disk.restart(End::killed, node);
    const auto keeper = load_keeper(primary.world(), node, pair.other.disk, vacant_record());
    PlaceRecord record = keeper->record();
    record.configuration.set(0, {9, kFirst, {}});
    REQUIRE(primary.world().run(node, keeper->store(std::move(record))).ok());
  }
  const CopyProcess copy(primary.world(), pair.other.disk, End::killed, pair.shared, kSecond);
  primary.world().run_for(10 * kSecond_ns);
  CHECK_FALSE(primary.copies().holds_lease());
  CHECK(
      has_line(primary.lines(),
               "nothing is answered before copies in sync have the log that was here at the start, and these "
               "do not take it; their logs say why: sim:n0"));
  CHECK(has_line(copy.lines(), "has place 4 of the region, and this host knows place 9"));
}

TEST_CASE("a store that has another place of the number that hosts know takes no region from them",
          "[placement]") {
  Pair pair;
  pair.await_sync();
  const Place known{2, kFirst, {kSecond}};
  REQUIRE(place_in(pair.shared) == known);
  const Place other = GENERATE(Place{2, kSecond, {kFirst}}, Place{2, kSecond, {}}, Place{2, kFirst, {}});
  set_store(pair.shared, other);
  pair.world().block(pair.primary->node(), pair.copy->node(), true);
  pair.world().run_for(5 * kSecond_ns);
  CHECK_FALSE(pair.primary->copies().deposed());
  CHECK_FALSE(pair.copy->ended());
  const std::string line = "has " + other.text() + " of the region, and this host knows " + known.text();
  CHECK(has_line(pair.primary->lines(), line));
  CHECK(has_line(pair.copy->lines(), line));
  CHECK(place_in(pair.shared) == other);
  pair.world().block(pair.primary->node(), pair.copy->node(), false);
  REQUIRE(pair.writer.insert());
  CHECK(pair.copy->in_sync());
}

TEST_CASE("a primary without copies hears that the store was set back, and that it is deposed",
          "[placement]") {
  Machine machine;
  Told told;
  const std::unique_ptr<FaultDisk> first = finished_disk(machine, told);
  SharedConfiguration shared;
  PrimaryProcess primary(*first, End::killed, shared, kFirst);
  Writer writer(primary, told);
  REQUIRE(writer.insert());
  SECTION("set back") {
    set_store(shared, {1, kSecond, {}});
    primary.world().run_for(3 * kSecond_ns);
    CHECK(has_line(primary.lines(),
                   "has place 1 at sim:n0 of the region, and this host knows place 1 at "
                   "sim:m0; no copy comes or goes"));
    CHECK_FALSE(primary.copies().deposed());
    CHECK(writer.insert());
  }
  SECTION("deposed") {
    set_store(shared, {2, kSecond, {}});
    primary.world().run_for(3 * kSecond_ns);
    CHECK(primary.copies().deposed());
    CHECK(primary.state() == PlaceState::follows);
  }
}

TEST_CASE("a copy that cannot learn whether it has taken over says so, and follows again", "[placement]") {
  Pair pair;
  pair.await_sync();
  pair.copy->store().before_replace([&] { set_store(pair.shared, {1, kFirst, {}}); });
  lose(*pair.primary, *pair.copy);
  const std::string line = "does not know whether it has taken over";
  REQUIRE(pair.world().run_until([&] { return has_line(pair.copy->lines(), line); }, 10 * kSecond_ns));
  CHECK(has_line(pair.copy->lines(), "has place 1 of the region, and this host knows place 2"));
  pair.world().block(pair.primary->node(), pair.copy->node(), false);
  pair.primary->store().set_reachable(true);
  pair.world().run_for(15 * kSecond_ns);
  CHECK_FALSE(pair.copy->ended());
  CHECK(pair.copy->in_sync());
  CHECK(pair.writer.insert());
}

TEST_CASE("a copy in sync that dies while the store's value is older is told of, and not counted",
          "[placement]") {
  Pair pair;
  pair.await_sync();
  CHECK(pair.primary->copies().in_sync() == 1);
  set_store(pair.shared, {1, kFirst, {}});
  pair.world().run_for(2 * kSecond_ns);
  CHECK(pair.primary->copies().in_sync() == 1);
  REQUIRE(pair.writer.insert());
  pair.copy.reset();
  pair.world().run_for(3 * kSecond_ns);
  CHECK(pair.primary->copies().in_sync() == 0);
  CHECK(has_line(pair.primary->lines(),
                 "commits wait for copies that do not answer, and cannot be taken off the list of those in "
                 "sync now: sim:n0"));
  // It may take over by a later value.
  CHECK_FALSE(pair.primary->copies().holds_lease());
}

TEST_CASE("a copy that no value lists stops to count when it dies, also while the store's value is older",
          "[placement]") {
  Machine machine;
  Told told;
  const std::unique_ptr<FaultDisk> first = finished_disk(machine, told);
  Machine other;
  SharedConfiguration shared;
  PrimaryProcess primary(*first, End::killed, shared, kFirst);
  Writer writer(primary, told);
  bool set_back = false;
  primary.store().before_replace([&] {
    set_store(shared, {1, kSecond, {}});
    set_back = true;
  });
  {
    const CopyProcess copy(primary.world(), other.disk, End::killed, shared, kSecond);
    REQUIRE(writer.until([&] { return set_back; }));
    REQUIRE(writer.insert());
  }
  CHECK(writer.insert());
  CHECK(primary.copies().holds_lease());
}

}  // namespace namdb::memory
