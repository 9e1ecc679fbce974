#include "tools/nambench/comparison/compare_command.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "tools/nambench/comparison/compare_report.h"
#include "tools/nambench/comparison/subject_flags.h"
#include "tools/nambench/engine/engine_flags.h"
#include "tools/support/report/text_table.h"

namespace namdb::nambench {
namespace {

// Each once, in the order in which they were given.
void drop_repeated(std::vector<std::string>& names) {
  std::set<std::string> seen;
  std::erase_if(names, [&](const std::string& name) { return !seen.insert(name).second; });
}

template <typename Number>
void sort_once(std::vector<Number>& numbers) {
  std::ranges::sort(numbers);
  const auto [begin, end] = std::ranges::unique(numbers);
  numbers.erase(begin, end);
}

}  // namespace

CompareCommand::CompareCommand(CLI::App& app) {
  options_.protocols = protocol_names();
  options_.workloads.assign(kComparedWorkloads.begin(), kComparedWorkloads.end());
  options_.fabrics = {"shm", "tcp"};
  options_.stages = {"one-sided"};
  options_.hot_percents = {0, 50, 90};
  options_.computation_us = {1, 16, 256};
  options_.coroutines = {1, 4, 11};
  options_.run = {.warmup_seconds = 0.05, .seconds = 0.25, .check = true};

  app.add_option("--report", folder_, "Folder for report.md, its pictures (SVG) and report.json")->required();
  app.add_option("--protocols", options_.protocols, "Which, joined by commas")
      ->delimiter(',')
      ->capture_default_str()
      ->check(CLI::IsMember(protocol_names()));
  app.add_option("--workloads", options_.workloads,
                 "smallbank, ycsb, tpcc (new-order only), joined by commas")
      ->delimiter(',')
      ->capture_default_str()
      ->check(CLI::IsMember(std::vector<std::string>(kComparedWorkloads.begin(), kComparedWorkloads.end())));
  app.add_option("--hot-percents", options_.hot_percents,
                 "ycsb: of the operations, that go to 0.1 % of the records, joined by commas")
      ->delimiter(',')
      ->capture_default_str()
      ->check(CLI::Range(0.0, 100.0));
  app.add_option(
         "--computation-us", options_.computation_us,
         "Computation of each transaction between its last read and its commit, in microseconds, joined by "
         "commas; the base is the least")
      ->delimiter(',')
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e6));
  app.add_option("--coroutines", options_.coroutines,
                 "Transactions under way at once, joined by commas; the base is the greatest")
      ->delimiter(',')
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000));
  app.add_option("--fabrics", options_.fabrics, "shm, tcp, joined by commas")
      ->delimiter(',')
      ->capture_default_str()
      ->check(CLI::IsMember({"shm", "tcp"}));
  app.add_option(
         "--stages", options_.stages,
         "Stage codes, joined by commas: one-sided, two-sided, or stages joined by +, such as read+lock")
      ->delimiter(',')
      ->capture_default_str();
  app.add_flag(
      "--full", options_.full,
      "Vary everything with everything, instead of one thing at a time with the others at their base");
  app.add_flag("!--no-breakdown", options_.breakdown, "Do not look at where a transaction's time goes");
  add_without(app, options_.without);
  add_run_span(app, options_.run, options_.repetitions);
  add_run_limits(app, limits_);
  add_common(app, common_);
}

Status CompareCommand::check() {
  drop_repeated(options_.protocols);
  drop_repeated(options_.workloads);
  drop_repeated(options_.fabrics);
  drop_repeated(options_.stages);
  sort_once(options_.hot_percents);
  sort_once(options_.computation_us);
  sort_once(options_.coroutines);
  if (std::ranges::find(options_.workloads, "ycsb") == options_.workloads.end())
    options_.hot_percents.clear();
  for (std::string& stages : options_.stages) std::ranges::replace(stages, '+', ',');
  return check_stages(options_);
}

std::string CompareCommand::preface(const ComparePlan& plan) const {
  const Sizes& sizes = limits_.sizes;
  std::string text =
      "Written by `nambench compare` on " + std::to_string(::sysconf(_SC_NPROCESSORS_ONLN)) +
      " processors: memory server and worker are two threads of one process. " +
      std::to_string(plan.trials.size()) + " subjects took turns, " + std::to_string(options_.repetitions) +
      (options_.repetitions == 1 ? " run of " : " runs of ") + support::decimal(options_.run.seconds, 2) +
      " s each on fresh tables; figures are medians, ± is half of the range in percent of them.\n" +
      "One-sided operations, calls, round trips and bytes are for each commit, with what its "
      "conflicts cost: they mean the same on every machine.\n\n";
  if (options_.full) {
    text += "Everything was varied with everything.\n\n";
  } else {
    text += "One thing was varied at a time; else " + std::to_string(options_.base_coroutines()) +
            " transactions were under way, each with " + support::decimal(options_.base_computation_us(), 0) +
            " us of computation between its last read and its commit.\n\n";
  }
  if (!options_.without.empty()) text += "Left out everywhere: " + options_.without + ".\n\n";
  return text + "SmallBank: " + std::to_string(sizes.accounts) +
         " customers. YCSB: " + std::to_string(sizes.records) +
         " records, 10 operations, 20 % of them writes, 0.1 % of the records hot. TPC-C: new-order, " +
         std::to_string(sizes.warehouses) + " warehouses, " + std::to_string(sizes.items) + " items.\n";
}

Status CompareCommand::run_all(ComparePlan& plan, support::Progress& progress) {
  const auto run_one = [this](const Subject& subject, const RunSpan& span) {
    return run_subject(subject, span, limits_);
  };
  Schedule schedule;
  const std::size_t runs = (plan.trials.size() + plan.timed.size()) * options_.repetitions;
  schedule.plan(runs, static_cast<double>(runs) * options_.run.all_seconds());
  progress.note(std::to_string(runs) + " runs: " + schedule.left());
  Turns turns(run_one, schedule, progress);
  const Status status = turns.run(pointers(plan.trials), options_.repetitions, options_.run, "comparing");
  if (!status.ok()) return status;
  return turns.run(pointers(plan.timed), options_.repetitions, options_.run, "where the time goes");
}

int CompareCommand::run() {
  if (const Status status = check(); !status.ok()) return fail(status);
  if (const Status status = prepare_folder(folder_); !status.ok()) return fail(status);
  ComparePlan plan = plan_comparison(options_);
  support::Progress progress(common_.quiet);
  const Status status = run_all(plan, progress);
  progress.end_line();
  if (!status.ok()) return fail(status);

  const CompareReport report = compare_report(plan, preface(plan));
  const std::string json = to_json(plan).dump(2) + "\n";
  Status written = write_file(folder_, "report.md", report.markdown);
  if (written.ok()) written = write_file(folder_, "report.json", json);
  for (const Picture& picture : report.pictures) {
    if (written.ok()) written = write_file(folder_, picture.file, picture.svg);
  }
  if (!written.ok()) return fail(written);
  print(common_.json ? json
                     : "report: " + folder_ + "/report.md, with " + std::to_string(report.pictures.size()) +
                           " pictures\n");
  return 0;
}

}  // namespace namdb::nambench
