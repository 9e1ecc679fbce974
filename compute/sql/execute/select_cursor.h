// A running SELECT. It gives its rows in portions, so that a portal can be suspended at a row limit and
// resumed later in the same transaction. Destroyed before its transaction.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "compute/sql/execute/aggregate.h"
#include "compute/sql/execute/run.h"
#include "compute/sql/execute/source_keys.h"
#include "compute/sql/execute/source_scan.h"
#include "compute/sql/system/virtual_table.h"

namespace namdb::sql {

// Bounds the memory in which ORDER BY keeps its rows.
inline constexpr std::size_t kMaxSortedRows = 1 << 20;
inline constexpr std::size_t kMaxSorted_bytes = 512 << 20;

class SelectCursor {
 public:
  // The plan outlives the cursor.
  explicit SelectCursor(const SelectPlan& plan) : plan_(plan), scan_(plan.source) {}

  // Gives at most `max_rows` rows to the run's sink; 0: all. After an error the cursor is not used again.
  reactor::Task<Status> fetch(Run& run, std::uint64_t max_rows);
  // Whether no row is left. That is known for certain only after a fetch() that gave fewer rows than it was
  // allowed to.
  bool done() const { return done_; }

 private:
  // A row's values to sort by, and behind them those of the targets; in an arena, so that a million of them
  // are freed in a few steps.
  using SortedRow = const Datum*;

  Status start(Run& run);
  // Handles the next row, or the end of the rows. When the work is paused it is called again.
  Status step(Run& run, bool& emitted);
  Status finish(Run& run, bool& emitted);
  bool wants_sort() const;
  // Reads the next rows of the source into batch_ or virtual_rows_; sets exhausted_ at the end.
  reactor::Task<Status> load(Run& run);
  reactor::Task<Status> load_by_key(Run& run);
  // The number of the source's rows that will probably be read; 0: all.
  std::uint64_t expected_rows() const;
  bool batch_empty() const;
  // Evaluates the filter and the targets on one row of the batch. `emitted`: the row went to the sink.
  Status process(Run& run, bool& emitted);
  Status accumulate(const EvalContext& context);
  Status keep_for_sorting(Run& run, const EvalContext& context);
  Status emit(Run& run, const EvalContext& context, bool& emitted);
  // Gives the next of the sorted rows.
  void emit_sorted(Run& run, bool& emitted);
  reactor::Task<Status> sort(Run& run);
  bool sorts_before(SortedRow left, SortedRow right, Work& work) const;

  const SelectPlan& plan_;
  bool started_ = false;
  bool exhausted_ = false;
  bool done_ = false;
  std::uint64_t to_skip_ = 0;
  std::uint64_t left_ = ~std::uint64_t{0};  // rows that LIMIT still allows
  SourceScan scan_;
  std::vector<layout::Row> batch_;
  // For access by primary key: all keys, and the rows of those that were fetched last.
  Keys keys_;
  bool have_keys_ = false;
  std::size_t key_position_ = 0;
  std::vector<txn::RowId> key_rows_;
  bool have_constant_row_ = false;
  VirtualRows virtual_rows_;
  Arena virtual_arena_;
  std::size_t position_ = 0;
  std::vector<Datum> values_;
  std::vector<Accumulator> accumulators_;
  std::size_t next_accumulator_ = 0;  // accumulators before it have taken the current row
  std::vector<Datum> row_to_sort_;
  std::vector<SortedRow> sorted_;
  std::vector<std::uint32_t> sorted_order_;
  std::size_t sorted_bytes_ = 0;
  MemoryShare sorted_memory_;  // for what goes beyond a few
  Arena sorted_arena_;
  bool is_sorted_ = false;
  std::size_t sorted_position_ = 0;
};

}  // namespace namdb::sql
