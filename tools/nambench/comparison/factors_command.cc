#include "tools/nambench/comparison/factors_command.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "common/protocols/protocol.h"
#include "tools/nambench/comparison/subject_flags.h"

namespace namdb::nambench {

FactorsCommand::FactorsCommand(CLI::App& app) {
  options_.subject = {.protocol = "occ", .stages = {}, .fabric = "tcp", .workload = {.name = "tpcc"}};
  options_.subject.coroutines = 16;
  options_.run = {.warmup_seconds = 0.3, .seconds = 1, .check = true};
  add_subject(app, options_.subject, hot_probability_);
  app.add_option("--stages", stages_, "Stages that are two-sided, as nam-memoryd's flag")
      ->capture_default_str();
  add_run_span(app, options_.run, options_.repetitions);
  add_run_limits(app, limits_);
  add_common(app, common_);
}

int FactorsCommand::run() {
  Subject& subject = options_.subject;
  if (Status status = take_hot_probability(subject, hot_probability_); !status.ok()) return fail(status);
  const auto stages = protocol::parse_stages(*protocol::find_protocol(subject.protocol), stages_);
  if (!stages.ok()) {
    return fail(
        Status(stages.status().code(), "--stages: " + stages.status().message(), stages.status().hint()));
  }
  subject.stages = *stages;
  support::Progress progress(common_.quiet);
  const auto run_one = [this](const Subject& each, const RunSpan& span) {
    return run_subject(each, span, limits_);
  };
  const auto steps = analyse_factors(options_, run_one, progress);
  progress.end_line();
  if (!steps.ok()) return fail(steps.status());
  print(common_.json ? to_json(*steps).dump(2) + "\n" : to_text(*steps));
  return 0;
}

}  // namespace namdb::nambench
