#include "compute/cluster/soft_time.h"

#include <catch2/catch.hpp>

namespace namdb::txn {
namespace {

class FixedClock final : public Clock {
 public:
  std::uint64_t now_ns() const override { return now - 50; }  // cached
  std::uint64_t fresh_now_ns() const override { return now; }
  std::uint64_t now = 10 * kMillisecond_ns;
};

}  // namespace

TEST_CASE("a reading bounds the server's clock by the round trip that brought it", "[soft-time]") {
  FixedClock clock;
  SoftTime time(clock);
  CHECK(time.unknown());
  time.follow(5'000'000, clock.now - 1'000);
  CHECK(!time.unknown());
  CHECK(time.now().earliest_ns == 5'000'000);
  CHECK(time.now().latest_ns == 5'001'003);  // the clock may have drifted meanwhile
}

TEST_CASE("the bounds grow apart by what the two clocks may drift", "[soft-time]") {
  FixedClock clock;
  SoftTime time(clock);
  time.follow(5'000'000, clock.now);
  clock.now += 200 * kMillisecond_ns;
  CHECK(time.now().earliest_ns == 205'000'000 - 500'000);
  CHECK(time.now().latest_ns == 205'000'000 + 500'000);
}

TEST_CASE("all readings count: a slow one does not widen the bounds, a quick one narrows them",
          "[soft-time]") {
  FixedClock clock;
  SoftTime time(clock);
  time.follow(5'000'000, clock.now - 100);
  clock.now += 10'000;
  const TimeBounds before = time.now();
  time.follow(5'001'000, clock.now - 10'000);
  CHECK(time.now().earliest_ns == before.earliest_ns);
  CHECK(time.now().latest_ns == before.latest_ns);
  clock.now += 100 * kMillisecond_ns;
  const TimeBounds wide = time.now();
  time.follow(105'010'000, clock.now - 100);
  CHECK(time.now().width_ns() < wide.width_ns());
  CHECK(time.now().earliest_ns == 105'010'000);
}

TEST_CASE("a reading that contradicts the others is of another clock", "[soft-time]") {
  FixedClock clock;
  SoftTime time(clock);
  time.follow(500'000'000, clock.now - 100);
  clock.now += 1'000;
  time.follow(7'000, clock.now - 200);
  CHECK(time.now().earliest_ns == 7'000);
  CHECK(time.now().latest_ns == 7'201);
}

TEST_CASE("a moment is before or after now only beyond both bounds", "[soft-time]") {
  const TimeBounds now{1'000, 1'100};
  CHECK(now.after(999));
  CHECK(!now.after(1'000));
  CHECK(!now.after(1'050));
  CHECK(!now.before(1'050));
  CHECK(!now.before(1'100));
  CHECK(now.before(1'101));
}

}  // namespace namdb::txn
