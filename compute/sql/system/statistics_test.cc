#include "compute/sql/system/statistics.h"

#include <catch2/catch.hpp>
#include <map>

namespace namdb::sql {

TEST_CASE("statistics of all workers are added up by name and metric", "[statistics]") {
  Statistics all;
  WorkerStatistics one(all);
  WorkerStatistics two(all);
  CHECK(&one.entry("pay") == &one.entry("pay"));
  CHECK(&one.entry("pay") != &two.entry("pay"));
  fabric::OperationCounters cost;
  cost.reads = 3;
  cost.read_bytes = 300;
  cost.compare_and_swaps = 2;
  cost.round_trips = 5;
  one.entry("pay").count_attempt(Status(ErrorCode::serialization_failure, ""), Attempt::tried_again, cost);
  one.entry("pay").count_attempt(Status(), Attempt::last, cost);
  two.entry("pay").count_attempt(Status(), Attempt::last, cost);
  two.entry("pay").count_attempt(Status(ErrorCode::duplicate_key, ""), Attempt::last, {});
  two.entry("never used");
  std::map<std::string, std::uint64_t> metrics;
  for (const Statistics::Row& row : all.rows()) {
    CHECK(row.name == "pay");
    metrics[row.metric] = row.value;
  }
  CHECK(metrics["transactions"] == 3);
  CHECK(metrics["commits"] == 2);
  CHECK(metrics["retries"] == 1);
  CHECK(metrics["aborts_serialization_failure"] == 1);
  CHECK(metrics["aborts_duplicate_key"] == 1);
  CHECK(metrics["reads"] == 9);
  CHECK(metrics["round_trips"] == 15);
  CHECK(metrics["bytes"] == 3 * (300 + 2 * 8));
}

TEST_CASE("statistics have the turns of all workers, and the longest of them", "[statistics]") {
  Statistics all;
  CHECK(all.rows().empty());
  reactor::TurnTimes& one = all.add_turns();
  reactor::TurnTimes& two = all.add_turns();
  one.add(reactor::TurnTimes::kLong_ns);
  one.add(reactor::TurnTimes::kLong_ns + 1);
  two.add(3 * reactor::TurnTimes::kLong_ns);
  two.add(1000);
  std::map<std::string, std::uint64_t> metrics;
  for (const Statistics::Row& row : all.rows()) {
    CHECK(row.name == "reactor");
    metrics[row.metric] = row.value;
  }
  CHECK(metrics["turns_over_50_ms"] == 2);
  CHECK(metrics["longest_turn_us"] == 150'000);
}

}  // namespace namdb::sql
