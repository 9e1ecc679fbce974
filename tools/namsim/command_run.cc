// namsim run: one simulated run, by its seed. namsim shrink: the smallest run of a seed that still fails.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>

#include "tools/namsim/child_run.h"
#include "tools/namsim/command.h"
#include "tools/namsim/history/format.h"
#include "tools/namsim/report.h"

namespace namdb::sim {
namespace {

struct RunFlags {
  std::uint64_t seed = 1;
  ScenarioFlags scenario;
  LevelFlag level;
  std::string history;
  bool json = false;
  std::uint64_t cpu_s = 60;
};

std::shared_ptr<RunFlags> add_flags(CLI::App& command) {
  auto flags = std::make_shared<RunFlags>();
  command.add_option("--seed", flags->seed, "Decides everything")->required();
  add_scenario_flags(command, flags->scenario);
  add_level(command, flags->level);
  command.add_flag("--json", flags->json, "Print one JSON document");
  return flags;
}

int run(const RunFlags& flags) {
  const Scenario scenario = flags.scenario.scenario(flags.seed);
  std::fprintf(stderr, "namsim run %s\n", scenario.flags().c_str());
  const Verdict verdict = run_and_compare(scenario, flags.level.level);
  if (!flags.history.empty()) {
    const Status written = history::write_history_file(flags.history, verdict.history);
    if (!written.ok()) return report_error(written);
  }
  print(flags.json ? to_json(scenario, verdict, flags.level.level).dump(2) + "\n"
                   : to_text(scenario, verdict, flags.level.level));
  return verdict.anomaly.empty() ? kClean : kAnomaly;
}

// The run without one more of its faults, by position in the whole list.
Scenario without_fault(const RunFlags& flags, const Scenario& from, std::size_t fault) {
  ScenarioFlags fewer = flags.scenario;
  fewer.skip_faults = from.skipped_faults;
  fewer.skip_faults.push_back(fault);
  Scenario scenario = fewer.scenario(flags.seed);
  scenario.resize(from.size);
  return scenario;
}

int shrink(const RunFlags& flags) {
  Scenario smallest = flags.scenario.scenario(flags.seed);
  auto last = run_in_child(smallest, flags.level.level, flags.cpu_s);
  if (!last.ok()) return report_error(last.status());
  if (last->anomaly.empty()) {
    std::fprintf(stderr, "namsim: %s does not fail\n", smallest.flags().c_str());
    if (flags.json) print("{\"ok\": true}\n");
    return kClean;
  }
  // Smaller in one number at a time, most of it at once first, until no number can be smaller.
  for (bool smaller = true; smaller;) {
    smaller = false;
    const std::size_t faults = smallest.faults.size() + smallest.skipped_faults.size();
    for (std::size_t fault = 0; fault < faults; ++fault) {
      if (std::count(smallest.skipped_faults.begin(), smallest.skipped_faults.end(), fault) != 0) continue;
      const Scenario candidate = without_fault(flags, smallest, fault);
      auto verdict = run_in_child(candidate, flags.level.level, flags.cpu_s);
      if (!verdict.ok()) return report_error(verdict.status());
      if (verdict->anomaly.empty()) continue;
      smallest = candidate;
      last = std::move(verdict);
      smaller = true;
      std::fprintf(stderr, "still fails: %s\n", smallest.flags().c_str());
    }
    for (const Size::Field& field : Size::fields()) {
      std::uint64_t low = field.smallest;
      while (low < *(smallest.size.*field.value)) {
        Scenario candidate = smallest;
        Size size;
        size.*field.value = low;
        candidate.resize(size);
        auto verdict = run_in_child(candidate, flags.level.level, flags.cpu_s);
        if (!verdict.ok()) return report_error(verdict.status());
        if (verdict->anomaly.empty()) {
          low += (*(smallest.size.*field.value) - low + 1) / 2;
          continue;
        }
        smallest = candidate;
        last = std::move(verdict);
        smaller = true;
        std::fprintf(stderr, "still fails: %s\n", smallest.flags().c_str());
        break;
      }
    }
  }
  if (flags.json) {
    Verdict verdict;
    verdict.anomaly = last->anomaly;
    verdict.transactions = last->transactions;
    verdict.committed = last->committed;
    verdict.fingerprint = last->fingerprint;
    print(to_json(smallest, verdict, flags.level.level).dump(2) + "\n");
  } else {
    print(last->anomaly + "\n\nnamsim run " + smallest.flags() + " --level " +
          std::string(flags.level.level.name) + "\n");
  }
  return kAnomaly;
}

}  // namespace

RunCommand add_run(CLI::App& program) {
  CLI::App& command = *program.add_subcommand("run", "Run one simulated cluster and check its history");
  const auto flags = add_flags(command);
  command.add_option("--history", flags->history, "Write the history to this file");
  return [flags] {
    flags->level.follow(flags->scenario.protocol);
    const Status status = flags->scenario.read_files();
    return status.ok() ? run(*flags) : report_usage(status);
  };
}

RunCommand add_shrink(CLI::App& program) {
  CLI::App& command =
      *program.add_subcommand("shrink", "Find the smallest run of a failing seed that still fails");
  const auto flags = add_flags(command);
  command.add_option("--cpu-seconds", flags->cpu_s, "Processor time after which a run counts as endless")
      ->capture_default_str()
      ->check(CLI::Range(1, 3600));
  return [flags] {
    flags->level.follow(flags->scenario.protocol);
    const Status status = flags->scenario.read_files();
    return status.ok() ? shrink(*flags) : report_usage(status);
  };
}

}  // namespace namdb::sim
