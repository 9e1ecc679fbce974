#include "tools/nambench/comparison/schedule.h"

#include <algorithm>
#include <cmath>

#include "tools/support/report/text_table.h"

namespace namdb::nambench {
namespace {

// Of starting a cluster, loading it and stopping it, before any was seen.
constexpr double kUsualOverhead_seconds = 0.55;

}  // namespace

void Schedule::done(double planned_seconds, double taken_seconds) {
  runs_left_ -= std::min<std::size_t>(runs_left_, 1);
  seconds_left_ = std::max(seconds_left_ - planned_seconds, 0.0);
  ++runs_done_;
  overhead_seconds_ += std::max(taken_seconds - planned_seconds, 0.0);
}

double Schedule::left_seconds() const {
  const double overhead_seconds =
      (kUsualOverhead_seconds + overhead_seconds_) / static_cast<double>(1 + runs_done_);
  return seconds_left_ + static_cast<double>(runs_left_) * overhead_seconds;
}

std::string Schedule::left() const {
  const double seconds = left_seconds();
  if (seconds >= 90) return "about " + support::decimal(seconds / 60, 0) + " minutes";
  return "about " + support::decimal(std::ceil(seconds), 0) + " seconds";
}

}  // namespace namdb::nambench
