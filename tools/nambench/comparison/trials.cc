#include "tools/nambench/comparison/trials.h"

#include <algorithm>
#include <string>

#include "tools/support/report/text_table.h"

namespace namdb::nambench {

namespace {

double whole_us(const std::vector<support::TimeShare>& shares) {
  double us = 0;
  for (const support::TimeShare& share : shares) us += share.us;
  return us;
}

}  // namespace

Spread Trial::of(double Measurement::* figure) const {
  std::vector<double> values;
  for (const Measurement& run : runs) values.push_back(run.*figure);
  return spread_of(std::move(values));
}

std::vector<TypeAttempts> Trial::attempts() const {
  if (runs.empty()) return {};
  std::vector<TypeAttempts> all = runs.front().types;
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<double> conflicts;
    for (const Measurement& run : runs) {
      conflicts.push_back(run.types[i].conflicts_percent);
      all[i].most_attempts = std::max(all[i].most_attempts, run.types[i].most_attempts);
      all[i].longest_us = std::max(all[i].longest_us, run.types[i].longest_us);
    }
    all[i].conflicts_percent = spread_of(std::move(conflicts)).median;
  }
  return all;
}

std::vector<support::TimeShare> Trial::time_shares() const {
  if (runs.empty()) return {};
  std::vector<const Measurement*> order;
  for (const Measurement& run : runs) order.push_back(&run);
  std::ranges::sort(order, {}, [](const Measurement* run) { return whole_us(run->time_shares); });
  return order[(order.size() - 1) / 2]->time_shares;
}

std::vector<Trial*> pointers(std::vector<Trial>& trials) {
  std::vector<Trial*> all;
  for (Trial& trial : trials) all.push_back(&trial);
  return all;
}

Status Turns::run(std::vector<Trial*> trials, std::uint32_t repetitions, RunSpan span,
                  const std::string& what) {
  for (std::uint32_t repetition = 0; repetition < repetitions; ++repetition) {
    for (std::size_t i = 0; i < trials.size(); ++i) {
      Trial& trial = *trials[i];
      const std::uint64_t began_ns = support::steady_now_ns();
      Result<Measurement> measured = run_one_(trial.subject, span);
      if (!measured.ok()) return measured.status();
      const std::uint64_t now_ns = support::steady_now_ns();
      schedule_.done(span.all_seconds(), static_cast<double>(now_ns - began_ns) / 1e9);
      if (progress_.due(now_ns)) {
        const std::string turn = repetitions == 1 ? std::string()
                                                  : ", turn " + std::to_string(repetition + 1) + " of " +
                                                        std::to_string(repetitions);
        progress_.show(now_ns, what + turn + ", " + std::to_string(i + 1) + " of " +
                                   std::to_string(trials.size()) + ": " + trial.subject.protocol + " " +
                                   trial.subject.stages.text() + ", " + trial.subject.workload.title() +
                                   ", " + trial.subject.fabric + ": " + support::decimal(measured->rate, 0) +
                                   " transactions/s; " + schedule_.left() + " left");
      }
      trial.runs.push_back(std::move(measured).value());
    }
    std::ranges::reverse(trials);
    ++span.seed;
  }
  return {};
}

}  // namespace namdb::nambench
