// A run second by second, as a file.
#include "tools/nambench/report/timeline.h"

#include <catch2/catch.hpp>

using namespace namdb::nambench;

TEST_CASE("a timeline's file has a line for each second, with the time when it began") {
  namdb::support::RunReport report;
  CHECK(timeline_csv(report) == "second,begin_ns,committed,aborted,failed\n");
  report.begin_ns = 5'000'000'007;
  report.timeline = {
      {.committed = 3, .aborted = 1, .failed = 0}, {}, {.committed = 0, .aborted = 0, .failed = 2}};
  CHECK(timeline_csv(report) ==
        "second,begin_ns,committed,aborted,failed\n"
        "0,5000000007,3,1,0\n"
        "1,6000000007,0,0,0\n"
        "2,7000000007,0,0,2\n");
}

TEST_CASE("events are read line by line, and a malformed line is named") {
  const auto events = parse_timeline_events("5,7,a checkpoint\n\n9,9,killed, and started");
  REQUIRE(events.ok());
  REQUIRE(events->size() == 2);
  CHECK((*events)[0].begin_ns == 5);
  CHECK((*events)[0].end_ns == 7);
  CHECK((*events)[0].name == "a checkpoint");
  CHECK((*events)[1].name == "killed, and started");
  CHECK(parse_timeline_events("")->empty());
  for (const char* wrong : {"5,7", "5,7,", "7,5,a", "a,7,b", "5;7;a", "5,-7,a", "99999999999999999999,1,a"}) {
    CAPTURE(wrong);
    const auto refused = parse_timeline_events(std::string("1,2,good\n") + wrong);
    REQUIRE(!refused.ok());
    CHECK(refused.status().message().find("line 2 ") != std::string::npos);
  }
}
