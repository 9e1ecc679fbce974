#include "compute/sql/execute/source_feed.h"

#include <algorithm>
#include <utility>

#include "compute/sql/system/catalog_rows.h"

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

Status SourceFeed::load_function(Run& run) {
  if (!function_has_begun_) {
    if (Status status = function_->begin(run.context()); !status.ok()) return status;
    function_has_begun_ = true;
  }
  const std::size_t columns = source_.function->columns.size();
  function_values_.assign(columns * kFetchRows, {});
  std::size_t rows = 0;
  while (rows < kFetchRows && function_->next(std::span(function_values_).subspan(rows * columns, columns)))
    ++rows;
  function_values_.resize(rows * columns);
  exhausted_ = rows < kFetchRows;
  run.work.charge(rows * Work::kRow_units);
  return {};
}

Status SourceFeed::load_catalog(Run& run, const SystemRelation& relation) {
  std::unique_ptr<CatalogRows>& kept = run.state.catalog_rows[&relation];
  if (kept == nullptr) {
    auto rows = std::make_unique<CatalogRows>();
    const VirtualTableInput input{&run.engine, &run.statistics, &rows->arena, &run.facts,
                                  run.state.catalog.get()};
    rows->rows = catalog_rows(relation, input);
    const auto memory = std::make_shared<GatheredMemory>("the rows of a system catalog can take",
                                                         "fewer tables, or fewer columns of them, take less");
    const std::size_t row_bytes = sizeof(rows->rows[0]) + (relation.columns.size() + 1) * sizeof(Datum);
    Status status =
        memory->add(run.client_memory, rows->rows.size() * row_bytes + rows->arena.allocated_bytes());
    if (!status.ok()) {
      run.state.catalog_rows.erase(&relation);
      return status;
    }
    rows->memory = memory;
    kept = std::move(rows);
  }
  virtual_rows_ = kept->rows;
  run.work.charge(virtual_rows_.size() * Work::kRow_units);
  return {};
}

reactor::Task<Status> SourceFeed::load(Run& run, std::uint64_t expected) {
  Status status = run.interrupt.check();
  if (!status.ok()) co_return status;
  if (derived_ != nullptr) co_return co_await derived_->load(run, expected);
  if (function_ != nullptr) co_return load_function(run);
  if (source_.working != nullptr) {
    exhausted_ = true;
    const auto rows = run.state.working.find(source_.working.get());
    if (rows == run.state.working.end())
      co_return Status(ErrorCode::internal, "a recursive query has not begun");
    working_rows_ = rows->second->rows;
    run.work.charge(working_rows_.size() * Work::kRow_units);
    co_return Status();
  }
  if (source_.virtual_table != nullptr) {
    exhausted_ = true;
    VirtualTableInput input{&run.engine, &run.statistics, &virtual_arena_, &run.facts};
    if (source_.virtual_table->relation != nullptr) {
      status = co_await run.read_catalog();
      if (status.ok()) status = load_catalog(run, *source_.virtual_table->relation);
      co_return status;
    }
    Result<VirtualRows> rows = co_await source_.virtual_table->rows(input);
    if (!rows.ok()) co_return rows.status();
    own_virtual_rows_ = std::move(rows).value();
    virtual_rows_ = own_virtual_rows_;
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
  if (function_ != nullptr) return function_values_.size() / source_.function->columns.size();
  if (source_.working != nullptr) return working_rows_.size();
  if (source_.virtual_table != nullptr) return virtual_rows_.size();
  if (source_.table == nullptr) return exhausted_ ? 1 : 0;
  return source_.key.empty() ? batch_.size() : key_rows_.size();
}

void SourceFeed::show(const Run& run, std::size_t row, EvalContext& context) {
  if (derived_ != nullptr) return derived_->show(run, row, context);
  if (function_ != nullptr) {
    const std::size_t columns = source_.function->columns.size();
    context.values = std::span(function_values_).subspan(row * columns, columns);
    return;
  }
  if (source_.working != nullptr) {
    context.values = working_rows_[row];
    return;
  }
  if (source_.virtual_table != nullptr) {
    context.values = virtual_rows_[row];
    return;
  }
  if (source_.table == nullptr) return;  // the one row has no columns
  view_ = source_.key.empty() ? batch_[row].view() : run.transaction->row(key_rows_[row]);
  context.row = &view_;
}

}  // namespace namdb::sql
