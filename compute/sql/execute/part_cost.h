// Counts the cost of a part of the plan, from its construction to end(), if the statement counts costs.
#pragma once

#include <cstdint>

#include "compute/sql/execute/run.h"
#include "compute/sql/expression/plan_costs.h"

namespace namdb::sql {

class PartCost {
 public:
  PartCost(const Run& run, const void* part) : run_(run), part_(run.state.costs == nullptr ? nullptr : part) {
    if (part_ != nullptr) [[unlikely]]
      before_ = run_.transaction->counters();
  }
  void end(std::size_t rows) {
    if (part_ == nullptr) [[likely]]
      return;
    PlanCosts::Cost& cost = run_.state.costs->parts[part_];
    cost.counters += run_.transaction->counters() - before_;
    cost.rows += rows;
  }

 private:
  const Run& run_;
  const void* part_;
  fabric::OperationCounters before_;
};

}  // namespace namdb::sql
