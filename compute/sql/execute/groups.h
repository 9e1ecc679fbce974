// The groups of a SELECT: the rows that have equal values of its GROUP BY, and their aggregates. Without
// GROUP BY there is one group, also of no rows.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <deque>
#include <optional>
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
  // Whether rows of a table can be added in their stored form: the aggregates read only the table's columns,
  // and there is one group, or one for each value of a column that is stored as an integer.
  bool adds_stored() const {
    return all_stored_ && !plan_.first_value_decides && (one_group() || by_column_);
  }
  // Then: the same as add(). False, and nothing is done: the row's group is not known yet.
  bool add_stored(const layout::RowView& row) {
    Group* const group = one_group() ? &groups_.front() : stored_group(row);
    if (group != nullptr) add_stored(*group, row);
    return group != nullptr;
  }
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
  bool one_group() const { return plan_.groups.empty() && plan_.grouping_sets.empty(); }
  Group* stored_group(const layout::RowView& row) const {
    if (row.is_null(*by_column_)) return of_null_;
    const auto found = by_integer_.find(row.integer(*by_column_));
    return found == by_integer_.end() ? nullptr : found->second;
  }
  Status find_group(Run& run, const EvalContext& context);
  // The next set of GROUPING SETS.
  void begin_set(std::size_t set);
  Status find_group_of_set(Run& run, const EvalContext& context, std::size_t set);
  Status find_by_bytes(MemoryBudget* budget);
  Status add_to_group(Run& run, const EvalContext& context);
  Group& add_group(std::span<const Datum> values);
  void add_stored(Group& group, const layout::RowView& row) {
    for (std::size_t i = 0; i < steps_.size(); ++i) group.accumulators[i].add_stored(steps_[i], row);
  }

  const SelectPlan& plan_;
  std::deque<Group> groups_;
  std::vector<AggregateStep> steps_;  // of the aggregates
  bool all_stored_ = true;            // no step is `evaluated`
  absl::flat_hash_map<std::string_view, Group*, HashOfBytes> by_values_;
  std::optional<std::uint32_t> by_column_;  // stored as an integer, and the only one of GROUP BY
  absl::flat_hash_map<std::int64_t, Group*> by_integer_;  // then: those of by_values_
  Group* of_null_ = nullptr;
  // The values of the row that is being added.
  std::vector<Datum> row_values_;
  std::string row_bytes_;
  Arena arena_;
  GatheredMemory memory_;
  std::vector<Datum> results_;
  // The group of the row that is being added, and the accumulators that have it.
  Group* group_ = nullptr;
  std::size_t done_accumulators_ = 0;
  std::size_t done_sets_ = 0;  // of GROUPING SETS
};

}  // namespace namdb::sql
