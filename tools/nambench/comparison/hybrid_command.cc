#include "tools/nambench/comparison/hybrid_command.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "tools/nambench/comparison/subject_flags.h"
#include "tools/nambench/engine/engine_flags.h"

namespace namdb::nambench {

HybridCommand::HybridCommand(CLI::App& app) {
  options_.subject = {.protocol = "occ", .stages = {}, .fabric = "tcp", .workload = {.name = "smallbank"}};
  options_.subject.coroutines = 10;
  options_.probe = {.warmup_seconds = 0.05, .seconds = 0.2};
  options_.run = {.warmup_seconds = 0.2, .seconds = 1, .check = true};

  add_subject(app, options_.subject, hot_probability_);
  add_without(app, options_.subject.without);
  app.add_option(
         "--probe-seconds", options_.probe.seconds,
         "Of each stage code in the first round; a third of them goes on to the next, which are longer")
      ->capture_default_str()
      ->check(CLI::Range(0.01, 1e4));
  app.add_option("--finalists", options_.finalists, "Codes beside the pure ones that are measured in the end")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
  add_run_span(app, options_.run, options_.repetitions);
  add_run_limits(app, limits_);
  add_common(app, common_);
}

int HybridCommand::run() {
  if (Status status = take_hot_probability(options_.subject, hot_probability_); !status.ok())
    return fail(status);
  options_.probe.seed = options_.run.seed;
  support::Progress progress(common_.quiet);
  const auto run_one = [this](const Subject& each, const RunSpan& span) {
    return run_subject(each, span, limits_);
  };
  const Result<HybridReport> report = search_hybrid(options_, run_one, progress);
  progress.end_line();
  if (!report.ok()) return fail(report.status());
  print(common_.json ? to_json(*report).dump(2) + "\n" : to_text(*report));
  return 0;
}

}  // namespace namdb::nambench
