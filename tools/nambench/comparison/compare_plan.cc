#include "tools/nambench/comparison/compare_plan.h"

#include <algorithm>

#include "tools/nambench/comparison/stage_search.h"
#include "tools/nambench/comparison/tables.h"
#include "tools/support/report/text_table.h"

namespace namdb::nambench {
namespace {

const Figure& figure(double Measurement::* value) {
  return *std::ranges::find_if(kFigures, [value](const Figure& each) { return each.value == value; });
}

protocol::StageCode code_of(const std::string& protocol, const std::string& stages) {
  return stages_that_it_has(protocol, *protocol::StageCode::parse(stages));
}

std::string file_part(std::string text) {
  std::ranges::replace(text, ',', '+');
  return text;
}

// Adds what one transport runs to a plan.
class Planner {
 public:
  Planner(const CompareOptions& options, ComparePlan& plan, std::string fabric)
      : options_(options), plan_(plan), fabric_(std::move(fabric)) {}

  FabricPlan run() {
    out_.fabric = fabric_;
    for (const std::string& name : options_.workloads) {
      variants_.push_back(name == "ycsb" ? variants_of_ycsb() : std::vector<ComparedWorkload>{{name, 0}});
    }
    overviews();
    for (const std::string& stages : options_.stages) {
      contention(stages);
      coroutines(stages);
      computation(stages);
    }
    if (options_.breakdown) breakdowns();
    return std::move(out_);
  }

 private:
  std::vector<ComparedWorkload> variants_of_ycsb() const {
    std::vector<ComparedWorkload> all;
    for (const double percent : options_.hot_percents) all.push_back({"ycsb", percent});
    return all;
  }
  Subject subject(const std::string& protocol, const std::string& stages,
                  const ComparedWorkload& workload) const {
    Subject made{
        .protocol = protocol, .stages = code_of(protocol, stages), .fabric = fabric_, .workload = workload};
    made.coroutines = options_.base_coroutines();
    made.computation_us = options_.base_computation_us();
    made.without = options_.without;
    return made;
  }
  static std::size_t place(std::vector<Trial>& trials, const Subject& subject) {
    const auto found = std::ranges::find(trials, subject, &Trial::subject);
    if (found != trials.end()) return static_cast<std::size_t>(found - trials.begin());
    trials.push_back({subject, {}});
    return trials.size() - 1;
  }

  void overviews() {
    for (const auto& variants : variants_) {
      for (const ComparedWorkload& workload : variants) {
        Rows rows{.title = workload.title(), .trials = {}};
        for (const std::string& protocol : options_.protocols) {
          for (const std::string& stages : options_.stages)
            rows.trials.push_back(place(plan_.trials, subject(protocol, stages, workload)));
        }
        out_.attempts.push_back(rows);
        out_.overviews.push_back(std::move(rows));
      }
    }
  }

  // The numbers of coroutines where the comparison varies something else: the base, or with `full` all of
  // them.
  std::vector<std::uint64_t> other_coroutines() const {
    return options_.full ? options_.coroutines : std::vector{options_.base_coroutines()};
  }
  std::vector<double> other_computations() const {
    return options_.full ? options_.computation_us : std::vector{options_.base_computation_us()};
  }
  std::vector<ComparedWorkload> other_workloads() const {
    std::vector<ComparedWorkload> all;
    for (const auto& variants : variants_) {
      all.insert(all.end(), variants.begin(), options_.full ? variants.end() : variants.begin() + 1);
    }
    return all;
  }

  // Computation needs but one workload to show what it does (RCC §6.5); it is YCSB, if that is compared.
  std::vector<ComparedWorkload> computing_workloads() const {
    std::vector<ComparedWorkload> all = other_workloads();
    const auto ycsb = std::ranges::find(all, "ycsb", &ComparedWorkload::name);
    return options_.full || ycsb == all.end() ? all : std::vector{*ycsb};
  }

  // The panel's name and titles say what is not at its base.
  Panel panel(const std::string& file, const std::string& title, const std::string& stages,
              const std::vector<std::string>& apart) const {
    Panel made{
        .title = title, .file = fabric_ + "-" + file, .x_label = {}, .figures = {}, .xs = {}, .series = {}};
    made.title += ", " + fabric_;
    for (const std::string& each : apart) {
      if (!each.empty()) made.title += ", " + each;
    }
    if (options_.stages.size() > 1) {
      made.title += ", " + stages;
      made.file += "-" + file_part(stages);
    }
    return made;
  }
  std::string with(std::uint64_t coroutines) const { return under_way(coroutines); }
  std::string with(double computation_us) const {
    return computation_us > 0 ? support::decimal(computation_us, 0) + " us of computation" : std::string();
  }
  static std::string file_of(const ComparedWorkload& workload) {
    return workload.name + (workload.name == "ycsb" ? "-" + support::decimal(workload.hot_percent, 0) : "");
  }
  std::string suffix(std::uint64_t coroutines) const {
    return options_.full ? "-" + std::to_string(coroutines) + "-under-way" : "";
  }
  std::string suffix(double computation_us) const {
    return options_.full ? "-" + support::decimal(computation_us, 0) + "-us" : "";
  }

