// The rows of a derived table: a subquery of FROM, VALUES, or two queries that a set operation connects. They
// come in portions; only INTERSECT and EXCEPT keep one of their queries' rows, and operations without ALL the
// values that they have given.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <memory>
#include <string>

#include "compute/sql/execute/gathered_memory.h"
#include "compute/sql/execute/gathered_rows.h"
#include "compute/sql/execute/row_feed.h"
#include "compute/sql/plan/plan.h"

namespace namdb::sql {

class QueryFeed final : public RowFeed {
 public:
  // The table outlives the feed.
  explicit QueryFeed(const DerivedTable& table);

  reactor::Task<Status> load(Run& run, std::uint64_t expected) override;
  bool exhausted() const override { return exhausted_; }
  std::size_t size() const override { return shown_.size(); }
  void show(const Run& run, std::size_t row, EvalContext& context) override;

 private:
  reactor::Task<Status> load_values(Run& run);
  Status make_row(Run& run, const std::vector<ExprPtr>& values);
  // The next portion of a query's rows.
  reactor::Task<Status> load_portion(Run& run, const SelectPlan* plan);
  reactor::Task<Status> load_queries(Run& run);
  // INTERSECT and EXCEPT: counts the rows of the right query.
  reactor::Task<Status> count_right(Run& run);
  // WITH RECURSIVE: the next rows of a round, which are kept for the one after it.
  reactor::Task<Status> load_round(Run& run);
  Status keep_for_round(Run& run, std::span<const Datum> row);
  // Whether the operation gives that row of the left query, or of either for UNION.
  Status selects(Run& run, std::span<const Datum> row, bool& selected);
  std::string bytes_of(std::span<const Datum> row) const;
  bool is_union() const {
    return table_.operation == SetOperation::union_all || table_.operation == SetOperation::union_distinct;
  }

  const DerivedTable& table_;
  bool exhausted_ = false;
  std::size_t next_values_ = 0;
  std::unique_ptr<Query> query_;
  bool in_right_ = false;
  std::unique_ptr<GatheredRows> portion_;
  std::vector<std::span<const Datum>> shown_;  // of the portion
  Arena arena_;                                // of the query's expressions
  absl::flat_hash_map<std::string, std::uint64_t> right_;
  bool right_is_counted_ = false;
  absl::flat_hash_set<std::string> given_;
  // WITH RECURSIVE: the rows of the round before, and of the one that runs.
  std::unique_ptr<GatheredRows> working_;
  std::unique_ptr<GatheredRows> next_working_;
  GatheredMemory memory_;
};

}  // namespace namdb::sql
