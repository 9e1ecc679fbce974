// A run second by second, as a file.
#include "tools/nambench/report/timeline.h"

#include <catch2/catch.hpp>

using namespace namdb::nambench;

TEST_CASE("a timeline's file has a line for each second, with the time when it began") {
  RunReport report;
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
