// The rows of a source that has no keys: of its whole table, or of ranges of an index. Not all of them meet
// the filter.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "compute/sql/execute/run.h"
#include "compute/sql/plan/plan.h"

namespace namdb::sql {

class SourceScan {
 public:
  // The source outlives the scan.
  explicit SourceScan(const Source& source) : source_(source) {}
  // For a whole table, before the first rows: the values of other columns are undefined from then on.
  void read_only(std::vector<std::uint32_t> columns) { columns_ = std::move(columns); }

  // Replaces `rows` by the next ones; empty at the end. `limit` is the number that will probably be read; 0:
  // all. All calls are with the same transaction. When the work is paused (Work::paused()), it is called
  // again.
  reactor::Task<Status> next(Run& run, std::uint64_t limit, txn::RowBlock& rows);

 private:
  reactor::Task<Status> start(Run& run);

  const Source& source_;
  std::optional<std::vector<std::uint32_t>> columns_;  // that are read; nullopt: all
  bool started_ = false;
  std::vector<txn::IndexRange> ranges_;  // still to be scanned
  std::size_t position_ = 0;
  std::unique_ptr<txn::TableScan> scan_;
  std::uint32_t batches_ = 0;
};

}  // namespace namdb::sql
