#include "tools/nambench/report/distribution_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "tools/nambench/report/median.h"
#include "tools/support/report/text_table.h"

namespace namdb::nambench {
namespace {

using Json = nlohmann::ordered_json;

struct Figures {
  double per_second = 0;  // medians over the runs
  double p50_us = 0;
  double processor_us = 0;  // of a transaction of the mix; 0: not known
  // For each commit, over all runs.
  double one_sided = 0;
  double calls = 0;
  double round_trips = 0;
  double bytes = 0;
};

const support::TypeReport* new_orders(const support::RunReport& report) {
  const auto found = std::find_if(report.types.begin(), report.types.end(),
                                  [](const support::TypeReport& type) { return type.name == "new_order"; });
  return found == report.types.end() ? nullptr : &*found;
}

Figures figures_of(const DistributionRuns& degree) {
  Figures figures;
  std::vector<double> rates;
  std::vector<double> latencies;
  std::vector<double> processor;
  support::ServerMetrics sums;
  for (const support::RunReport& report : degree.runs) {
    processor.push_back(report.processor_us);
    const support::TypeReport* const type = new_orders(report);
    if (type == nullptr) continue;
    rates.push_back(static_cast<double>(type->committed) / report.seconds);
    latencies.push_back(static_cast<double>(type->latency.percentile_ns(0.5)) / 1e3);
    for (const auto& [name, value] : type->server) sums[name] += value;
  }
  figures.per_second = upper_median(rates);
  figures.p50_us = upper_median(latencies);
  figures.processor_us = upper_median(processor);
  const auto commits = static_cast<double>(std::max<std::int64_t>(sums["commits"], 1));
  const std::int64_t atomics = sums["compare_and_swaps"] + sums["fetch_adds"];
  figures.one_sided = static_cast<double>(sums["reads"] + sums["writes"] + atomics) / commits;
  figures.calls = static_cast<double>(sums["calls"]) / commits;
  figures.round_trips = static_cast<double>(sums["round_trips"]) / commits;
  figures.bytes = static_cast<double>(sums["bytes"]) / commits;
  return figures;
}

}  // namespace

bool checks_ok(const std::vector<DistributionRuns>& degrees) {
  for (const DistributionRuns& degree : degrees) {
    for (const support::RunReport& report : degree.runs) {
      if (!report.checks_ok()) return false;
    }
  }
  return true;
}

Json to_json(const std::vector<DistributionRuns>& degrees) {
  Json all = Json::array();
  const double first = figures_of(degrees.front()).per_second;
  for (const DistributionRuns& degree : degrees) {
    const Figures figures = figures_of(degree);
    Json runs = Json::array();
    for (const support::RunReport& report : degree.runs) runs.push_back(to_json(report));
    all.push_back({{"remote_percent", degree.remote_percent},
                   {"new_orders_per_second", figures.per_second},
                   {"ratio", figures.per_second / first},
                   {"p50_us", figures.p50_us},
                   {"processor_us", figures.processor_us},
                   {"one_sided", figures.one_sided},
                   {"calls", figures.calls},
                   {"round_trips", figures.round_trips},
                   {"bytes", figures.bytes},
                   {"runs", runs}});
  }
  return {{"checks_ok", checks_ok(degrees)}, {"degrees", all}};
}

std::string to_text(const std::vector<DistributionRuns>& degrees) {
  const support::RunReport& sample = degrees.front().runs.front();
  std::string text = sample.workload + ", " + sample.population + ", " + std::to_string(sample.clients) +
                     (sample.mode == "wire" ? " clients" : " coroutines") + ", seed " +
                     std::to_string(sample.seed) + "; medians of " +
                     std::to_string(degrees.front().runs.size()) + " times " +
                     support::decimal(sample.seconds, 1) + " s, in turns\n\n";
  support::TextTable table({"new orders, of which distributed", "per second", "ratio", "p50 us",
                            "processor us", "one-sided", "calls", "round trips", "bytes"});
  const double first = figures_of(degrees.front()).per_second;
  for (const DistributionRuns& degree : degrees) {
    const Figures figures = figures_of(degree);
    table.add({support::decimal(degree.remote_percent, 0) + " %", support::decimal(figures.per_second, 0),
               support::decimal(figures.per_second / first, 3), support::decimal(figures.p50_us, 1),
               figures.processor_us > 0 ? support::decimal(figures.processor_us, 1) : "-",
               support::decimal(figures.one_sided, 2), support::decimal(figures.calls, 2),
               support::decimal(figures.round_trips, 2), support::decimal(figures.bytes, 0)});
  }
  text += table.to_text() + "\n";
  std::set<std::string> notes;
  for (const DistributionRuns& degree : degrees) {
    for (const support::RunReport& report : degree.runs) {
      notes.insert(report.notes.begin(), report.notes.end());
      for (const support::CheckResult& check : report.checks) {
        if (!check.ok) text += "check: " + check.name + ": FAILED, " + check.detail + '\n';
      }
    }
  }
  if (checks_ok(degrees)) text += "checks of all runs: ok\n";
  for (const std::string& note : notes) text += "note: " + note + '\n';
  return text;
}

}  // namespace namdb::nambench
