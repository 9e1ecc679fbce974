// The cost of each part of a plan, while EXPLAIN ANALYZE runs it.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>

#include "common/fabric/counters.h"

namespace namdb::sql {

struct PlanCosts {
  struct Cost {
    fabric::OperationCounters counters;
    std::uint64_t rows = 0;  // before any filter
  };
  // By the address of the part of the plan: of a source; of the list of locks; of the keys of a source whose
  // rows are changed; of the table into which rows are inserted.
  absl::flat_hash_map<const void*, Cost> parts;
};

}  // namespace namdb::sql
