// New orders at several degrees of distribution (NAM-DB §7.3), side by side: the cost of transactions that
// need data of another memory server.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/support/report/run_report.h"

namespace namdb::nambench {

// The runs with one likelihood, in percent, that a new order takes its goods from another memory server.
struct DistributionRuns {
  double remote_percent = 0;
  std::vector<support::RunReport> runs;  // one at least
};

// `degrees` in the order in which they are compared: with the first.
nlohmann::ordered_json to_json(const std::vector<DistributionRuns>& degrees);
std::string to_text(const std::vector<DistributionRuns>& degrees);
bool checks_ok(const std::vector<DistributionRuns>& degrees);

}  // namespace namdb::nambench
