// A region with a copy at another host, in virtual time, while a client commits. Disks and hosts end, the
// network and the store fail: all that was acknowledged is there afterwards, and the store names the host
// that has it.
#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>

#include "memory/placement/testing/two_hosts.h"

namespace namdb::memory {

using namespace copies_test;

TEST_CASE("a copy joins while a client commits, takes over, and the old primary becomes its copy",
          "[placement]") {
  Machine machine;
  Told told;
  const std::unique_ptr<FaultDisk> first = finished_disk(machine, told);
  Machine other;
  SharedConfiguration shared;
  const End end = GENERATE(End::killed, End::power_lost);
  {
    PrimaryProcess primary(*first, End::killed, shared, kFirst);
    CHECK(place_in(shared) == Place{1, kFirst, {}});
    CHECK(primary.has_lease());
    CopyProcess copy(primary.world(), other.disk, End::killed, shared, kSecond);
    Writer writer(primary, told);
    REQUIRE(writer.until([&] { return copy.in_sync(); }));
    CHECK(place_in(shared) == Place{2, kFirst, {kSecond}});
    CHECK(primary.has_lease());
    // New checkpoints come, and the log goes on.
    int commits = 0;
    REQUIRE(primary.life().checkpoint().ok());
    REQUIRE(writer.until([&] { return ++commits > 100; }));
    REQUIRE(primary.life().checkpoint().ok());
    REQUIRE(writer.until([&] { return ++commits > 150; }));
    CHECK(copy.in_sync());
    REQUIRE(primary.world().run_until([&] { return copy.has_applied(); }, kSecond_ns));
    // The client learns nothing of what the copy does not have.
    lose(primary, copy);
    primary.world().at(primary.node().now_ns() + 5 * kSecond_ns,
                       [&] { primary.store().set_reachable(true); });
    CHECK_FALSE(writer.insert());
    CHECK(copy.here());
    CHECK(copy.has_image());
    CHECK(place_in(shared) == Place{3, kSecond, {}});
    CHECK(primary.over());
    CHECK_FALSE(primary.failed());
    CHECK(primary.copies().deposed());
    CHECK_FALSE(primary.has_lease());
    CHECK(primary.life().connect().code() == ErrorCode::cannot_connect_now);
  }
  {
    PrimaryProcess primary(other.disk, end, shared, kSecond);
    REQUIRE(primary.life().status().ok());
    REQUIRE(told.is(primary.life().rows()));
    told.rows = primary.life().rows();
    CopyProcess copy(primary.world(), *first, end, shared, kFirst);
    Writer writer(primary, told);
    REQUIRE(writer.until([&] { return copy.in_sync(); }));
    int commits = 0;
    REQUIRE(writer.until([&] { return ++commits > 20; }));
    for (const std::string& line : copy.lines()) {
      INFO(line);
      CHECK(line.find("anew") == std::string::npos);
    }
  }
  CHECK(told.is(opened_rows(*first, End::power_lost)));
  CHECK(told.is(opened_rows(other.disk, End::power_lost)));
}

TEST_CASE("whatever step the primary's disk ends at, one host has the region, and all of it", "[placement]") {
  const End end = GENERATE(End::killed, End::power_lost);
  bool whole = false;
  bool taken_over = false;
  bool stayed = false;
  for (std::uint64_t step = 0; !whole; step += 1 + step / 8) {
    INFO("step " << step);
    Machine machine;
    Told told;
    const std::unique_ptr<FaultDisk> first = finished_disk(machine, told);
    Machine other;
    SharedConfiguration shared;
    {
      PrimaryProcess primary(*first, End::killed, shared, kFirst, step);
      if (primary.failed()) {
        stayed = true;
      } else {
        CopyProcess copy(primary.world(), other.disk, End::killed, shared, kSecond);
        Writer writer(primary, told);
        int commits = 0;
        whole = writer.until([&] { return copy.in_sync() && ++commits > 10; }, 300) && !first->stopped();
        REQUIRE((whole || first->stopped()));
        lose(primary, copy);
        primary.world().run_until([&] { return copy.ended(); }, 6 * kSecond_ns);
        CHECK(copy.ended() == (place_in(shared).address == kSecond));
        (copy.here() ? taken_over : stayed) = true;
        first->restart(end);
        first->stop_at(FaultDisk::kNever);
      }
    }
    const bool second = shared.stored.revision != 0 && place_in(shared).address == kSecond;
    FaultDisk& disk = second ? other.disk : *first;
    CHECK(told.is(opened_rows(disk, end)));
  }
  CHECK(taken_over);
  CHECK(stayed);
}

TEST_CASE("whatever step the copy's disk ends at, the primary goes on, and the copy comes back",
          "[placement]") {
  const End end = GENERATE(End::killed, End::power_lost);
  bool whole = false;
  for (std::uint64_t step = 0; !whole; step += 1 + step / 4) {
    INFO("step " << step);
    Machine machine;
    Told told;
    const std::unique_ptr<FaultDisk> first = finished_disk(machine, told);
    Machine other;
    SharedConfiguration shared;
    {
      PrimaryProcess primary(*first, End::killed, shared, kFirst);
      Writer writer(primary, told);
      int commits = 0;
      {
        CopyProcess copy(primary.world(), other.disk, End::killed, shared, kSecond, step);
        whole = writer.until([&] { return copy.ended() || (copy.in_sync() && ++commits > 10); }) &&
                !copy.ended() && !other.disk.stopped();
        if (!whole) {
          REQUIRE(writer.until([&] { return copy.ended(); }));
          CHECK_FALSE(copy.status().ok());
        }
      }
      // Without it.
      commits = 0;
      REQUIRE(writer.until([&] { return ++commits > 3 && place_in(shared).copies.empty(); }));
      CopyProcess copy(primary.world(), other.disk, end, shared, kSecond);
      REQUIRE(writer.until([&] { return copy.in_sync(); }));
      REQUIRE(writer.insert());
      lose(primary, copy);
      REQUIRE(primary.world().run_until([&] { return copy.here(); }, 6 * kSecond_ns));
    }
    CHECK(told.is(opened_rows(other.disk, End::power_lost)));
  }
}

}  // namespace namdb::memory
