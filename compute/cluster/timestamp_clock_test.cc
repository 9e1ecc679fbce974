#include "compute/cluster/timestamp_clock.h"

#include <catch2/catch.hpp>

namespace namdb::txn {
namespace {

class SetClock final : public Clock {
 public:
  std::uint64_t now_ns() const override { return now; }
  std::uint64_t now = 1'000'000;
};

}  // namespace

TEST_CASE("timestamps grow, follow memory server 0's clock, and go after those that are met", "[txn]") {
  SetClock clock;
  TimestampClock timestamps(clock);
  const std::uint64_t first = timestamps.next();
  CHECK(timestamps.next() > first);
  // Half of the round trip of 2,000 ns has passed since the server read its clock.
  timestamps.follow(50'000'000, 998'000);
  CHECK(timestamps.next() == 50'001'000);
  clock.now += 500;
  CHECK(timestamps.next() == 50'001'500);
  timestamps.meet(60'000'000);
  CHECK(timestamps.next() == 60'000'001);
  CHECK(timestamps.next() == 60'000'002);
  // The clock of another is ahead: this one is not set by it.
  clock.now += 10'000'000;
  CHECK(timestamps.next() == 60'001'500);
  // The server's clock is behind what was thought: no timestamp comes again.
  timestamps.follow(50'000'000, clock.now);
  CHECK(timestamps.next() == 60'001'501);
}

}  // namespace namdb::txn
