// A running SELECT. It gives its rows in portions, so that a portal can be suspended at a row limit and
// resumed later in the same transaction. Destroyed before its transaction.
#pragma once

#include <absl/container/flat_hash_set.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compute/sql/execute/gathered_memory.h"
#include "compute/sql/execute/groups.h"
#include "compute/sql/execute/locked_rows.h"
#include "compute/sql/execute/query.h"
#include "compute/sql/execute/row_feed.h"
#include "compute/sql/execute/row_filter.h"
#include "compute/sql/execute/run.h"

namespace namdb::sql {

// Bounds the number of rows that ORDER BY keeps.
inline constexpr std::size_t kMaxSortedRows = 1 << 20;

class SelectCursor final : public Query {
 public:
  // The plan outlives the cursor.
  explicit SelectCursor(const SelectPlan& plan);

  reactor::Task<Status> fetch(Run& run, std::uint64_t max_rows) override;
  bool done() const override { return done_; }

 private:
  // A row's values to sort by, and behind them those of the targets; in an arena, so that a million of them
  // are freed in a few steps.
  using SortedRow = const Datum*;

  reactor::Task<Status> fetch_rows(Run& run, std::uint64_t max_rows);
  // With FOR UPDATE.
  reactor::Task<Status> fetch_locked(Run& run, std::uint64_t max_rows);
  // So many rows that LIMIT has counted are not in the result.
  void allow_more(std::uint64_t rows);
  Status start(Run& run);
  // Handles the next rows or the next group, or the end of them, and counts in `given` the rows that went to
  // the sink: at most so many. When the work is paused it is called again.
  Status step(Run& run, std::uint64_t most_rows, std::uint64_t& given);
  // Rows of the batch, until the turn ends.
  Status process_rows(Run& run, std::uint64_t most_rows, std::uint64_t& given);
  bool wants_rows() const {
    return started_ && left_ != 0 && !decided_ && !feed_->exhausted() && batch_empty();
  }
  bool wants_sort() const;
  reactor::Task<Status> load(Run& run);
  // The number of the source's rows that will probably be read; 0: all.
  std::uint64_t expected_rows() const;
  bool batch_empty() const { return decided_ || position_ >= feed_->size(); }
  bool groups_left() const { return groups_ != nullptr && next_group_ < groups_->size(); }
  // Evaluates the filter on the next row of the batch, and gives the row on. `emitted`: it went to the sink.
  Status process_row(Run& run, EvalContext& context, bool& emitted);
  // The same for rows that are only counted and added up, as they are stored.
  Status process_stored(Run& run, const txn::RowBlock& rows);
  // After a pause: long values that will be needed soon are wanted, too.
  void want_ahead(Run& run);
  Status process_group(Run& run, bool& emitted);
  // Gives a row of the result on: to be sorted, or to the sink.
  Status take(Run& run, const EvalContext& context, bool& emitted);
  // Whether DISTINCT has had the values of the targets.
  Status is_repeated(Run& run, std::span<const Datum> targets, bool& repeated);
  Status keep_for_sorting(Run& run, const EvalContext& context);
  // So many values and strings are kept for a row that is to be sorted.
  std::size_t sorted_bytes(const Datum* row) const;
  // Whether the row that is to be sorted comes behind all rows that LIMIT allows.
  bool comes_too_late(Run& run) const;
  // Forgets the rows that come behind those that LIMIT allows.
  Status keep_first_rows(Run& run);
  Status emit(Run& run, const EvalContext& context, bool& emitted);
  // Whether DISTINCT ON has had the values of that row, the next of the sorted ones.
  bool repeats_row_before(Run& run, const Datum* row) const;
  // Gives the next of the sorted rows.
  void emit_sorted(Run& run, bool& emitted);
  reactor::Task<Status> sort(Run& run);

  const SelectPlan& plan_;
  bool started_ = false;
  bool done_ = false;
  std::uint64_t to_skip_ = 0;
  std::uint64_t left_ = ~std::uint64_t{0};  // rows that LIMIT still allows
  std::unique_ptr<LockedRows> locked_;      // null: the plan locks none. It outlives the feed
  std::unique_ptr<RowFeed> feed_;
  RowFilter filter_;
  std::size_t position_ = 0;  // in its batch
  bool decided_ = false;      // no further row counts
  std::vector<Datum> values_;
  std::unique_ptr<Groups> groups_;  // null: the plan has none
  std::size_t next_group_ = 0;
  absl::flat_hash_set<std::string> distinct_;
  GatheredMemory distinct_memory_;
  std::vector<Datum> row_to_sort_;
  std::vector<SortedRow> sorted_;
  std::vector<std::uint32_t> sorted_order_;
  GatheredMemory sorted_memory_;
  std::unique_ptr<Arena> sorted_arena_ = std::make_unique<Arena>();
  // With a LIMIT of few rows: how many count, with those that OFFSET skips; otherwise 0. When there are more,
  // the last of those that count is known.
  std::size_t first_rows_ = 0;
  SortedRow last_that_counts_ = nullptr;
  bool targets_cannot_fail_ = false;
  bool is_sorted_ = false;
  std::size_t sorted_position_ = 0;
};

// Run::start_query.
std::unique_ptr<Query> start_query(const SelectPlan& plan);

}  // namespace namdb::sql
