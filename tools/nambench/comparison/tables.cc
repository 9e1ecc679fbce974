#include "tools/nambench/comparison/tables.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/nambench/comparison/markdown.h"
#include "tools/support/report/text_table.h"

namespace namdb::nambench {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kSeen_us = 0.005;  // less is 0.00

}  // namespace

std::string under_way(std::uint64_t coroutines) {
  return std::to_string(coroutines) + (coroutines == 1 ? " transaction" : " transactions") + " under way";
}

std::string subject_title(const Subject& subject) {
  std::string text = subject.protocol + ", " + subject.workload.title() + ", " + subject.fabric + ", " +
                     under_way(subject.coroutines);
  if (subject.computation_us > 0)
    text += ", " + support::decimal(subject.computation_us, 0) + " us of computation each";
  return text;
}

std::string figure_text(const Trial& trial, const Figure& figure) {
  const Spread spread = trial.of(figure.value);
  std::string text = grouped(spread.median, figure.decimals);
  if (!figure.with_spread || trial.runs.size() < 2) return text;
  return text + " ±" + support::decimal(spread.half_range_percent(), 0) + " %";
}

std::string figures_table(std::span<const Trial> trials, const Label& label) {
  std::vector<std::string> header = {""};
  for (const Figure& figure : kFigures) header.emplace_back(figure.title);
  MarkdownTable table(std::move(header));
  for (const Trial& trial : trials) {
    std::vector<std::string> row = {label(trial)};
    for (const Figure& figure : kFigures) row.push_back(figure_text(trial, figure));
    table.add(std::move(row));
  }
  return table.to_text();
}

std::vector<std::size_t> shown_shares(std::span<const Trial> trials) {
  std::vector<std::size_t> shown;
  for (const Trial& trial : trials) {
    const std::vector<support::TimeShare> shares = trial.time_shares();
    for (std::size_t i = 0; i < shares.size(); ++i) {
      if (shares[i].us >= kSeen_us && std::ranges::find(shown, i) == shown.end()) shown.push_back(i);
    }
  }
  std::ranges::sort(shown);
  return shown;
}

std::string breakdown_table(std::span<const Trial> trials, const Label& label) {
  std::vector<std::vector<support::TimeShare>> shares;
  for (const Trial& trial : trials) shares.push_back(trial.time_shares());
  std::vector<std::string> header = {""};
  const std::vector<std::size_t> shown = shown_shares(trials);
  for (const std::size_t i : shown) header.push_back(shares.front()[i].name);
  header.emplace_back("all");
  MarkdownTable table(std::move(header));
  for (std::size_t number = 0; number < trials.size(); ++number) {
    std::vector<std::string> row = {label(trials[number])};
    double all_us = 0;
    double all_round_trips = 0;
    for (const support::TimeShare& share : shares[number]) {
      all_us += share.us;
      all_round_trips += share.round_trips;
    }
    const auto cell = [](double us, double round_trips) {
      return grouped(us, 2) + (round_trips >= 0.005 ? " (" + support::decimal(round_trips, 2) + ")" : "");
    };
    for (const std::size_t i : shown)
      row.push_back(cell(shares[number][i].us, shares[number][i].round_trips));
    row.push_back(cell(all_us, all_round_trips));
    table.add(std::move(row));
  }
  return table.to_text();
}

std::string attempts_table(std::span<const Trial> trials, const Label& label) {
  MarkdownTable table({"", "transaction", "conflicts %", "most attempts", "longest us"});
  for (const Trial& trial : trials) {
    for (const TypeAttempts& type : trial.attempts()) {
      table.add({label(trial), type.name, support::decimal(type.conflicts_percent, 1),
                 std::to_string(type.most_attempts), grouped(type.longest_us, 0)});
    }
  }
  return table.to_text();
}

Json trial_json(const Trial& trial) {
  const Subject& subject = trial.subject;
  Json json;
  json["protocol"] = subject.protocol;
  json["stages"] = subject.stages.text();
  json["fabric"] = subject.fabric;
  json["workload"] = subject.workload.name;
  json["hot_percent"] = subject.workload.hot_percent;
  json["coroutines"] = subject.coroutines;
  json["computation_us"] = subject.computation_us;
  for (const Figure& figure : kFigures) {
    const Spread spread = trial.of(figure.value);
    json[std::string(figure.key)] = {{"median", spread.median}, {"half_range", spread.half_range}};
  }
  json["transactions"] = Json::array();
  for (const TypeAttempts& type : trial.attempts()) {
    json["transactions"].push_back({{"name", type.name},
                                    {"conflicts_percent", type.conflicts_percent},
                                    {"most_attempts", type.most_attempts},
                                    {"longest_us", type.longest_us}});
  }
  const std::vector<support::TimeShare> shares = trial.time_shares();
  if (shares.empty()) return json;
  json["time_shares"] = Json::array();
  for (const support::TimeShare& share : shares) {
    json["time_shares"].push_back(
        {{"name", share.name}, {"us", share.us}, {"round_trips", share.round_trips}});
  }
  return json;
}

}  // namespace namdb::nambench
