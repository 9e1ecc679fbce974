#include "compute/sql/select_cursor.h"

#include <algorithm>

namespace namdb::sql {
namespace {

Status evaluate_count(const Expr* expr, const EvalContext& context, ErrorCode code, std::string_view clause,
                      std::uint64_t& out) {
  if (expr == nullptr) return {};
  Datum value;
  if (Status status = evaluate(*expr, context, value); !status.ok()) return status;
  if (value.null) return {};
  if (value.integer < 0) return Status(code, std::string(clause) + " must not be negative");
  out = static_cast<std::uint64_t>(value.integer);
  return {};
}

}  // namespace

Status SelectCursor::start(Run& run) {
  started_ = true;
  const EvalContext context = run.context();
  Status status = evaluate_count(plan_.limit.get(), context, ErrorCode::invalid_limit, "LIMIT", left_);
  if (status.ok())
    status = evaluate_count(plan_.offset.get(), context, ErrorCode::invalid_offset, "OFFSET", to_skip_);
  values_.resize(plan_.targets.size());
  for (const Aggregate& aggregate : plan_.aggregates) accumulators_.emplace_back(aggregate);
  return status;
}

bool SelectCursor::batch_empty() const {
  return !have_constant_row_ && position_ >= batch_.size() && position_ >= key_rows_.size() &&
         position_ >= virtual_rows_.size();
}

reactor::Task<Status> SelectCursor::load_by_key(Run& run) {
  const Source& source = plan_.source;
  if (!have_keys_) {
    have_keys_ = true;
    const EvalContext context = run.context();
    Status status = evaluate_keys(source, context, keys_);
    if (!status.ok()) co_return status;
  }
  position_ = 0;
  key_rows_.clear();
  const std::size_t end = std::min(keys_.size(), key_position_ + kFetchRows);
  while (key_position_ < end)
    key_rows_.push_back(run.transaction->read(source.table, keys_[key_position_++]));
  exhausted_ = key_position_ >= keys_.size();
  if (key_rows_.empty()) co_return Status();
  Status status = co_await run.transaction->fetch();
  if (!status.ok()) co_return status;
  std::erase_if(key_rows_, [&run](txn::RowId row) { return !run.transaction->found(row); });
  co_return Status();
}

std::uint64_t SelectCursor::expected_rows() const {
  constexpr std::uint64_t kSome = 64;
  const bool all = left_ == ~std::uint64_t{0} || !plan_.order.empty() || !plan_.aggregates.empty();
  if (all || plan_.source.index_path == nullptr) return 0;
  if (plan_.source.index_path->has_other_conditions) return kSome;
  return std::max<std::uint64_t>(1, left_ + std::min(to_skip_, ~left_));
}

reactor::Task<Status> SelectCursor::load(Run& run) {
  Status status = run.interrupt.check();
  if (!status.ok()) co_return status;
  const Source& source = plan_.source;
  if (source.virtual_table != nullptr) {
    exhausted_ = true;
    VirtualTableInput input{&run.engine, &run.statistics, &virtual_arena_};
    Result<VirtualRows> rows = co_await source.virtual_table->rows(input);
    if (!rows.ok()) co_return rows.status();
    virtual_rows_ = std::move(rows).value();
    co_return Status();
  }
  if (source.table == nullptr) {
    exhausted_ = true;
    have_constant_row_ = true;
    co_return Status();
  }
  if (!source.key.empty()) co_return co_await load_by_key(run);
  position_ = 0;
  status = co_await scan_.next(run, expected_rows(), batch_);
  if (!status.ok()) co_return status;
  exhausted_ = batch_.empty();
  co_return Status();
}

Status SelectCursor::process(Run& run, bool& emitted) {
  EvalContext context = run.context();
  layout::RowView view;
  if (!key_rows_.empty()) {
    view = run.transaction->row(key_rows_[position_++]);
    context.row = &view;
  } else if (have_constant_row_) {
    have_constant_row_ = false;
  } else if (plan_.source.virtual_table != nullptr) {
    context.values = virtual_rows_[position_++];
  } else {
    view = batch_[position_++].view();
    context.row = &view;
  }
  if (plan_.source.filter != nullptr) {
    bool selected = false;
    Status status = evaluate_condition(*plan_.source.filter, context, selected);
    if (!status.ok() || !selected) return status;
  }
  if (!plan_.aggregates.empty()) {
    for (Accumulator& accumulator : accumulators_) {
      if (Status status = accumulator.add(context); !status.ok()) return status;
    }
    return {};
  }
  if (!plan_.order.empty()) return keep_for_sorting(context);
  return emit(run, context, emitted);
}

Status SelectCursor::emit(Run& run, const EvalContext& context, bool& emitted) {
  if (to_skip_ > 0) {
    --to_skip_;
    return {};
  }
  if (left_ == 0) return {};
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (Status status = evaluate(*plan_.targets[i], context, values_[i]); !status.ok()) return status;
  }
  run.sink.add_row(values_);
  --left_;
  emitted = true;
  return {};
}

