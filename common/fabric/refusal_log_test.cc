#include "common/fabric/refusal_log.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "common/fabric/sim/world.h"
#include "common/fabric/unauthenticated_peers.h"

namespace namdb::fabric {
namespace {

reactor::Task<void> refuse_for(reactor::Executor* executor, RefusalLog* log, int count,
                               std::uint64_t interval_ns) {
  for (int i = 0; i < count; ++i) {
    log->refuse("10.0.0.1:" + std::to_string(1000 + i), "no key");
    co_await executor->sleep_for(interval_ns);
  }
}

TEST_CASE("refused connections of an address take a line a second, with their number") {
  sim::SimWorld world(1);
  sim::SimNode& node = world.add_node("server");
  std::vector<std::string> lines;
  RefusalLog log(node, [&](const std::string& line) { lines.push_back(line); });
  world.run(node, refuse_for(&node, &log, 2500, kMillisecond_ns));
  log.refuse("[::1]:99", "no key");
  world.run(node, log.close());
  REQUIRE(lines.size() >= 4);
  CHECK(lines.size() <= 6);
  CHECK(lines[0] == "10.0.0.1:1000 is refused: no key");
  std::size_t refused = 1;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::string begin = "10.0.0.1: ";
    if (!lines[i].starts_with(begin)) continue;
    refused += std::stoul(lines[i].substr(begin.size()));
    CHECK_THAT(lines[i], Catch::EndsWith(" more refused, the last one: no key"));
  }
  CHECK(refused == 2500);
  CHECK(std::count(lines.begin(), lines.end(), "[::1]:99 is refused: no key") == 1);
}

TEST_CASE("however many addresses are refused, few are remembered") {
  sim::SimWorld world(1);
  sim::SimNode& node = world.add_node("server");
  std::vector<std::string> lines;
  RefusalLog log(node, [&](const std::string& line) { lines.push_back(line); });
  for (int i = 0; i < 10'000; ++i) log.refuse("10.1." + std::to_string(i) + ".1:5", "no key");
  world.run(node, log.close());
  CHECK(lines.size() < 300);
  CHECK_THAT(lines.back(), Catch::StartsWith("other addresses: "));
}

TEST_CASE("unauthenticated peers have few seats, and the newest gets the oldest one's") {
  UnauthenticatedPeers peers(2);
  std::vector<int> evicted;
  const auto evict = [&](int number) { return [&evicted, number] { evicted.push_back(number); }; };
  UnauthenticatedPeers::Seat first = peers.enter(evict(1));
  const UnauthenticatedPeers::Seat second = peers.enter(evict(2));
  first.leave();
  const UnauthenticatedPeers::Seat third = peers.enter(evict(3));
  CHECK(evicted.empty());
  const UnauthenticatedPeers::Seat fourth = peers.enter(evict(4));
  CHECK(evicted == std::vector<int>{2});
  CHECK(peers.count() == 2);
}

}  // namespace
}  // namespace namdb::fabric
