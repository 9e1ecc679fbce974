// The groups of a SELECT: the rows that have equal values of its GROUP BY, and their aggregates. Without
// GROUP BY there is one group, also of no rows.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compute/sql/execute/aggregate.h"
#include "compute/sql/execute/gathered_memory.h"
#include "compute/sql/execute/run.h"
#include "compute/sql/plan/plan.h"

namespace namdb::sql {

class Groups {
 public:
  // The plan is grouped, and outlives this.
  explicit Groups(const SelectPlan& plan);

  // Takes the context's row into account. When the work is paused it is called again.
  Status add(Run& run, const EvalContext& context);
  // Whether all rows are of one group, whose aggregates read columns as they are stored.
  bool adds_stored() const { return plan_.groups.empty() && all_stored_ && !plan_.first_value_decides; }
  // Then: the same as add().
  void add_stored(const layout::RowView& row) { add_stored(groups_.front(), row); }
  // The number of groups, in the order of their first rows.
  std::size_t size() const { return groups_.size(); }
  // The first group's one aggregate has a value.
  bool has_value() const { return groups_.front().accumulators.front().has_value(); }
  // Lets expressions read a group: its values as columns, and its aggregates.
  Status show(std::size_t group, EvalContext& context);

 private:
  struct Group {
    std::span<const Datum> values;
    std::vector<Accumulator> accumulators;
  };
  struct HashOfBytes {
    std::size_t operator()(std::string_view bytes) const;
  };
  Status find_group(Run& run, const EvalContext& context);
  Group& add_group(std::span<const Datum> values);
  void add_stored(Group& group, const layout::RowView& row) {
    for (std::size_t i = 0; i < steps_.size(); ++i) group.accumulators[i].add_stored(steps_[i], row);
  }

  const SelectPlan& plan_;
  std::deque<Group> groups_;
  std::vector<AggregateStep> steps_;  // of the aggregates
  bool all_stored_ = true;            // no step is `evaluated`
  absl::flat_hash_map<std::string_view, Group*, HashOfBytes> by_values_;
  // Of the row that is taken into account.
  std::vector<Datum> row_values_;
  std::string row_bytes_;
  Arena arena_;
  GatheredMemory memory_;
  std::vector<Datum> results_;
  // Of the row that is taken into account: its group, and the accumulators that have it.
  Group* group_ = nullptr;
  std::size_t done_accumulators_ = 0;
};

}  // namespace namdb::sql
