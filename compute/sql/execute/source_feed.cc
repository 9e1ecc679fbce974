#include "compute/sql/execute/source_feed.h"

#include <algorithm>
#include <utility>

#include "compute/sql/execute/function_feed.h"
#include "compute/sql/execute/part_cost.h"
#include "compute/sql/execute/query_feed.h"
#include "compute/sql/execute/virtual_feed.h"
#include "compute/sql/execute/window_feed.h"
#include "compute/sql/execute/working_feed.h"

namespace namdb::sql {
namespace {

// Null: its rows are stored, or it is one row without columns.
std::unique_ptr<RowFeed> feed_of_made(const Source& source) {
  if (source.derived != nullptr && source.derived->windows != nullptr)
    return std::make_unique<WindowFeed>(*source.derived);
  if (source.derived != nullptr) return std::make_unique<QueryFeed>(*source.derived);
  if (source.function != nullptr) return std::make_unique<FunctionFeed>(*source.function);
  if (source.working != nullptr) return std::make_unique<WorkingFeed>(*source.working);
  if (source.virtual_table != nullptr) return std::make_unique<VirtualFeed>(*source.virtual_table);
  return nullptr;
}

}  // namespace

SourceFeed::SourceFeed(const Source& source) : source_(source), made_(feed_of_made(source)), scan_(source) {}

SourceFeed::SourceFeed(const JoinedSource& joined) : SourceFeed(joined.source) {
  std::vector<std::uint32_t> columns;
  for (const JoinedSource::Read& read : joined.reads) columns.push_back(read.column);
  read_only(std::move(columns));
}

reactor::Task<Status> SourceFeed::load_by_key(Run& run) {
  if (!have_keys_) {
    const std::span<const Datum> no_outer;
    Status status = co_await evaluate_keys(run, source_, no_outer, keys_);
    if (!status.ok()) co_return status;
    have_keys_ = true;
  }
  key_rows_.clear();
  const std::size_t end = std::min(keys_.size(), key_position_ + kFetchRows);
  while (key_position_ < end) key_rows_.push_back(request_row(run, source_, keys_[key_position_++]));
  exhausted_ = key_position_ >= keys_.size();
  if (key_rows_.empty()) co_return Status();
  run.work.charge(key_rows_.size() * Work::kReadRow_units);
  PartCost cost(run, &source_);
  Status status = co_await run.transaction->fetch();
  if (!status.ok()) co_return status;
  std::erase_if(key_rows_, [&run](txn::RowId row) { return !run.transaction->found(row); });
  cost.end(key_rows_.size());
  co_return Status();
}

reactor::Task<Status> SourceFeed::load(Run& run, std::uint64_t expected) {
  Status status = run.interrupt.check();
  if (!status.ok()) co_return status;
  if (made_ != nullptr) co_return co_await made_->load(run, expected);
  if (source_.table == nullptr) {
    exhausted_ = true;
    co_return Status();
  }
  if (!source_.key.empty()) co_return co_await load_by_key(run);
  status = co_await scan_.next(run, expected, batch_);
  if (!status.ok()) co_return status;
  run.work.charge(batch_.size() * Work::kReadRow_units);
  exhausted_ = batch_.empty();
  co_return Status();
}

std::size_t SourceFeed::size() const {
  if (made_ != nullptr) return made_->size();
  if (source_.table == nullptr) return exhausted_ ? 1 : 0;
  return source_.key.empty() ? batch_.size() : key_rows_.size();
}

void SourceFeed::show(const Run& run, std::size_t row, EvalContext& context) {
  if (made_ != nullptr) return made_->show(run, row, context);
  if (source_.table == nullptr) return;  // the one row has no columns
  view_ = source_.key.empty() ? batch_[row] : run.transaction->row(key_rows_[row]);
  context.row = &view_;
}

}  // namespace namdb::sql