Status SelectCursor::keep_for_sorting(const EvalContext& context) {
  if (sorted_.size() >= kMaxSortedRows) {
    return Status(ErrorCode::limit_exceeded,
                  "ORDER BY can sort at most " + std::to_string(kMaxSortedRows) + " rows");
  }
  SortedRow row;
  const auto keep = [&](const Expr& expr, std::vector<Datum>& values) {
    Datum value;
    if (Status status = evaluate(expr, context, value); !status.ok()) return status;
    if (!value.null && expr.type.is_string()) value.text = sorted_arena_.copy(value.text);
    values.push_back(value);
    return Status();
  };
  for (const OrderItem& order : plan_.order) {
    if (Status status = keep(*order.value, row.keys); !status.ok()) return status;
  }
  for (const ExprPtr& target : plan_.targets) {
    if (Status status = keep(*target, row.values); !status.ok()) return status;
  }
  sorted_.push_back(std::move(row));
  return {};
}

void SelectCursor::sort() {
  const auto before = [this](const SortedRow& a, const SortedRow& b) {
    for (std::size_t i = 0; i < plan_.order.size(); ++i) {
      const OrderItem& order = plan_.order[i];
      const Datum& left = a.keys[i];
      const Datum& right = b.keys[i];
      if (left.null != right.null) return left.null == order.nulls_first;
      if (left.null) continue;
      const int compared = compare_values(order.value->type.id, left, right);
      if (compared != 0) return (compared < 0) != order.descending;
    }
    return false;
  };
  std::ranges::sort(sorted_, before);
  is_sorted_ = true;
}

Status SelectCursor::finish_aggregates(Run& run, bool& emitted) {
  std::vector<Datum> results(accumulators_.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (Status status = accumulators_[i].result(results[i]); !status.ok()) return status;
  }
  EvalContext context = run.context();
  context.aggregates = results;
  return emit(run, context, emitted);
}

reactor::Task<Status> SelectCursor::fetch(Run& run, std::uint64_t max_rows) {
  if (!started_) {
    if (Status status = start(run); !status.ok()) co_return status;
  }
  std::uint64_t given = 0;
  while (!done_ && (max_rows == 0 || given < max_rows)) {
    if (left_ == 0) {
      done_ = true;
      break;
    }
    if (is_sorted_ && sorted_position_ < sorted_.size()) {
      SortedRow& row = sorted_[sorted_position_++];
      if (to_skip_ > 0) {
        --to_skip_;
        continue;
      }
      run.sink.add_row(row.values);
      row = SortedRow();
      --left_;
      ++given;
      if (run.sink.congested()) {
        if (Status status = co_await run.sink.relieve(); !status.ok()) co_return status;
      }
      continue;
    }
    if (batch_empty()) {
      if (!exhausted_) {
        if (Status status = co_await load(run); !status.ok()) co_return status;
        if (exhausted_ && batch_empty() && !plan_.order.empty()) sort();
        continue;
      }
      // The end of the source: what was gathered comes out once.
      done_ = true;
      if (!plan_.aggregates.empty()) {
        bool emitted = false;
        if (Status status = finish_aggregates(run, emitted); !status.ok()) co_return status;
        if (emitted) ++given;
      }
      break;
    }
    bool emitted = false;
    if (Status status = process(run, emitted); !status.ok()) co_return status;
    run.arena.reset();
    if (emitted) ++given;
    if (!plan_.order.empty() && exhausted_ && batch_empty()) sort();
    if (run.sink.congested()) {
      if (Status status = co_await run.sink.relieve(); !status.ok()) co_return status;
    }
  }
  run.affected += given;
  co_return Status();
}

}  // namespace namdb::sql
