// The rows of a query with the values of window functions behind their own. All rows are kept, and sorted for
// each call; they are given in the order of the last one.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "compute/sql/execute/aggregate.h"
#include "compute/sql/execute/gathered_memory.h"
#include "compute/sql/execute/gathered_rows.h"
#include "compute/sql/execute/row_feed.h"
#include "compute/sql/plan/window.h"

namespace namdb::sql {

class WindowFeed final : public RowFeed {
 public:
  // The table outlives the feed.
  explicit WindowFeed(const DerivedTable& table);

  reactor::Task<Status> load(Run& run, std::uint64_t expected) override;
  bool exhausted() const override { return loaded_; }
  std::size_t size() const override { return shown_.size(); }
  void show(const Run& run, std::size_t row, EvalContext& context) override;

 private:
  // Places in order_.
  struct Rows {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t size() const { return end - begin; }
  };

  reactor::Task<Status> gather(Run& run);
  // Keeps the values of the expressions of each row: of PARTITION BY, ORDER BY, the arguments
  // and the frame.
  reactor::Task<Status> evaluate_rows(Run& run, const WindowCall* call);
  Status evaluate_row(Run& run, const WindowCall& call, std::size_t row);
  reactor::Task<Status> sort(Run& run, const WindowCall* call);
  reactor::Task<Status> calculate(Run& run, std::size_t call);
  reactor::Task<Status> calculate_partition(Run& run, std::size_t call, Rows partition);
  reactor::Task<Status> accumulate(Run& run, std::size_t call, Rows partition);
  Status value_of_row(const WindowCall& call, Rows partition, std::size_t at, Datum& out);
  // The value of a row of the frame.
  Status value_of_frame(const WindowCall& call, Rows partition, std::size_t at, Datum& out);
  Status keep(Run& run, std::size_t bytes);
  bool same_values(const std::vector<OrderItem>& items, std::size_t first, std::size_t left,
                   std::size_t right) const;
  // The frame of the row at that place.
  Status find_frame(const WindowCall& call, Rows partition, std::size_t at, Rows& frame) const;
  Status find_bound(const WindowCall& call, Rows partition, std::size_t at, bool is_start,
                    std::size_t& out) const;
  std::size_t begin_of_group(Rows partition, std::size_t group) const;
  // Of RANGE: the first row of the partition that comes after the row's `value`, or with it, if `with`.
  std::size_t first_behind(const WindowCall& call, Rows partition, const Datum* value, bool with) const;
  std::span<const Datum> argument(const WindowCall& call, std::size_t at) const;

  const DerivedTable& table_;
  bool loaded_ = false;
  std::unique_ptr<Query> query_;
  GatheredRows rows_;
  Arena arena_;                                 // of the query's expressions
  Arena values_arena_;                          // of values
  std::vector<std::span<const Datum>> values_;  // of the call that is calculated, by row
  std::vector<std::uint32_t> order_;            // rows
  std::vector<std::size_t> rank_;               // where the peers of each place in order_ begin
  std::vector<std::size_t> peer_groups_;        // of each place: the number of those before its own
  std::vector<std::size_t> group_begins_;       // of the peers in the partition
  std::vector<std::vector<Datum>> results_;     // by call and row
  std::vector<std::span<const Datum>> shown_;
  GatheredMemory memory_;
};

}  // namespace namdb::sql
