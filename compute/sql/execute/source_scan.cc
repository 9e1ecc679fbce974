#include "compute/sql/execute/source_scan.h"

#include "compute/api/column_scan.h"
#include "compute/sql/execute/index_range.h"
#include "compute/sql/execute/part_cost.h"

namespace namdb::sql {

reactor::Task<Status> SourceScan::start(Run& run) {
  if (source_.index_path == nullptr) {
    scan_ = run.transaction->scan(source_.table);
    if (columns_) txn::only_columns(scan_.get(), *columns_);
  } else {
    const std::span<const Datum> no_outer;
    Status status = co_await evaluate_ranges(run, *source_.index_path, no_outer, ranges_);
    if (!status.ok()) co_return status;
  }
  started_ = true;
  co_return Status();
}

reactor::Task<Status> SourceScan::next(Run& run, std::uint64_t limit, txn::RowBlock& rows) {
  rows.clear();
  if (++batches_ % kBatchesPerYield == 0) co_await run.engine.executor().yield();
  if (!started_) {
    Status status = co_await start(run);
    if (!status.ok()) co_return status;
  }
  while (true) {
    if (scan_ == nullptr) {
      if (position_ == ranges_.size()) co_return Status();
      txn::IndexRange& range = ranges_[position_++];
      range.limit = limit;
      scan_ = run.transaction->scan_index(source_.table, source_.index_path->index, std::move(range));
    }
    PartCost cost(run, &source_);
    Status status = co_await scan_->next_block(rows);
    cost.end(rows.size());
    if (!status.ok() || !rows.empty() || source_.index_path == nullptr) co_return status;
    scan_.reset();
  }
}

}  // namespace namdb::sql
