#include "tools/nambench/engine/time_shares.h"

#include <algorithm>

namespace namdb::nambench {
namespace {

constexpr const char* kComputation = "computation";
constexpr const char* kBackoff = "backoff";

std::uint64_t sum(std::span<const support::TypeReport> types, const std::string& metric) {
  std::int64_t all = 0;
  for (const support::TypeReport& type : types) {
    if (const auto found = type.server.find(metric); found != type.server.end()) all += found->second;
  }
  return static_cast<std::uint64_t>(all);
}

}  // namespace

std::vector<support::TimeShare> time_shares(const txn::StageTimes& times,
                                            std::span<const support::TypeReport> types) {
  using txn::Wait;
  const auto transactions = static_cast<double>(std::max<std::uint64_t>(sum(types, "transactions"), 1));
  std::vector<support::TimeShare> shares;
  std::uint64_t known_ns = 0;
  const auto add = [&](std::string_view name, txn::StageTimes::Cost cost) {
    shares.push_back({.name = std::string(name),
                      .us = static_cast<double>(cost.time_ns) / 1e3 / transactions,
                      .round_trips = static_cast<double>(cost.round_trips) / transactions,
                      .times = static_cast<double>(cost.times) / transactions});
    known_ns += cost.time_ns;
  };
  const auto wait = [&](Wait which) {
    const auto position = static_cast<std::size_t>(which);
    add(txn::kWaitNames[position], times.waits[position]);
  };
  wait(Wait::begin);
  for (std::size_t i = 0; i < times.stages.size(); ++i) add(protocol::kStageNames[i], times.stages[i]);
  if (times.waits[static_cast<std::size_t>(Wait::flush)].times != 0)
    wait(Wait::flush);  // databases at level `flushed`
  wait(Wait::publish);
  wait(Wait::locked_by_other);
  add(kBackoff, {.time_ns = sum(types, "backoff_ns")});
  add(kComputation, {.time_ns = sum(types, "computation_ns")});
  const std::uint64_t all_ns = sum(types, "time_ns");
  add(support::kRestOfTime, {.time_ns = all_ns - std::min(all_ns, known_ns), .round_trips = 0});
  return shares;
}

}  // namespace namdb::nambench
