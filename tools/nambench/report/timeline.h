// A run second by second, as a file for other programs, and the events that they tell of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "tools/support/report/run_report.h"

namespace namdb::nambench {

// Comma-separated values: a line with the names, then one for each second of the run. `begin_ns` is the
// machine's monotonic clock when the second began; events of other programs are placed by it.
std::string timeline_csv(const support::RunReport& report);

// Something that went on beside a run, by the same clock.
struct TimelineEvent {
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;  // not before it began
  std::string name;
};

// Lines of `begin_ns,end_ns,name`, without a line of names. Error: the malformed line.
Result<std::vector<TimelineEvent>> parse_timeline_events(std::string_view text);

}  // namespace namdb::nambench
