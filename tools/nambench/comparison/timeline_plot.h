// A run second by second, as a picture.
#pragma once

#include <span>

#include "tools/nambench/comparison/line_plot.h"
#include "tools/nambench/report/timeline.h"
#include "tools/support/report/run_report.h"

namespace namdb::nambench {

// One line for commits, and one each for aborted and for failed calls if there are any. The last second is
// left out unless it is the only one: the run may have ended in the middle of it.
// Events are bands behind the lines.
LinePlot timeline_plot(const support::RunReport& report, std::span<const TimelineEvent> events = {});

}  // namespace namdb::nambench
