#include "compute/protocol/two_phase_locking/priority_clock.h"

#include <catch2/catch.hpp>

namespace namdb::protocol {
namespace {

class SetClock : public Clock {
 public:
  std::uint64_t now_ns() const override { return now; }
  std::uint64_t now = 1'000'000'000;
};

}  // namespace

TEST_CASE("priorities grow, are never given twice, and follow the greatest that is met", "[txn]") {
  SetClock clock;
  const txn::TimestampClock server(clock);
  PriorityClock priorities(clock, server);
  std::uint32_t last = priorities.next();
  for (int i = 0; i < 1000; ++i) {
    const std::uint32_t next = priorities.next();
    CHECK(layout::later(next, last));
    last = next;
  }
  priorities.meet(last + 50'000);
  const std::uint32_t after = priorities.next();
  CHECK(layout::later(after, last + 49'999));
  priorities.meet(last);  // an older one changes nothing
  CHECK(priorities.next() == after + 1);
  clock.now += std::uint64_t{1} << 46;  // the 32 bits have gone round many times
  for (int i = 0; i < 10; ++i) CHECK(priorities.next() != 0);
}

TEST_CASE("priorities of machines that have run for different times are ordered as they are drawn", "[txn]") {
  constexpr std::uint64_t kHour_ns = 3600 * kSecond_ns;
  const std::uint64_t server_ns = 100 * kHour_ns;
  // A third of the 32 bits' round lies between each two of them.
  SetClock clocks[3];
  clocks[0].now = kHour_ns;
  clocks[1].now = kHour_ns + (std::uint64_t{1} << 32) / 3 * PriorityClock::kTick_ns;
  clocks[2].now = kHour_ns + (std::uint64_t{2} << 32) / 3 * PriorityClock::kTick_ns;
  std::uint32_t last = 0;
  for (std::uint64_t i = 0; i < 3; ++i) {
    txn::TimestampClock server(clocks[i]);
    server.follow(server_ns, clocks[i].now);
    clocks[i].now += (i + 1) * kSecond_ns;
    const std::uint32_t drawn = PriorityClock(clocks[i], server).next();
    if (i > 0) CHECK(layout::later(drawn, last));
    last = drawn;
  }
}

TEST_CASE("workers draw priorities in the order of the clock, however late their first or their next one",
          "[txn]") {
  // More than half of the 32 bits' round.
  constexpr std::uint64_t kTenHours_ns = 36'000 * kSecond_ns;
  SetClock clock;
  const txn::TimestampClock server(clock);
  PriorityClock idle(clock, server);
  static_cast<void>(idle.next());
  for (int round = 0; round < 5; ++round) {
    clock.now += kTenHours_ns;
    PriorityClock first(clock, server);
    const std::uint32_t earliest = first.next();
    clock.now += kSecond_ns;
    const std::uint32_t middle = idle.next();
    CHECK(layout::later(middle, earliest));
    clock.now += kSecond_ns;
    CHECK(layout::later(first.next(), middle));
  }
}

TEST_CASE(
    "workers of one machine draw priorities in the order of its clock, whatever they think of server 0's",
    "[txn]") {
  SetClock clock;
  txn::TimestampClock one(clock);
  txn::TimestampClock other(clock);
  one.follow(clock.now + 400 * kMicrosecond_ns, clock.now);
  other.follow(clock.now - 300 * kMicrosecond_ns, clock.now);
  PriorityClock first(clock, one);
  PriorityClock second(clock, other);
  for (int i = 0; i < 10; ++i) {
    const std::uint32_t earlier = first.next();
    clock.now += 2 * PriorityClock::kTick_ns;
    CHECK(layout::later(second.next(), earlier));
    clock.now += 2 * PriorityClock::kTick_ns;
  }
}

}  // namespace namdb::protocol
