#include "tools/nambench/comparison/factors.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "compute/cluster/optimisations.h"
#include "tools/nambench/comparison/markdown.h"
#include "tools/nambench/comparison/tables.h"
#include "tools/support/report/text_table.h"

namespace namdb::nambench {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> optimisation_names() {
  std::vector<std::string> names;
  std::string all = txn::Optimisations::names();
  for (std::size_t comma = 0; comma != std::string::npos;) {
    comma = all.find(", ");
    names.push_back(all.substr(0, comma));
    if (comma != std::string::npos) all.erase(0, comma + 2);
  }
  return names;
}

std::string joined(const std::vector<std::string>& names, std::size_t first) {
  std::string text;
  for (std::size_t i = first; i < names.size(); ++i) text += (text.empty() ? "" : ",") + names[i];
  return text;
}

double ratio(const Trial& trial, const Trial& to) {
  const double base = to.of(&Measurement::rate).median;
  return base > 0 ? trial.of(&Measurement::rate).median / base : 0;
}

}  // namespace

std::vector<FactorStep> factor_steps(const FactorOptions& options) {
  const std::vector<std::string> names = optimisation_names();
  std::vector<FactorStep> steps;
  std::size_t with = 0;  // so many of the names
  std::uint64_t coroutines = 1;
  const auto add = [&](std::string name) {
    Subject subject = options.subject;
    subject.without = joined(names, with);
    subject.coroutines = coroutines;
    steps.push_back({std::move(name), {std::move(subject), {}}});
  };
  add("none");
  for (; with < names.size();) {
    if (with + 1 == names.size() && options.subject.coroutines > 1) {
      coroutines = options.subject.coroutines;
      add("+ " + std::to_string(coroutines) + " coroutines");
    }
    const std::string& name = names[with++];
    add("+ " + name);
  }
  return steps;
}

Result<std::vector<FactorStep>> analyse_factors(const FactorOptions& options, const RunOne& run_one,
                                                support::Progress& progress) {
  std::vector<FactorStep> steps = factor_steps(options);
  Schedule schedule;
  const std::size_t runs = steps.size() * options.repetitions;
  schedule.plan(runs, static_cast<double>(runs) * options.run.all_seconds());
  progress.note(std::to_string(steps.size()) + " steps, " + std::to_string(runs) +
                " runs: " + schedule.left());
  std::vector<Trial*> trials;
  for (FactorStep& step : steps) trials.push_back(&step.trial);
  const Status status =
      Turns(run_one, schedule, progress).run(std::move(trials), options.repetitions, options.run, "factors");
  if (!status.ok()) return status;
  progress.end_line();
  return steps;
}

std::string to_text(const std::vector<FactorStep>& steps) {
  std::vector<std::string> header = {"", "of the one before", "of none"};
  for (const Figure& figure : kFigures) header.emplace_back(figure.title);
  header.emplace_back("doorbells");
  MarkdownTable table(std::move(header));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Trial& trial = steps[i].trial;
    std::vector<std::string> row = {
        steps[i].name, i == 0 ? "" : support::decimal(ratio(trial, steps[i - 1].trial), 2) + "x",
        i == 0 ? "" : support::decimal(ratio(trial, steps.front().trial), 2) + "x"};
    for (const Figure& figure : kFigures) row.push_back(figure_text(trial, figure));
    row.push_back(support::decimal(trial.of(&Measurement::doorbells).median, 1));
    table.add(std::move(row));
  }
  const Subject& subject = steps.back().trial.subject;
  return "## What optimisations are worth: " + subject_title(subject) + " in the end, stages " +
         subject.stages.text() + "\n\n" + table.to_text();
}

Json to_json(const std::vector<FactorStep>& steps) {
  Json json;
  json["steps"] = Json::array();
  for (const FactorStep& step : steps) {
    Json entry = trial_json(step.trial);
    entry["name"] = step.name;
    entry["without"] = step.trial.subject.without;
    entry["doorbells"] = step.trial.of(&Measurement::doorbells).median;
    entry["ratio_to_none"] = ratio(step.trial, steps.front().trial);
    json["steps"].push_back(std::move(entry));
  }
  return json;
}

}  // namespace namdb::nambench
