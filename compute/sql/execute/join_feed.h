// The rows of a join, level by level: each table takes a batch of rows of the tables before it, finds all
// rows that may match them side by side, and gives the joined rows. Reads by key, and by an index, are one
// fetch a batch; other tables are in memory (join_table.h).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compute/sql/execute/join_table.h"
#include "compute/sql/execute/lateral_rows.h"
#include "compute/sql/execute/row_feed.h"
#include "compute/sql/execute/row_filter.h"
#include "compute/sql/execute/set_function.h"
#include "compute/sql/execute/source_feed.h"

namespace namdb::sql {

// Rows that a statement may read by the keys and indexes of joined tables: they stay with the transaction.
inline constexpr std::uint64_t kMaxLookedUp = 1 << 20;

class JoinFeed final : public RowFeed {
 public:
  // The plan outlives the feed.
  explicit JoinFeed(const JoinPlan& plan);

  reactor::Task<Status> load(Run& run, std::uint64_t expected) override;
  bool exhausted() const override { return exhausted_; }
  std::size_t size() const override { return batch_.size(); }
  void show(const Run& run, std::size_t row, EvalContext& context) override;

 private:
  using Row = std::span<const Datum>;

  struct Level {
    Level(const JoinedSource& joined_source, std::size_t slots)
        : joined(joined_source), feed(joined_source), filter(joined_source), table(joined_source, slots) {
      if (joined.method == JoinMethod::by_query) lateral = std::make_unique<LateralRows>(joined.source);
      if (joined.method != JoinMethod::by_function) return;
      function = std::make_unique<SetFunctionRows>(*joined.source.function);
      function_row.resize(joined.source.function->columns.size());
    }

    const JoinedSource& joined;
    SourceFeed feed;      // of the first table
    RowFilter filter;     // likewise
    JoinTableRows table;  // JoinMethod::hash and all
    bool table_is_read = false;
    std::unique_ptr<SetFunctionRows> function;  // by_function: the rows for the input's next row
    std::vector<Datum> function_row;
    std::unique_ptr<LateralRows> lateral;  // by_query: likewise
    std::vector<Row> input;                // of the tables before, and which of them is next
    std::size_t position = 0;
    std::vector<std::vector<txn::RowId>> found;  // by_key, by_index: for each row of the input
    // For the input's next row: whether its matches have begun, and the next one of them.
    bool begun = false;
    bool matched = false;
    std::size_t next_found = 0;
    std::uint32_t next_row = JoinTableRows::kNone;
    // JoinKind::full: of the table's rows those that have matched, and the next one to be given without a
    // match, when the input has ended.
    std::vector<bool> row_matched;
    std::uint32_t next_unmatched = 0;
    Arena arena;  // of the rows that it gave last
  };

  // Replaces `out` by the next joined rows of the level; empty: there are none.
  reactor::Task<Status> give(Run& run, std::size_t level, std::vector<Row>* out);
  reactor::Task<Status> give_first(Run& run, std::vector<Row>* out);
  // Reads what its rows are found by: for the input, or once for all.
  reactor::Task<Status> find_rows(Run& run, Level* level);
  reactor::Task<Status> read_table(Run& run, Level* level);
  reactor::Task<Status> find_by_key(Run& run, Level* level);
  reactor::Task<Status> find_by_index(Run& run, Level* level);
  // Joins the input's next row with its next matches, until `out` is full.
  reactor::Task<Status> join_next(Run& run, Level* level, std::vector<Row>* out);
  Status begin_matches(Run& run, Level& level) const;
  // FULL JOIN, behind the input: rows of the table that matched nothing.
  reactor::Task<Status> give_unmatched(Run& run, Level* level, std::vector<Row>* out);
  // Puts the next row that may match into the row's slots. False: there is none.
  static bool next_match(Run& run, Level& level, std::span<Datum> row);
  // Adds the row if it meets the condition, which may be null.
  reactor::Task<Status> add_if(Run& run, const Expr* condition, Row row, std::vector<Row>* out, bool* added);
  Status count_looked_up(std::size_t rows);

  const JoinPlan& plan_;
  std::vector<std::unique_ptr<Level>> levels_;
  std::vector<Row> batch_;
  bool exhausted_ = false;
  std::uint64_t looked_up_ = 0;
};

}  // namespace namdb::sql
