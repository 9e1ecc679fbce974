#include "compute/sql/execute/select_cursor.h"

#include <algorithm>
#include <numeric>
#include <span>

namespace namdb::sql {
namespace {

constexpr std::size_t kSortedStep_bytes = 64 << 10;

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

// Adds the value's length to that of its row.
Status check_row_bytes(const Datum& value, std::size_t& bytes) {
  if (!value.null) bytes += value.text.size();
  if (bytes <= kMaxText_bytes) return {};
  return Status(ErrorCode::limit_exceeded,
                "the strings of a row can have at most " + std::to_string(kMaxText_bytes) + " bytes");
}

}  // namespace

Status SelectCursor::start(Run& run) {
  const EvalContext context = run.context();
  Status status = evaluate_count(plan_.limit.get(), context, ErrorCode::invalid_limit, "LIMIT", left_);
  if (status.ok())
    status = evaluate_count(plan_.offset.get(), context, ErrorCode::invalid_offset, "OFFSET", to_skip_);
  if (!status.ok()) return status;
  values_.resize(plan_.targets.size());
  for (const Aggregate& aggregate : plan_.aggregates) accumulators_.emplace_back(aggregate);
  started_ = true;
  return {};
}

bool SelectCursor::batch_empty() const {
  return !have_constant_row_ && position_ >= batch_.size() && position_ >= key_rows_.size() &&
         position_ >= virtual_rows_.size();
}

reactor::Task<Status> SelectCursor::load_by_key(Run& run) {
  const Source& source = plan_.source;
  if (!have_keys_) {
    Status status = co_await evaluate_keys(run, source, keys_);
    if (!status.ok()) co_return status;
    have_keys_ = true;
  }
  position_ = 0;
  key_rows_.clear();
  const std::size_t end = std::min(keys_.size(), key_position_ + kFetchRows);
  while (key_position_ < end)
    key_rows_.push_back(run.transaction->read(source.table, keys_[key_position_++]));
  exhausted_ = key_position_ >= keys_.size();
  if (key_rows_.empty()) co_return Status();
  run.work.charge(key_rows_.size() * Work::kReadRow_units);
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
    VirtualTableInput input{&run.engine, &run.statistics, &virtual_arena_, &run.facts};
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
  run.work.charge(batch_.size() * Work::kReadRow_units);
  exhausted_ = batch_.empty();
  co_return Status();
}

Status SelectCursor::process(Run& run, bool& emitted) {
  run.work.charge(Work::kRow_units);
  EvalContext context = run.context();
  layout::RowView view;
  if (!key_rows_.empty()) {
    view = run.transaction->row(key_rows_[position_]);
    context.row = &view;
  } else if (have_constant_row_) {
    // The one row has no columns.
  } else if (plan_.source.virtual_table != nullptr) {
    context.values = virtual_rows_[position_];
  } else {
    view = batch_[position_].view();
    context.row = &view;
  }
  if (plan_.source.filter != nullptr) {
    bool selected = false;
    Status status = evaluate_condition(*plan_.source.filter, context, selected);
    if (!status.ok() || !selected) return status;
  }
  if (!plan_.aggregates.empty()) return accumulate(context);
  if (!plan_.order.empty()) return keep_for_sorting(run, context);
  return emit(run, context, emitted);
}

Status SelectCursor::accumulate(const EvalContext& context) {
  for (; next_accumulator_ < accumulators_.size(); ++next_accumulator_) {
    if (context.work->exhausted()) return context.work->pause();
    if (Status status = accumulators_[next_accumulator_].add(context); !status.ok()) return status;
  }
  next_accumulator_ = 0;
  return {};
}

Status SelectCursor::emit(Run& run, const EvalContext& context, bool& emitted) {
  if (to_skip_ > 0) {
    --to_skip_;
    return {};
  }
  if (left_ == 0) return {};
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (Status status = evaluate(*plan_.targets[i], context, values_[i]); !status.ok()) return status;
    if (Status status = check_row_bytes(values_[i], bytes); !status.ok()) return status;
  }
  run.work.charge_bytes(bytes);
  run.sink.add_row(values_);
  --left_;
  emitted = true;
  return {};
}

Status SelectCursor::keep_for_sorting(Run& run, const EvalContext& context) {
  if (sorted_.size() >= kMaxSortedRows) {
    return Status(ErrorCode::limit_exceeded,
                  "ORDER BY can sort at most " + std::to_string(kMaxSortedRows) + " rows");
  }
  row_to_sort_.clear();
  std::size_t bytes = 0;
  const auto add = [&](const Expr& expr) {
    Datum& value = row_to_sort_.emplace_back();
    if (Status status = evaluate(expr, context, value); !status.ok()) return status;
    return check_row_bytes(value, bytes);
  };
  for (const OrderItem& order : plan_.order) {
    if (Status status = add(*order.value); !status.ok()) return status;
  }
  for (const ExprPtr& target : plan_.targets) {
    if (Status status = add(*target); !status.ok()) return status;
  }
  // From here on the evaluation cannot pause.
  sorted_bytes_ += bytes + sizeof(SortedRow) + row_to_sort_.size() * sizeof(Datum);
  if (sorted_bytes_ > kMaxSorted_bytes) {
    return Status(ErrorCode::out_of_memory,
                  "ORDER BY can sort at most " + std::to_string(kMaxSorted_bytes) + " bytes",
                  "an index on the columns gives the order without sorting");
  }
  if (sorted_bytes_ > sorted_memory_.bytes() + kSortedStep_bytes) {
    if (sorted_memory_.bytes() == 0) sorted_memory_ = MemoryShare(run.client_memory);
    if (Status status = sorted_memory_.resize(sorted_bytes_); !status.ok()) return status;
  }
  context.work->charge_bytes(bytes);
  for (Datum& value : row_to_sort_) {
    if (!value.null) value.text = sorted_arena_.copy(value.text);
  }
  sorted_.push_back(sorted_arena_.copy(std::span<const Datum>(row_to_sort_)).data());
  return {};
}

