#include "tools/nambench/comparison/measurement.h"

#include <algorithm>

namespace namdb::nambench {
namespace {

double metric(const support::TypeReport& type, const std::string& name) {
  const auto found = type.server.find(name);
  return found == type.server.end() ? 0 : static_cast<double>(found->second);
}

double sum(const support::RunReport& report, std::initializer_list<const char*> names) {
  double all = 0;
  for (const support::TypeReport& type : report.types) {
    for (const char* const name : names) all += metric(type, name);
  }
  return all;
}

double share_percent(double part, double all) {
  return all > 0 ? 100 * part / all : 0;
}

}  // namespace

Measurement measurement_of(const support::RunReport& report) {
  const support::Histogram latency = report.latency();
  const double commits = std::max(sum(report, {"commits"}), 1.0);
  Measurement result;
  result.rate = static_cast<double>(report.committed()) / report.seconds;
  result.p50_us = static_cast<double>(latency.percentile_ns(0.5)) / 1e3;
  result.p99_us = static_cast<double>(latency.percentile_ns(0.99)) / 1e3;
  result.aborts_percent = share_percent(sum(report, {"conflicts"}), sum(report, {"transactions", "retries"}));
  result.one_sided = sum(report, {"reads", "writes", "compare_and_swaps", "fetch_adds"}) / commits;
  result.calls = sum(report, {"calls"}) / commits;
  result.round_trips = sum(report, {"round_trips"}) / commits;
  result.bytes = sum(report, {"bytes"}) / commits;
  result.doorbells = sum(report, {"batches"}) / commits;
  for (const support::TypeReport& type : report.types) {
    result.types.push_back(
        {.name = type.name,
         .conflicts_percent =
             share_percent(metric(type, "conflicts"), metric(type, "transactions") + metric(type, "retries")),
         .most_attempts = static_cast<std::uint64_t>(metric(type, "most_attempts")),
         .longest_us = static_cast<double>(type.latency.max_ns()) / 1e3});
  }
  result.time_shares = report.time_shares;
  return result;
}

}  // namespace namdb::nambench
