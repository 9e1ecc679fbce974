#include "tools/nambench/comparison/hybrid_search.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "tools/nambench/comparison/stage_search.h"
#include "tools/nambench/comparison/tables.h"
#include "tools/support/report/text_table.h"

namespace namdb::nambench {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kBreakdownCodes = 3;  // the pure ones and the best
constexpr std::uint32_t kBreakdownRepetitions = 3;

bool is_pure(const Trial& trial) {
  return trial.subject.stages.one_sided() || trial.subject.stages == pure_two_sided(trial.subject.protocol);
}

// Rounds of probes get longer as fewer codes are left.
RunSpan probe_of(const HybridOptions& options, std::size_t round) {
  RunSpan span = options.probe;
  span.seconds *= static_cast<double>(round + 1);
  span.seed += round;
  return span;
}

std::set<std::uint64_t> breakdown_coroutines(const HybridOptions& options) {
  return {1, options.subject.coroutines};
}

// Which stages the workload's transactions come to. At least one: commits write.
Result<protocol::StageCode> look(const HybridOptions& options, const RunOne& run_one) {
  Subject subject = options.subject;
  subject.stages = pure_two_sided(subject.protocol);
  subject.stage_times = true;
  const Result<Measurement> measured = run_one(subject, options.run);
  if (!measured.ok()) return measured.status();
  return stages_that_run(subject.stages, *measured);
}

std::string code_text(const Trial& trial) {
  return stage_text(trial.subject.protocol, trial.subject.stages);
}

}  // namespace

const Trial& HybridReport::best_pure() const {
  return *std::ranges::find_if(finalists, is_pure);  // they are in order
}

double HybridReport::ratio_to_best_pure() const {
  const double pure = best_pure().of(&Measurement::rate).median;
  return pure > 0 ? best().of(&Measurement::rate).median / pure : 0;
}

Result<HybridReport> search_hybrid(const HybridOptions& options, const RunOne& run_one,
                                   support::Progress& progress) {
  const Result<protocol::StageCode> varied = look(options, run_one);
  if (!varied.ok()) return varied.status();
  const protocol::StageCode two_sided = pure_two_sided(options.subject.protocol);
  std::vector<Trial> trials;
  for (const protocol::StageCode code : stage_codes(*varied)) {
    Subject subject = options.subject;
    subject.stages = code == *varied ? two_sided : code;
    trials.push_back({std::move(subject), {}});
  }
  HybridReport report{.subject = options.subject,
                      .codes = trials.size(),
                      .varied = *varied,
                      .finalists = {},
                      .breakdowns = {}};
  const std::vector<std::size_t> rounds = round_sizes(trials.size(), options.finalists);

  Schedule schedule;
  for (std::size_t round = 0; round < rounds.size(); ++round) {
    schedule.plan(rounds[round], static_cast<double>(rounds[round]) * probe_of(options, round).all_seconds());
  }
  const std::size_t last = std::min(trials.size(), options.finalists + 2);
  const std::size_t final_runs = last * options.repetitions;
  const std::size_t breakdown_runs =
      kBreakdownRepetitions * kBreakdownCodes * breakdown_coroutines(options).size();
  schedule.plan(final_runs + breakdown_runs,
                static_cast<double>(final_runs + breakdown_runs) * options.run.all_seconds());
  progress.note("looking at " + std::to_string(trials.size()) + " stage codes: " + schedule.left());

  Turns turns(run_one, schedule, progress);
  for (std::size_t round = 0; round < rounds.size(); ++round) {
    const Status status =
        turns.run(pointers(trials), 1, probe_of(options, round),
                  "probing, round " + std::to_string(round + 1) + " of " + std::to_string(rounds.size()));
    if (!status.ok()) return status;
    std::vector<double> scores;
    std::vector<bool> pure;
    for (const Trial& trial : trials) {
      scores.push_back(trial.of(&Measurement::rate).median);
      pure.push_back(is_pure(trial));
    }
    const std::size_t keep = round + 1 < rounds.size() ? rounds[round + 1] : last;
    std::vector<Trial> kept;
    for (const std::size_t position : survivors(scores, pure, keep))
      kept.push_back(std::move(trials[position]));
    trials = std::move(kept);
  }
  // The probes chose the finalists, so their runs would flatter them.
  for (Trial& trial : trials) trial.runs.clear();
  Status status = turns.run(pointers(trials), options.repetitions, options.run, "finalists");
  if (!status.ok()) return status;
  std::ranges::sort(trials, std::greater<>(),
                    [](const Trial& trial) { return trial.of(&Measurement::rate).median; });
  report.finalists = std::move(trials);

  for (const std::uint64_t coroutines : breakdown_coroutines(options)) {
    Breakdown& breakdown = report.breakdowns.emplace_back();
    breakdown.coroutines = coroutines;
    std::vector<protocol::StageCode> codes = {protocol::StageCode(),
                                              pure_two_sided(options.subject.protocol)};
    if (!is_pure(report.best())) codes.push_back(report.best().subject.stages);
    for (const protocol::StageCode code : codes) {
      Subject subject = options.subject;
      subject.stages = code;
      subject.coroutines = coroutines;
      subject.stage_times = true;
      breakdown.codes.push_back({std::move(subject), {}});
    }
    status = turns.run(pointers(breakdown.codes), kBreakdownRepetitions, options.run, "where the time goes");
    if (!status.ok()) return status;
  }
  progress.end_line();
  return report;
}

std::string to_text(const HybridReport& report) {
  std::string text = "## " + subject_title(report.subject) + ", " + std::to_string(report.codes) +
                     " stage codes\n\n" + figures_table(report.finalists, code_text) + "\n";
  if (report.varied != pure_two_sided(report.subject.protocol)) {
    text += "Transactions come to " + report.varied.text() +
            " only: how other stages run makes no difference here.\n\n";
  }
  for (const Breakdown& breakdown : report.breakdowns) {
    text += "Where the mean transaction's time goes, " + under_way(breakdown.coroutines) +
            ", in microseconds (and round trips):\n\n" + breakdown_table(breakdown.codes, code_text) + "\n";
  }
  return text + "--stages " + report.best().subject.stages.text() + ": " +
         support::decimal(report.ratio_to_best_pure(), 2) +
         "x the better of pure one-sided and pure two-sided\n";
}

Json to_json(const HybridReport& report) {
  const Subject& subject = report.subject;
  Json json;
  json["workload"] = subject.workload.name;
  json["hot_percent"] = subject.workload.hot_percent;
  json["protocol"] = subject.protocol;
  json["fabric"] = subject.fabric;
  json["coroutines"] = subject.coroutines;
  json["computation_us"] = subject.computation_us;
  json["codes"] = report.codes;
  json["stages_that_run"] = report.varied.text();
  json["recommended"] = report.best().subject.stages.text();
  json["ratio_to_best_pure"] = report.ratio_to_best_pure();
  json["finalists"] = Json::array();
  for (const Trial& trial : report.finalists) json["finalists"].push_back(trial_json(trial));
  json["breakdowns"] = Json::array();
  for (const Breakdown& breakdown : report.breakdowns) {
    for (const Trial& trial : breakdown.codes) json["breakdowns"].push_back(trial_json(trial));
  }
  return json;
}

}  // namespace namdb::nambench
