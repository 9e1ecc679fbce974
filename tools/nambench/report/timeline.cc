#include "tools/nambench/report/timeline.h"

#include "common/base/clock.h"

namespace namdb::nambench {

std::string timeline_csv(const RunReport& report) {
  std::string text = "second,begin_ns,committed,aborted,failed\n";
  for (std::size_t i = 0; i < report.timeline.size(); ++i) {
    const TimelineSecond& second = report.timeline[i];
    text += std::to_string(i) + ',' + std::to_string(report.begin_ns + i * kSecond_ns) + ',' +
            std::to_string(second.committed) + ',' + std::to_string(second.aborted) + ',' +
            std::to_string(second.failed) + '\n';
  }
  return text;
}

}  // namespace namdb::nambench
