#include "tools/nambench/comparison/timeline_plot.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/base/clock.h"

namespace namdb::nambench {
namespace {

PlotSeries series(const support::RunReport& report, const char* name,
                  std::uint64_t support::TimelineSecond::* count) {
  PlotSeries result{name, {}};
  const std::size_t seconds = std::max<std::size_t>(report.timeline.size(), 2) - 1;
  for (std::size_t i = 0; i < std::min(seconds, report.timeline.size()); ++i) {
    result.points.push_back(
        {.x = static_cast<double>(i), .y = static_cast<double>(report.timeline[i].*count)});
  }
  return result;
}

}  // namespace

LinePlot timeline_plot(const support::RunReport& report, std::span<const TimelineEvent> events) {
  LinePlot plot{.title = report.workload + ", " + std::to_string(report.clients) + " clients",
                .x_label = "second of the run",
                .y_label = "calls that ended in the second",
                .series = {},
                .bands = {}};
  plot.series.push_back(series(report, "committed", &support::TimelineSecond::committed));
  for (const auto& [name, count] : {std::pair("aborted", &support::TimelineSecond::aborted),
                                    std::pair("failed", &support::TimelineSecond::failed)}) {
    const bool any = std::ranges::any_of(
        report.timeline, [count](const support::TimelineSecond& second) { return second.*count > 0; });
    if (any) plot.series.push_back(series(report, name, count));
  }
  // A second's calls are drawn at its number: its middle is there.
  const auto second_of = [&report](std::uint64_t time_ns) {
    return (static_cast<double>(time_ns) - static_cast<double>(report.begin_ns)) / kSecond_ns - 0.5;
  };
  for (const TimelineEvent& event : events)
    plot.bands.push_back({event.name, second_of(event.begin_ns), second_of(event.end_ns)});
  return plot;
}

}  // namespace namdb::nambench
