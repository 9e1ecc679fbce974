// A checker's findings, for people and for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tools/namsim/history/check.h"
#include "tools/namsim/scenario/scenario.h"

namespace namdb::sim {

// {"ok", "level", "transactions", ..., "anomalies": [{"name", "sentence", "transactions", "keys", "cycle"}]}
nlohmann::ordered_json to_json(const history::Report& report, const history::History& history,
                               const history::Level& level);
std::string to_text(const history::Report& report, const history::History& history,
                    const history::Level& level);

// The report on a simulated run.
nlohmann::ordered_json to_json(const Scenario& scenario, const Verdict& verdict, const history::Level& level);
std::string to_text(const Scenario& scenario, const Verdict& verdict, const history::Level& level);

}  // namespace namdb::sim
