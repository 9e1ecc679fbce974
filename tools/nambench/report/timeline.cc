#include "tools/nambench/report/timeline.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "common/base/clock.h"

namespace namdb::nambench {
namespace {

// A number and the comma behind it, which are taken off the front.
std::optional<std::uint64_t> take_number(std::string_view& line) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (error != std::errc() || end == line.data() + line.size() || *end != ',') return std::nullopt;
  line.remove_prefix(static_cast<std::size_t>(end + 1 - line.data()));
  return number;
}

}  // namespace

std::string timeline_csv(const support::RunReport& report) {
  std::string text = "second,begin_ns,committed,aborted,failed\n";
  for (std::size_t i = 0; i < report.timeline.size(); ++i) {
    const support::TimelineSecond& second = report.timeline[i];
    text += std::to_string(i) + ',' + std::to_string(report.begin_ns + i * kSecond_ns) + ',' +
            std::to_string(second.committed) + ',' + std::to_string(second.aborted) + ',' +
            std::to_string(second.failed) + '\n';
  }
  return text;
}

Result<std::vector<TimelineEvent>> parse_timeline_events(std::string_view text) {
  std::vector<TimelineEvent> events;
  for (std::size_t number = 1; !text.empty(); ++number) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.empty()) continue;
    const std::optional<std::uint64_t> begin_ns = take_number(line);
    const std::optional<std::uint64_t> end_ns = begin_ns ? take_number(line) : std::nullopt;
    if (!end_ns || *end_ns < *begin_ns || line.empty()) {
      return Status(ErrorCode::invalid_parameter_value,
                    "line " + std::to_string(number) + " of the events is not begin_ns,end_ns,name");
    }
    events.push_back({*begin_ns, *end_ns, std::string(line)});
  }
  return events;
}

}  // namespace namdb::nambench
