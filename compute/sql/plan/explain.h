// EXPLAIN: a plan in words or as JSON, and what running it cost.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/fabric/counters.h"
#include "compute/sql/expression/plan_costs.h"
#include "compute/sql/plan/plan.h"

namespace namdb::sql {

// The figures of EXPLAIN ANALYZE.
struct ExplainedRun {
  PlanCosts parts;
  fabric::OperationCounters total;
  std::uint64_t rows = 0;
  bool without_commit = false;
};

// `run`: null without ANALYZE. One-sided operations, calls, round trips and bytes, of each part that reads or
// writes rows, and of all.
std::vector<std::string> explain_text(const Plan& plan, const ExplainedRun* run);
// In the shape of PostgreSQL's, in one text.
std::string explain_json(const Plan& plan, const ExplainedRun* run);

}  // namespace namdb::sql
