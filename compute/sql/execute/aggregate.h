// count, sum, min, max and avg over the rows of a SELECT.
#pragma once

#include <absl/container/flat_hash_set.h>

#include <memory>
#include <string>

#include "compute/sql/execute/gathered_memory.h"
#include "compute/sql/plan/plan.h"

namespace namdb::sql {

class Accumulator {
 public:
  explicit Accumulator(const Aggregate& aggregate) : aggregate_(&aggregate) {}

  // Takes the context's row into account. The values that DISTINCT has seen are kept in `memory`, of which
  // `budget` has a part. numeric_out_of_range, out_of_memory, and the argument's errors.
  Status add(const EvalContext& context, GatheredMemory& memory, MemoryBudget* budget);
  // The result. A string borrows from the accumulator.
  Status result(Datum& out) const;

 private:
  Status add_value(const Datum& value);

  const Aggregate* aggregate_;
  std::int64_t count_ = 0;
  Decimal sum_;
  double real_sum_ = -0.0;  // to which any number can be added without changing it
  Datum best_;
  std::string best_text_;
  std::unique_ptr<absl::flat_hash_set<std::string>> seen_;  // DISTINCT
};

}  // namespace namdb::sql
