// A plan as a tree of nodes, as EXPLAIN shows them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compute/sql/plan/plan.h"

namespace namdb::sql {

struct ExplainNode {
  std::string line;                  // as text
  std::vector<std::string> details;  // lines below it
  std::string type;                  // "Index Scan"
  // Further properties: PostgreSQL's names, and values.
  std::vector<std::pair<std::string, std::string>> properties;
  // Of the plan, by which its cost is counted (expression/plan_costs.h); null: it has none.
  const void* part = nullptr;
  std::vector<ExplainNode> children;
};

ExplainNode explain_tree(const Plan& plan);

}  // namespace namdb::sql
