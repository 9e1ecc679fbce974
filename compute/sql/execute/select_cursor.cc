#include "compute/sql/execute/select_cursor.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "compute/sql/execute/join_feed.h"
#include "compute/sql/execute/long_value_rows.h"
#include "compute/sql/execute/row_order.h"
#include "compute/sql/execute/source_feed.h"
#include "compute/sql/execute/target_values.h"
#include "compute/sql/value/equal_bytes.h"

namespace namdb::sql {
namespace {

// Of so many rows the first ones are found while the others are read, if their values are short: then a
// step that forgets the others is short, too.
constexpr std::size_t kMostFirstRows = 1024;
constexpr std::size_t kMostFirstRow_bytes = 4 << 10;

bool cannot_fail(const Expr& expr) {
  return expr.kind == ExprKind::column || expr.kind == ExprKind::constant || expr.kind == ExprKind::parameter;
}

// Of the source of a plan without a join.
std::vector<std::uint32_t> columns_of(const SelectPlan& plan) {
  std::vector<std::uint32_t> columns;
  const auto add = [&columns](const ExprPtr& expr) {
    if (expr != nullptr) for_each_column(*expr, [&](std::uint32_t column) { columns.push_back(column); });
  };
  add(plan.source.filter);
  for (const ExprPtr& group : plan.groups) add(group);
  for (const Aggregate& aggregate : plan.aggregates) aggregate.for_each_expression(add);
  if (!plan.grouped) {  // otherwise they read groups
    for (const ExprPtr& target : plan.targets) add(target);
    for (const OrderItem& item : plan.order) add(item.value);
  }
  std::ranges::sort(columns);
  const auto repeated = std::ranges::unique(columns);
  columns.erase(repeated.begin(), repeated.end());
  return columns;
}

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

SelectCursor::SelectCursor(const SelectPlan& plan)
    : plan_(plan),
      filter_(plan.source.filter.get()),
      distinct_memory_("DISTINCT can keep", "a WHERE that selects fewer rows takes less"),
      sorted_memory_("ORDER BY can sort", "an index on the columns gives the order without sorting") {
  if (plan.grouped) groups_ = std::make_unique<Groups>(plan);
  if (!plan.locks.empty()) locked_ = std::make_unique<LockedRows>(plan);
  if (plan.join != nullptr) {
    feed_ = std::make_unique<JoinFeed>(*plan.join);
  } else {
    auto feed = std::make_unique<SourceFeed>(plan.source);
    if (plan.source.table != nullptr && plan.source.key.empty() && plan.source.index_path == nullptr)
      feed->read_only(columns_of(plan));
    feed_ = std::move(feed);
  }
}

std::unique_ptr<Query> start_query(const SelectPlan& plan) {
  return std::make_unique<SelectCursor>(plan);
}

Status SelectCursor::start(Run& run) {
  const EvalContext context = run.context();
  Status status = evaluate_count(plan_.limit.get(), context, ErrorCode::invalid_limit, "LIMIT", left_);
  if (!status.ok()) return status;
  status = evaluate_count(plan_.offset.get(), context, ErrorCode::invalid_offset, "OFFSET", to_skip_);
  if (!status.ok()) return status;
  values_.resize(plan_.targets.size());
  const std::uint64_t counting = left_ + std::min(to_skip_, ~left_);
  if (!plan_.order.empty() && plan_.locks.empty() && plan_.distinct_on == 0 && counting <= kMostFirstRows)
    first_rows_ = counting;
  targets_cannot_fail_ =
      !plan_.distinct && std::ranges::all_of(plan_.targets, [](const ExprPtr& e) { return cannot_fail(*e); });
  started_ = true;
  return {};
}

std::uint64_t SelectCursor::expected_rows() const {
  constexpr std::uint64_t kSome = 64;
  if (plan_.first_value_decides) return plan_.source.index_path->has_other_conditions ? kSome : 1;
  const bool all = left_ == ~std::uint64_t{0} || !plan_.order.empty() || plan_.grouped;
  if (all || plan_.source.index_path == nullptr) return 0;
  if (plan_.source.index_path->has_other_conditions || plan_.distinct) return kSome;
  return std::max<std::uint64_t>(1, left_ + std::min(to_skip_, ~left_));
}

reactor::Task<Status> SelectCursor::load(Run& run) {
  Status status = co_await feed_->load(run, expected_rows());
  if (status.ok()) position_ = 0;
  co_return status;
}

Status SelectCursor::process_rows(Run& run, std::uint64_t most_rows, std::uint64_t& given) {
  const txn::RowBlock* const stored = feed_->stored();
  if (stored != nullptr && groups_ != nullptr && groups_->adds_stored() && filter_.is_stored())
    return process_stored(run, *stored);
  EvalContext context = run.context();
  Status status;
  while (!batch_empty() && status.ok()) {
    bool emitted = false;
    status = process_row(run, context, emitted);
    if (run.work.paused()) {
      want_ahead(run);
      return status;
    }
    ++position_;
    run.next_row();
    if (emitted) ++given;
    const bool all_given = most_rows != 0 && given == most_rows;
    if (run.work.due() || left_ == 0 || all_given || (emitted && run.sink.congested())) break;
  }
  return status;
}

// The rows behind the next one of the batch will probably need the same.
void SelectCursor::want_ahead(Run& run) {
  if (run.work.waiting_long_values() == nullptr) return;
  const bool few = plan_.order.empty() && !plan_.grouped && !plan_.distinct;
  const std::size_t most = few && left_ != 0 ? left_ - 1 : ~std::size_t{0};
  sql::want_ahead(run, feed_->size() - position_, most, [&](std::size_t row, EvalContext& context) {
    feed_->show(run, position_ + row, context);
    return !filter_.rejects(context);
  });
}

Status SelectCursor::process_stored(Run& run, const txn::RowBlock& rows) {
  EvalContext context = run.context();
  for (; position_ < rows.size() && !run.work.due(); ++position_) {
    run.work.charge(Work::kRow_units);
    const layout::RowView row = rows[position_];
    context.row = &row;
    if (filter_.rejects(context) || groups_->add_stored(row)) continue;
    Status status = groups_->add(run, context);
    if (!status.ok() || run.work.paused()) return status;
    run.next_row();
  }
  return {};
}

Status SelectCursor::process_row(Run& run, EvalContext& context, bool& emitted) {
  run.work.charge(Work::kRow_units);
  feed_->show(run, position_, context);
  bool selected = true;
  if (Status status = filter_.select(context, selected); !status.ok() || !selected) return status;
  if (plan_.grouped) {
    Status status = groups_->add(run, context);
    decided_ = plan_.first_value_decides && !run.work.paused() && status.ok() && groups_->has_value();
    return status;
  }
  return take(run, context, emitted);
}

Status SelectCursor::process_group(Run& run, bool& emitted) {
  run.work.charge(Work::kRow_units);
  EvalContext context = run.context();
  if (Status status = groups_->show(next_group_, context); !status.ok()) return status;
  if (plan_.having != nullptr) {
    bool selected = false;
    Status status = evaluate_condition(*plan_.having, context, selected);
    if (!status.ok() || !selected) return status;
  }
  return take(run, context, emitted);
}

Status SelectCursor::take(Run& run, const EvalContext& context, bool& emitted) {
  if (!plan_.order.empty()) return keep_for_sorting(run, context);
  return emit(run, context, emitted);
}

Status SelectCursor::is_repeated(Run& run, std::span<const Datum> targets, bool& repeated) {
  repeated = false;
  if (!plan_.distinct) return {};
  std::string bytes;
  for (std::size_t i = 0; i < targets.size(); ++i)
    append_equal_bytes(bytes, plan_.targets[i]->type.id, targets[i]);
  run.work.charge_bytes(bytes.size());
  bool is_new = false;
  Status status = add_seen(distinct_, std::move(bytes), distinct_memory_, run.client_memory, is_new);
  repeated = !is_new;
  return status;
}

Status SelectCursor::emit(Run& run, const EvalContext& context, bool& emitted) {
  if (to_skip_ > 0 && !plan_.distinct) {
    --to_skip_;
    return {};
  }
  if (left_ == 0) return {};
  std::size_t bytes = 0;
  if (Status status = evaluate_targets(plan_, context, values_, bytes); !status.ok()) return status;
  bool repeated = false;
  if (Status status = is_repeated(run, values_, repeated); !status.ok() || repeated) return status;
  if (to_skip_ > 0) {
    --to_skip_;
    return {};
  }
  run.work.charge_bytes(bytes);
  run.sink.add_row(values_);
  --left_;
  emitted = true;
  return {};
}

std::size_t SelectCursor::sorted_bytes(const Datum* row) const {
  const std::span<const Datum> values(row, plan_.order.size() + plan_.targets.size());
  std::size_t bytes = sizeof(SortedRow) + values.size_bytes();
  for (const Datum& value : values) {
    if (!value.null) bytes += value.text.size();
  }
  return bytes;
}

bool SelectCursor::comes_too_late(Run& run) const {
  return last_that_counts_ != nullptr &&
         !comes_before(plan_.order, row_to_sort_.data(), last_that_counts_, &run.work);
}

Status SelectCursor::keep_first_rows(Run& run) {
  std::vector<std::uint32_t> rows(sorted_.size());
  std::iota(rows.begin(), rows.end(), 0U);
  const auto last = rows.begin() + static_cast<std::ptrdiff_t>(first_rows_) - 1;
  std::nth_element(rows.begin(), last, rows.end(), [&](std::uint32_t left, std::uint32_t right) {
    if (comes_before(plan_.order, sorted_[left], sorted_[right], &run.work)) return true;
    // Of equal rows those come first that were read first.
    return left < right && !comes_before(plan_.order, sorted_[right], sorted_[left], &run.work);
  });
  const std::uint32_t last_row = *last;
  rows.resize(first_rows_);
  std::ranges::sort(rows);
  std::vector<SortedRow> kept;
  auto arena = std::make_unique<Arena>();
  std::size_t bytes = 0;
  for (const SortedRow row : sorted_) bytes += sorted_bytes(row);
  sorted_memory_.give_back(bytes);
  for (const std::uint32_t row : rows) {
    const std::span<const Datum> values(sorted_[row], plan_.order.size() + plan_.targets.size());
    if (Status status = sorted_memory_.add(run.client_memory, sorted_bytes(values.data())); !status.ok())
      return status;
    kept.push_back(arena->keep(values).data());
    if (row == last_row) last_that_counts_ = kept.back();
  }
  sorted_.swap(kept);
  sorted_arena_ = std::move(arena);
  return {};
}

Status SelectCursor::keep_for_sorting(Run& run, const EvalContext& context) {
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
  if (targets_cannot_fail_ && comes_too_late(run)) return {};
  for (const ExprPtr& target : plan_.targets) {
    if (Status status = add(*target); !status.ok()) return status;
  }
  // From here on the evaluation cannot pause.
  bool repeated = false;
  const auto targets = std::span<const Datum>(row_to_sort_).subspan(plan_.order.size());
  if (Status status = is_repeated(run, targets, repeated); !status.ok() || repeated) return status;
  if (!targets_cannot_fail_ && comes_too_late(run)) return {};
  if (sorted_.size() >= kMaxSortedRows) {
    return Status(ErrorCode::limit_exceeded,
                  "ORDER BY can sort at most " + std::to_string(kMaxSortedRows) + " rows");
  }
  const std::size_t kept_bytes = sorted_bytes(row_to_sort_.data());
  if (Status status = sorted_memory_.add(run.client_memory, kept_bytes); !status.ok()) return status;
  context.work->charge_bytes(bytes);
  sorted_.push_back(sorted_arena_->keep(std::span<const Datum>(row_to_sort_)).data());
  if (bytes > kMostFirstRow_bytes) first_rows_ = 0;
  if (first_rows_ != 0 && sorted_.size() == 2 * first_rows_ + kMostFirstRows) return keep_first_rows(run);
  return {};
}

bool SelectCursor::wants_sort() const {
  return started_ && (decided_ || feed_->exhausted()) && batch_empty() && !groups_left() &&
         !plan_.order.empty() && !is_sorted_;
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
          from_right = comes_before(plan_.order, sorted_[sorted_order_[right]], sorted_[sorted_order_[left]],
                                    &run.work);
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

bool SelectCursor::repeats_row_before(Run& run, const Datum* row) const {
  if (plan_.distinct_on == 0) return false;
  const auto items = std::span<const OrderItem>(plan_.order).first(plan_.distinct_on);
  return !comes_before(items, sorted_[sorted_order_[sorted_position_ - 1]], row, &run.work);
}

void SelectCursor::emit_sorted(Run& run, bool& emitted) {
  const SortedRow row = sorted_[sorted_order_[sorted_position_]];
  const bool repeats = sorted_position_ > 0 && repeats_row_before(run, row);
  ++sorted_position_;
  run.work.charge(Work::kRow_units);
  if (repeats) return;
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

Status SelectCursor::step(Run& run, std::uint64_t most_rows, std::uint64_t& given) {
  if (!started_) return start(run);
  if (left_ == 0) {
    done_ = true;
    return {};
  }
  bool emitted = false;
  if (is_sorted_ && sorted_position_ < sorted_.size()) {
    emit_sorted(run, emitted);
    if (emitted) ++given;
    return {};
  }
  if (!batch_empty()) return process_rows(run, most_rows, given);
  if (!groups_left()) {
    done_ = true;
    return {};
  }
  Status status = process_group(run, emitted);
  if (run.work.paused()) return status;
  ++next_group_;
  run.next_row();
  if (emitted) ++given;
  return status;
}

reactor::Task<Status> SelectCursor::fetch(Run& run, std::uint64_t max_rows) {
  return locked_ == nullptr ? fetch_rows(run, max_rows) : fetch_locked(run, max_rows);
}

reactor::Task<Status> SelectCursor::fetch_locked(Run& run, std::uint64_t max_rows) {
  std::uint64_t given = 0;
  while (!done_ && (max_rows == 0 || given < max_rows)) {
    Run portion = locked_->begin_portion(run);
    const std::uint64_t wanted = max_rows == 0 ? kPortionRows : std::min(kPortionRows, max_rows - given);
    Status status = co_await fetch_rows(portion, wanted);
    LockedRows::end_portion(run);
    if (!status.ok()) co_return status;
    status = co_await locked_->lock(run);
    if (!status.ok()) co_return status;
    const std::uint64_t before = given;
    for (std::size_t row = 0; row < locked_->size(); ++row) {
      if (!locked_->is_there(row)) continue;
      run.sink.add_row((*locked_)[row]);
      ++given;
    }
    if (plan_.locks_without_wait()) allow_more(locked_->size() - (given - before));
    if (run.sink.congested()) status = co_await run.sink.relieve();
    if (!status.ok()) co_return status;
  }
  run.affected += given;
  co_return Status();
}

// LIMIT counts rows that are given.
void SelectCursor::allow_more(std::uint64_t rows) {
  if (rows == 0 || plan_.limit == nullptr) return;
  const bool was_full = left_ == 0;
  left_ += std::min(rows, ~left_);
  if (was_full) done_ = false;
}

reactor::Task<Status> SelectCursor::fetch_rows(Run& run, std::uint64_t max_rows) {
  run.long_part = plan_.join == nullptr ? &plan_.source : &plan_.join->sources.front().source;
  std::uint64_t given = 0;
  while (!done_ && (max_rows == 0 || given < max_rows)) {
    Status status;
    if (wants_sort()) {
      status = co_await sort(run);
    } else if (wants_rows()) {
      status = co_await load(run);
    } else {
      status = step(run, max_rows, given);
    }
    if (run.work.paused() || (status.ok() && run.work.due())) status = co_await run.take_turn();
    if (status.ok() && run.sink.congested()) status = co_await run.sink.relieve();
    if (!status.ok()) co_return status;
  }
  run.affected += given;
  co_return Status();
}

}  // namespace namdb::sql
