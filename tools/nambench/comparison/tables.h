// The results of trials as tables of a report and as JSON.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "tools/nambench/comparison/trials.h"

namespace namdb::nambench {

using Label = std::function<std::string(const Trial&)>;

// "occ, SmallBank, tcp, 10 transactions under way".
std::string subject_title(const Subject& subject);
std::string under_way(std::uint64_t coroutines);
// Of a figure: "23,400 ±5 %"; without the spread where the figure has none, or was measured once.
std::string figure_text(const Trial& trial, const Figure& figure);

// A row for each trial, its figures in columns.
std::string figures_table(std::span<const Trial> trials, const Label& label);
// A row for each trial, and a column for each share of its mean transaction's time, in microseconds and round
// trips. A share that is zero in all trials has no column.
std::string breakdown_table(std::span<const Trial> trials, const Label& label);
// Positions among the trials' time shares of those that took time of any of them.
std::vector<std::size_t> shown_shares(std::span<const Trial> trials);
// A row for each transaction type of each trial: how often it conflicted and was tried.
std::string attempts_table(std::span<const Trial> trials, const Label& label);

nlohmann::ordered_json trial_json(const Trial& trial);

}  // namespace namdb::nambench
