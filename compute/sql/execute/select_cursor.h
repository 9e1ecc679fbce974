// A running SELECT: gives its rows in portions, so that a portal can stop at a row limit and go on later in
// the same transaction. Destroyed before its transaction.
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

// ORDER BY keeps its rows in memory.
inline constexpr std::size_t kMaxSortedRows = 1 << 20;
inline constexpr std::size_t kMaxSorted_bytes = 512 << 20;

class SelectCursor {
 public:
  // The plan outlives the cursor.
  explicit SelectCursor(const SelectPlan& plan) : plan_(plan), scan_(plan.source) {}

  // At most `max_rows` rows go to the run's sink; 0: all. After an error the cursor is not used again.
  reactor::Task<Status> fetch(Run& run, std::uint64_t max_rows);
  // No row is left. Known for certain only after a fetch() that gave fewer rows than it might have.
  bool done() const { return done_; }

 private:
  struct SortedRow {
    std::vector<Datum> values;
    std::vector<Datum> keys;
  };

  Status start(Run& run);
  // One row, or what comes after the last. When the work is paused it is called again.
  Status step(Run& run, bool& emitted);
  Status finish(Run& run, bool& emitted);
  bool wants_sort() const;
  // The next portion of the source's rows, in batch_ or virtual_rows_; nothing left: exhausted_.
  reactor::Task<Status> load(Run& run);
  reactor::Task<Status> load_by_key(Run& run);
  // How many of the source's rows will probably be taken; 0: all.
  std::uint64_t expected_rows() const;
  bool batch_empty() const;
  // One row of the batch through filter and targets. `emitted`: it went to the sink.
  Status process(Run& run, bool& emitted);
  Status accumulate(const EvalContext& context);
  Status keep_for_sorting(Run& run, const EvalContext& context);
  Status emit(Run& run, const EvalContext& context, bool& emitted);
  // One row of the sorted ones.
  void emit_sorted(Run& run, bool& emitted);
  reactor::Task<Status> sort(Run& run);
  bool sorts_before(const SortedRow& left, const SortedRow& right, Work& work) const;

  const SelectPlan& plan_;
  bool started_ = false;
  bool exhausted_ = false;
  bool done_ = false;
  std::uint64_t to_skip_ = 0;
  std::uint64_t left_ = ~std::uint64_t{0};  // rows that LIMIT still allows
  SourceScan scan_;
  std::vector<layout::Row> batch_;
  // The way by key: all keys, and the rows of those that were fetched last.
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
  std::size_t next_accumulator_ = 0;  // those before it have the row already
  std::vector<SortedRow> sorted_;
  std::vector<std::uint32_t> sorted_order_;
  std::size_t sorted_bytes_ = 0;
  MemoryShare sorted_memory_;  // for what goes beyond a few
  Arena sorted_arena_;
  bool is_sorted_ = false;
  std::size_t sorted_position_ = 0;
};

}  // namespace namdb::sql
