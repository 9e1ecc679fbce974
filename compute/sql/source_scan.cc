#include "compute/sql/source_scan.h"

#include "compute/sql/index_path.h"

namespace namdb::sql {

Status SourceScan::start(Run& run) {
  if (source_.index_path == nullptr) {
    scan_ = run.transaction->scan(source_.table);
  } else {
    const EvalContext context = run.context();
    if (Status status = evaluate_ranges(*source_.index_path, context, ranges_); !status.ok()) return status;
  }
  started_ = true;
  return {};
}

reactor::Task<Status> SourceScan::next(Run& run, std::uint64_t limit, std::vector<layout::Row>& rows) {
  rows.clear();
  if (++batches_ % kBatchesPerYield == 0) co_await run.engine.executor().yield();
  if (!started_) {
    if (Status status = start(run); !status.ok()) co_return status;
  }
  while (true) {
    if (scan_ == nullptr) {
      if (position_ == ranges_.size()) co_return Status();
      txn::IndexRange& range = ranges_[position_++];
      range.limit = limit;
      scan_ = run.transaction->scan_index(source_.table, source_.index_path->index, std::move(range));
    }
    Status status = co_await scan_->next(rows);
    if (!status.ok() || !rows.empty() || source_.index_path == nullptr) co_return status;
    scan_.reset();
  }
}

}  // namespace namdb::sql
