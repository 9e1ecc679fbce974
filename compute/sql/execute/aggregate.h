// Aggregates over the rows of a SELECT.
#pragma once

#include <absl/container/flat_hash_set.h>

#include <memory>
#include <set>
#include <string>

#include "compute/sql/execute/gathered_memory.h"
#include "compute/sql/plan/plan.h"

namespace namdb::sql {

// The way in which an aggregate takes a row of a table into account. All but `evaluated` read a column of
// the row as it is stored, and cannot fail.
enum class AggregateStep : std::uint8_t {
  evaluated,  // as expressions say
  count_rows,
  count,     // of a column
  sum,       // and average, of a column of whole or decimal numbers
  least,     // min() of a column whose values are stored as integers
  greatest,  // max()
};

AggregateStep step_of(const Aggregate& aggregate);

class Accumulator {
 public:
  explicit Accumulator(const Aggregate& aggregate) : aggregate_(&aggregate) {}

  // The same as add() of a row of a table, for a step that is not `evaluated`.
  void add_stored(AggregateStep step, const layout::RowView& row);
  // Takes the context's row into account. The values that DISTINCT has seen are kept in `memory`, of which
  // `budget` has a part. numeric_out_of_range, out_of_memory, and the argument's errors.
  Status add(const EvalContext& context, GatheredMemory& memory, MemoryBudget* budget);
  // Whether min() or max() has seen a value that is not NULL.
  bool has_value() const { return !best_.null; }
  // The result. A string borrows from the accumulator, or lies in the arena.
  Status result(Arena& arena, Datum& out) const;

 private:
  // A value of array_agg or string_agg, with the values by which it is ordered.
  struct Kept {
    Datum value;
    Datum separator;
    std::span<const Datum> order;
  };
  struct ComesBefore {
    const Aggregate* aggregate;
    bool operator()(const Kept& left, const Kept& right) const;
  };
  // Values are sorted as they come: a sort of many would be one long step.
  struct Collection {
    explicit Collection(const Aggregate* aggregate) : kept(ComesBefore{aggregate}) {}
    std::multiset<Kept, ComesBefore> kept;
    Arena arena;
  };

  Status add_value(const Datum& value);
  // `infinite`: it is, or the sum before it.
  Status add_square(double value, bool infinite);
  // The separator and the values by which it is ordered.
  Status evaluate_others(const EvalContext& context) const;
  Status collect(const EvalContext& context, const Datum& value, GatheredMemory& memory,
                 MemoryBudget* budget);
  Status collected(Arena& arena, Datum& out) const;
  Status collected_json(Arena& arena, Datum& out) const;

  const Aggregate* aggregate_;
  std::int64_t count_ = 0;
  Decimal sum_;
  Interval interval_sum_;
  double real_sum_ = -0.0;   // to which any number can be added without changing it
  double real_squares_ = 0;  // of avg(): the squares of the distances from the mean, added up
  Datum best_;
  std::string best_text_;
  std::unique_ptr<absl::flat_hash_set<std::string>> seen_;  // DISTINCT
  std::unique_ptr<Collection> collection_;                  // of array_agg and string_agg
};

}  // namespace namdb::sql
