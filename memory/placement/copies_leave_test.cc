// A primary with a copy in sync: the store's answers are lost or come late, a primary is stopped, a tool
// moves the region, and copies come and leave.
#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "memory/placement/testing/two_hosts.h"

namespace namdb::memory {

using namespace copies_test;

TEST_CASE("checkpoints of two primaries that begin at the same one do not meet", "[placement]") {
  Pair pair;
  pair.await_sync();
  REQUIRE(pair.primary->life().checkpoint().ok());
  REQUIRE(pair.writer.insert());
  pair.world().run_for(kSecond_ns);
  // The copy has the log, and not this one.
  REQUIRE(pair.writer.insert());
  REQUIRE(pair.primary->life().checkpoint().ok());
  lose(*pair.primary, *pair.copy);
  REQUIRE(pair.world().run_until([&] { return pair.copy->here(); }, 10 * kSecond_ns));
  pair.copy.reset();
  pair.primary.reset();
  PrimaryProcess primary(pair.other.disk, End::killed, pair.shared, kSecond);
  REQUIRE(primary.life().status().ok());
  Writer writer(primary, pair.told);
  REQUIRE(writer.insert());
  REQUIRE(writer.insert());
  REQUIRE(primary.life().checkpoint().ok());
  CHECK(checkpoints_fit(primary.world(), primary.node(), pair.other.disk, *pair.first));
  // The old primary goes on from both.
  auto copy = std::make_unique<CopyProcess>(primary.world(), *pair.first, End::killed, pair.shared, kFirst);
  REQUIRE(writer.until([&] { return copy->in_sync(); }));
  REQUIRE(primary.life().checkpoint().ok());
  primary.world().run_for(kSecond_ns);
  CHECK(checkpoints_fit(primary.world(), primary.node(), pair.other.disk, *pair.first));
  lose(primary, *copy);
  REQUIRE(primary.world().run_until([&] { return copy->here(); }, 10 * kSecond_ns));
  copy.reset();
  CHECK(pair.told.is(opened_rows(*pair.first, End::power_lost)));
}

TEST_CASE("a copy takes over though the store's answer is lost, or comes late", "[placement]") {
  Pair pair;
  pair.await_sync();
  const bool late = GENERATE(false, true);
  if (late) {
    pair.copy->store().come_late(300 * kMillisecond_ns);
  } else {
    pair.copy->store().lose_answer();
  }
  lose(*pair.primary, *pair.copy);
  REQUIRE(pair.world().run_until([&] { return pair.copy->here(); }, 10 * kSecond_ns));
  CHECK(place_in(pair.shared) == Place{3, kSecond, {}});
  CHECK(pair.copy_has_all());
}

TEST_CASE("a copy that is told to end while it makes what is derived ends, and takes over when it is back",
          "[placement]") {
  Pair pair;
  pair.await_sync();
  REQUIRE(pair.world().run_until([&] { return pair.copy->has_applied(); }, kSecond_ns));
  DeriveStep& step = pair.copy->derive_step();
  step.waits = true;
  lose(*pair.primary, *pair.copy);
  REQUIRE(pair.world().run_until([&] { return step.begun; }, 10 * kSecond_ns));
  CHECK(place_in(pair.shared) == Place{3, kSecond, {}});
  // Of a process that does not end the world would say so.
  pair.copy.reset();
  pair.copy = std::make_unique<CopyProcess>(pair.world(), pair.other.disk, End::killed, pair.shared, kSecond);
  REQUIRE(pair.world().run_until([&] { return pair.copy->here(); }, 10 * kSecond_ns));
  CHECK(place_in(pair.shared) == Place{3, kSecond, {}});
  CHECK(pair.copy_has_all());
}

TEST_CASE("a copy comes and goes though the store's answers to the primary are lost, or come late",
          "[placement]") {
  Pair pair;
  const bool late = GENERATE(false, true);
  const auto disturb = [&] {
    if (late) {
      pair.primary->store().come_late(200 * kMillisecond_ns);
    } else {
      pair.primary->store().lose_answer();
    }
  };
  disturb();
  pair.await_sync();
  REQUIRE(place_in(pair.shared).copies == std::vector<std::string>{kSecond});
  disturb();
  pair.world().block(pair.primary->node(), pair.copy->node(), true);
  pair.copy->store().set_reachable(false);
  REQUIRE(pair.writer.insert());
  CHECK(place_in(pair.shared).copies.empty());
  pair.world().block(pair.primary->node(), pair.copy->node(), false);
  pair.copy->store().set_reachable(true);
  pair.await_sync();
  lose(*pair.primary, *pair.copy);
  REQUIRE(pair.world().run_until([&] { return pair.copy->here(); }, 10 * kSecond_ns));
  CHECK(pair.copy_has_all());
}

TEST_CASE("a copy that the primary has dismissed does not take over, and a lease tells who may be read",
          "[placement]") {
  Pair pair;
  pair.await_sync();
  CHECK(pair.primary->has_lease());
  // The primary alone reaches the store.
  pair.world().block(pair.primary->node(), pair.copy->node(), true);
  pair.copy->store().set_reachable(false);
  pair.world().run_for(700 * kMillisecond_ns);
  CHECK_FALSE(pair.primary->has_lease());
  REQUIRE(pair.writer.insert());
  CHECK(place_in(pair.shared) == Place{3, kFirst, {}});
  CHECK(pair.primary->has_lease());
  pair.copy->store().set_reachable(true);
  pair.world().run_for(5 * kSecond_ns);
  CHECK_FALSE(pair.copy->ended());
  CHECK(pair.primary->has_lease());
  // It comes back, and counts again.
  pair.world().block(pair.primary->node(), pair.copy->node(), false);
  pair.await_sync();
  // No host reaches the store: all goes on.
  pair.primary->store().set_reachable(false);
  pair.copy->store().set_reachable(false);
  pair.world().run_for(3 * kSecond_ns);
  REQUIRE(pair.writer.insert());
  CHECK(pair.copy->in_sync());
  CHECK(pair.primary->has_lease());
}

TEST_CASE("a primary that was stopped is deposed, and has no lease from the moment when its copy opens",
          "[placement]") {
  Pair pair;
  pair.await_sync();
  pair.world().pause(pair.primary->node(), 4 * kSecond_ns);
  REQUIRE(pair.world().run_until([&] { return pair.copy->here(); }, 3 * kSecond_ns));
  CHECK_FALSE(pair.primary->has_lease());
  pair.world().run_for(4 * kSecond_ns);
  CHECK(pair.primary->copies().deposed());
  CHECK(pair.primary->over());
  CHECK_FALSE(pair.primary->failed());
  CHECK(pair.copy_has_all());
}

TEST_CASE("a primary gives its region to a copy, and is a host without one", "[placement]") {
  Pair pair;
  CHECK(pair.call(kFirst, placement::kLeaveMethod, encode(placement::LeaveRequest{})).code() ==
        ErrorCode::object_not_in_prerequisite_state);
  pair.await_sync();
  CHECK(pair.call(kFirst, placement::kLeaveMethod, encode(placement::LeaveRequest{"sim:nobody", false}))
            .code() == ErrorCode::object_not_in_prerequisite_state);
  REQUIRE(pair.call(kFirst, placement::kLeaveMethod, encode(placement::LeaveRequest{})).ok());
  CHECK(place_in(pair.shared) == Place{3, kSecond, {}});
  CHECK(pair.primary->over());
  CHECK(pair.primary->state() == PlaceState::departed);
  REQUIRE(pair.world().run_until([&] { return pair.copy->here(); }, 3 * kSecond_ns));
  CHECK(pair.copy_has_all());
}

TEST_CASE("a primary has given its region away though the store's answer is lost, or comes late",
          "[placement]") {
  Pair pair;
  pair.await_sync();
  if (GENERATE(false, true)) {
    pair.primary->store().come_late(300 * kMillisecond_ns);
  } else {
    pair.primary->store().lose_answer();
  }
  CHECK(pair.call(kFirst, placement::kLeaveMethod, encode(placement::LeaveRequest{})).ok());
  CHECK(place_in(pair.shared) == Place{3, kSecond, {}});
  CHECK(pair.primary->state() == PlaceState::departed);
  REQUIRE(pair.world().run_until([&] { return pair.copy->here(); }, 3 * kSecond_ns));
  CHECK(pair.copy_has_all());
}

TEST_CASE("an order to leave that the store has not answered is kept in mind", "[placement]") {
  Pair pair;
  pair.await_sync();
  // The caller goes before the store is back.
  pair.primary->store().come_late(kSecond_ns);
  pair.primary->store().before_replace([&] { pair.primary->store().set_reachable(false); });
  pair.world().at(pair.world().now_ns() + 30 * kSecond_ns,
                  [&] { pair.primary->store().set_reachable(true); });
  CHECK_FALSE(pair.call(kFirst, placement::kLeaveMethod, encode(placement::LeaveRequest{})).ok());
  REQUIRE(pair.world().run_until([&] { return pair.primary->over(); }, 60 * kSecond_ns));
  CHECK(pair.primary->state() == PlaceState::departed);
}

TEST_CASE("a copy that leaves while it is cut off is off the list before that is answered", "[placement]") {
  Pair pair;
  pair.await_sync();
  pair.world().block(pair.primary->node(), pair.copy->node(), true);
  pair.primary->store().set_reachable(false);
  // It reaches the store, which lists it, and is about to take over.
  pair.copy->store().set_reachable(false);
  pair.world().run_for(800 * kMillisecond_ns);
  CHECK(pair.call(kSecond, placement::kLeaveMethod, encode(placement::LeaveRequest{})).code() ==
        ErrorCode::object_not_in_prerequisite_state);
  std::optional<Status> left;
  pair.call_later(kSecond, placement::kLeaveMethod, encode(placement::LeaveRequest{"", true}), &left);
  pair.world().run_for(kSecond_ns);
  CHECK_FALSE(left.has_value());
  pair.primary->store().set_reachable(true);
  REQUIRE(pair.writer.insert());
  pair.copy->store().set_reachable(true);
  REQUIRE(pair.world().run_until([&] { return left.has_value(); }, 3 * kSecond_ns));
  CHECK(left->ok());
  CHECK(place_in(pair.shared) == Place{3, kFirst, {}});
  CHECK(pair.copy->state() == PlaceState::departed);
}

TEST_CASE("a copy leaves, unless it is the only one in sync, and comes back when it is told to",
          "[placement]") {
  Pair pair;
  pair.await_sync();
  CHECK(pair.call(kSecond, placement::kLeaveMethod, encode(placement::LeaveRequest{})).code() ==
        ErrorCode::object_not_in_prerequisite_state);
  REQUIRE(pair.call(kSecond, placement::kLeaveMethod, encode(placement::LeaveRequest{"", true})).ok());
  CHECK(place_in(pair.shared) == Place{3, kFirst, {}});
  CHECK(pair.copy->state() == PlaceState::departed);
  REQUIRE(pair.writer.insert());
  REQUIRE(pair.call(kSecond, placement::kCopyMethod, encode(placement::CopyRequest{0})).ok());
  pair.await_sync();
}

}  // namespace namdb::memory
