// EXPLAIN: a plan in words, and what running it cost.
#pragma once

#include <string>
#include <vector>

#include "common/fabric/counters.h"
#include "compute/sql/plan/plan.h"

namespace namdb::sql {

std::vector<std::string> explain_plan(const Plan& plan);
// Lines for EXPLAIN ANALYZE: one-sided operations, calls, round trips and bytes.
std::vector<std::string> explain_cost(const fabric::OperationCounters& cost, std::uint64_t rows);

}  // namespace namdb::sql