  // A series for each protocol; `at` sets what is varied.
  template <typename Set>
  void fill(Panel& panel, const Subject& base, const std::string& stages, const Set& set) {
    for (const std::string& protocol : options_.protocols) {
      Panel::Series series{.name = protocol, .trials = {}};
      for (const double x : panel.xs) {
        Subject each = base;
        each.protocol = protocol;
        each.stages = code_of(protocol, stages);
        set(each, x);
        series.trials.push_back(place(plan_.trials, each));
      }
      panel.series.push_back(std::move(series));
    }
    out_.panels.push_back(std::move(panel));
  }

  void contention(const std::string& stages) {
    if (options_.hot_percents.size() < 2) return;
    for (const std::uint64_t coroutines : other_coroutines()) {
      for (const double computation_us : other_computations()) {
        Panel made = panel("contention" + suffix(coroutines) + suffix(computation_us), "Contention in YCSB",
                           stages, {with(coroutines), with(computation_us)});
        made.x_label = "% of the operations on 0.1 % of the records";
        made.figures = {figure(&Measurement::rate), figure(&Measurement::aborts_percent)};
        made.xs = options_.hot_percents;
        Subject base = subject(options_.protocols.front(), stages, {"ycsb", 0});
        base.coroutines = coroutines;
        base.computation_us = computation_us;
        fill(made, base, stages, [](Subject& each, double x) { each.workload.hot_percent = x; });
      }
    }
  }

  void coroutines(const std::string& stages) {
    if (options_.coroutines.size() < 2) return;
    for (const ComparedWorkload& workload : other_workloads()) {
      for (const double computation_us : other_computations()) {
        Panel made = panel("coroutines-" + file_of(workload) + suffix(computation_us),
                           "Transactions under way in " + workload.title(), stages, {with(computation_us)});
        made.x_label = "transactions under way";
        made.figures = {figure(&Measurement::rate), figure(&Measurement::p50_us)};
        made.xs = {options_.coroutines.begin(), options_.coroutines.end()};
        Subject base = subject(options_.protocols.front(), stages, workload);
        base.computation_us = computation_us;
        fill(made, base, stages,
             [](Subject& each, double x) { each.coroutines = static_cast<std::uint64_t>(x); });
      }
    }
  }

  void computation(const std::string& stages) {
    if (options_.computation_us.size() < 2) return;
    for (const ComparedWorkload& workload : computing_workloads()) {
      for (const std::uint64_t coroutines : other_coroutines()) {
        Panel made = panel("computation-" + file_of(workload) + suffix(coroutines),
                           "Computation in " + workload.title(), stages, {with(coroutines)});
        made.x_label = "us of computation in each transaction";
        made.logarithmic_x = true;
        made.figures = {figure(&Measurement::rate)};
        made.xs = options_.computation_us;
        Subject base = subject(options_.protocols.front(), stages, workload);
        base.coroutines = coroutines;
        fill(made, base, stages, [](Subject& each, double x) { each.computation_us = x; });
      }
    }
  }

  // One transaction under way, so that its time has no work of others in it. Always with both primitives.
  void breakdowns() {
    for (const auto& variants : variants_) {
      Rows rows{.title = variants.front().title(), .trials = {}};
      for (const std::string& protocol : options_.protocols) {
        for (const char* const stages : {"one-sided", "two-sided"}) {
          Subject each = subject(protocol, stages, variants.front());
          each.coroutines = 1;
          each.stage_times = true;
          rows.trials.push_back(place(plan_.timed, each));
        }
      }
      out_.breakdowns.push_back(std::move(rows));
    }
  }

  const CompareOptions& options_;
  ComparePlan& plan_;
  std::string fabric_;
  std::vector<std::vector<ComparedWorkload>> variants_;  // of each workload
  FabricPlan out_;
};

}  // namespace

Status check_stages(const CompareOptions& options) {
  for (const std::string& stages : options.stages) {
    if (protocol::StageCode::parse(stages)) continue;
    return Status(ErrorCode::invalid_parameter_value, "--stages: no stage code " + stages,
                  "one-sided, two-sided, or names of stages joined by +, such as read+lock");
  }
  return {};
}

ComparePlan plan_comparison(const CompareOptions& options) {
  ComparePlan plan;
  for (const std::string& fabric : options.fabrics)
    plan.fabrics.push_back(Planner(options, plan, fabric).run());
  return plan;
}

}  // namespace namdb::nambench
