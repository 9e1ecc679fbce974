#include "compute/sql/execute/source_feed.h"

#include <algorithm>
#include <utility>

namespace namdb::sql {

reactor::Task<Status> SourceFeed::load_by_key(Run& run) {
  if (!have_keys_) {
    const std::span<const Datum> no_outer;
    Status status = co_await evaluate_keys(run, source_, no_outer, keys_);
    if (!status.ok()) co_return status;
    have_keys_ = true;
  }
  key_rows_.clear();
  const std::size_t end = std::min(keys_.size(), key_position_ + kFetchRows);
  while (key_position_ < end)
    key_rows_.push_back(run.transaction->read(source_.table, keys_[key_position_++]));
  exhausted_ = key_position_ >= keys_.size();
  if (key_rows_.empty()) co_return Status();
  run.work.charge(key_rows_.size() * Work::kReadRow_units);
  Status status = co_await run.transaction->fetch();
  if (!status.ok()) co_return status;
  std::erase_if(key_rows_, [&run](txn::RowId row) { return !run.transaction->found(row); });
  co_return Status();
}

reactor::Task<Status> SourceFeed::load(Run& run, std::uint64_t expected) {
  Status status = run.interrupt.check();
  if (!status.ok()) co_return status;
  if (derived_ != nullptr) co_return co_await derived_->load(run, expected);
  if (source_.virtual_table != nullptr) {
    exhausted_ = true;
    VirtualTableInput input{&run.engine, &run.statistics, &virtual_arena_, &run.facts};
    Result<VirtualRows> rows = co_await source_.virtual_table->rows(input);
    if (!rows.ok()) co_return rows.status();
    virtual_rows_ = std::move(rows).value();
    co_return Status();
  }
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
  if (derived_ != nullptr) return derived_->size();
  if (source_.virtual_table != nullptr) return virtual_rows_.size();
  if (source_.table == nullptr) return exhausted_ ? 1 : 0;
  return source_.key.empty() ? batch_.size() : key_rows_.size();
}

void SourceFeed::show(const Run& run, std::size_t row, EvalContext& context) {
  if (derived_ != nullptr) return derived_->show(run, row, context);
  if (source_.virtual_table != nullptr) {
    context.values = virtual_rows_[row];
    return;
  }
  if (source_.table == nullptr) return;  // the one row has no columns
  view_ = source_.key.empty() ? batch_[row].view() : run.transaction->row(key_rows_[row]);
  context.row = &view_;
}

}  // namespace namdb::sql