bool SelectCursor::sorts_before(SortedRow a, SortedRow b, Work& work) const {
  for (std::size_t i = 0; i < plan_.order.size(); ++i) {
    const OrderItem& order = plan_.order[i];
    const Datum& left = a[i];
    const Datum& right = b[i];
    if (left.null != right.null) return left.null == order.nulls_first;
    if (left.null) continue;
    work.charge(Work::kOperator_units + std::min(left.text.size(), right.text.size()));
    const int compared = compare_values(order.value->type.id, left, right);
    if (compared != 0) return (compared < 0) != order.descending;
  }
  return false;
}

bool SelectCursor::wants_sort() const {
  return started_ && exhausted_ && batch_empty() && !plan_.order.empty() && !is_sorted_;
}

// Merges runs of doubling length: unlike std::sort it can stop after any comparison.
reactor::Task<Status> SelectCursor::sort(Run& run) {
  const std::size_t count = sorted_.size();
  std::vector<std::uint32_t> merged(count);
  sorted_order_.resize(count);
  std::iota(sorted_order_.begin(), sorted_order_.end(), 0U);
  for (std::size_t width = 1; width < count; width *= 2) {
    for (std::size_t begin = 0; begin < count; begin += 2 * width) {
      const std::size_t middle = std::min(count, begin + width);
      const std::size_t end = std::min(count, middle + width);
      std::size_t left = begin;
      std::size_t right = middle;
      for (std::size_t out = begin; out < end; ++out) {
        bool from_right = left == middle;
        if (!from_right && right < end) {
          from_right = sorts_before(sorted_[sorted_order_[right]], sorted_[sorted_order_[left]], run.work);
        }
        merged[out] = sorted_order_[from_right ? right++ : left++];
        if (!run.work.due()) continue;
        Status status = co_await run.take_turn();
        if (!status.ok()) co_return status;
      }
    }
    sorted_order_.swap(merged);
  }
  is_sorted_ = true;
  co_return Status();
}

void SelectCursor::emit_sorted(Run& run, bool& emitted) {
  const SortedRow row = sorted_[sorted_order_[sorted_position_++]];
  run.work.charge(Work::kRow_units);
  if (to_skip_ > 0) {
    --to_skip_;
    return;
  }
  const std::span<const Datum> values(row + plan_.order.size(), plan_.targets.size());
  for (const Datum& value : values) run.work.charge(value.text.size());
  run.sink.add_row(values);
  --left_;
  emitted = true;
}

// At the end of the source the gathered rows, or the aggregates' one row, are given.
Status SelectCursor::finish(Run& run, bool& emitted) {
  if (!plan_.aggregates.empty()) {
    std::vector<Datum> results(accumulators_.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (Status status = accumulators_[i].result(results[i]); !status.ok()) return status;
    }
    EvalContext context = run.context();
    context.aggregates = results;
    if (Status status = emit(run, context, emitted); !status.ok()) return status;
  }
  done_ = true;
  return {};
}

Status SelectCursor::step(Run& run, bool& emitted) {
  if (!started_) return start(run);
  if (left_ == 0) {
    done_ = true;
    return {};
  }
  if (is_sorted_ && sorted_position_ < sorted_.size()) {
    emit_sorted(run, emitted);
    return {};
  }
  if (batch_empty()) return finish(run, emitted);
  Status status = process(run, emitted);
  if (run.work.paused()) return status;
  have_constant_row_ = false;
  ++position_;
  run.next_row();
  return status;
}

reactor::Task<Status> SelectCursor::fetch(Run& run, std::uint64_t max_rows) {
  std::uint64_t given = 0;
  while (!done_ && (max_rows == 0 || given < max_rows)) {
    Status status;
    if (wants_sort()) {
      status = co_await sort(run);
    } else if (started_ && left_ != 0 && !exhausted_ && batch_empty()) {
      status = co_await load(run);
    } else {
      bool emitted = false;
      status = step(run, emitted);
      if (emitted) ++given;
    }
    if (run.work.paused() || (status.ok() && run.work.due())) status = co_await run.take_turn();
    if (status.ok() && run.sink.congested()) status = co_await run.sink.relieve();
    if (!status.ok()) co_return status;
  }
  run.affected += given;
  co_return Status();
}

}  // namespace namdb::sql
