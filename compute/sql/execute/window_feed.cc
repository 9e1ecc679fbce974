#include "compute/sql/execute/window_feed.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "compute/sql/execute/row_order.h"
#include "compute/sql/execute/select_cursor.h"
#include "compute/sql/value/equal_bytes.h"

namespace namdb::sql {

WindowFeed::WindowFeed(const DerivedTable& table)
    : table_(table), memory_("window functions can keep", "a WHERE that selects fewer rows takes less") {}

void WindowFeed::show(const Run& /*run*/, std::size_t row, EvalContext& context) {
  context.row = nullptr;
  context.values = shown_[row];
}

Status WindowFeed::keep(Run& run, std::size_t bytes) {
  run.work.charge_bytes(bytes);
  return memory_.add(run.client_memory, bytes);
}

reactor::Task<Status> WindowFeed::load(Run& run, std::uint64_t /*expected*/) {
  Status status = co_await gather(run);
  results_.resize(table_.windows->calls.size());
  for (std::size_t i = 0; i < table_.windows->calls.size() && status.ok(); ++i) status = co_await calculate(run, i);
  if (!status.ok()) co_return status;
  std::vector<Datum> row;
  for (const std::uint32_t position : order_) {
    const std::span<const Datum> own = rows_[position];
    row.assign(own.begin(), own.end());
    for (const std::vector<Datum>& results : results_) row.push_back(results[position]);
    status = keep(run, row.size() * sizeof(Datum));
    if (status.ok() && run.work.due()) status = co_await run.take_turn();
    if (!status.ok()) co_return status;
    shown_.push_back(values_arena_.keep(std::span<const Datum>(row)));
  }
  loaded_ = true;
  co_return Status();
}

reactor::Task<Status> WindowFeed::gather(Run& run) {
  query_ = run.start_query(*table_.query);
  std::size_t kept_bytes = 0;
  while (!query_->done()) {
    Run nested = run.nested(rows_, arena_, run.work, run.outer);
    Status status = co_await query_->fetch(nested, kPortionRows);
    if (status.ok()) status = memory_.add(run.client_memory, rows_.bytes() - std::min(kept_bytes, rows_.bytes()));
    kept_bytes = rows_.bytes();
    if (status.ok() && rows_.size() > kMaxSortedRows) {
      status = Status(ErrorCode::limit_exceeded, "window functions can have at most " +
                                                     std::to_string(kMaxSortedRows) + " rows");
    }
    if (!status.ok()) co_return status;
  }
  query_.reset();
  order_.resize(rows_.size());
  std::iota(order_.begin(), order_.end(), 0U);
  co_return Status();
}

Status WindowFeed::evaluate_row(Run& run, const WindowCall& call, std::size_t row) {
  run.work.charge(Work::kRow_units);
  EvalContext context = run.context();
  context.values = rows_[row];
  std::vector<Datum> values;
  Status status;
  const auto add = [&](const Expr& expr) {
    if (status.ok()) status = evaluate(expr, context, values.emplace_back());
  };
  for (const OrderItem& item : call.partition) add(*item.value);
  for (const OrderItem& item : call.order) add(*item.value);
  for (const ExprPtr& value : call.args) add(*value);
  if (!status.ok() || run.work.paused()) return status;
  std::size_t bytes = values.size() * sizeof(Datum);
  for (const Datum& value : values) bytes += value.text.size();
  status = keep(run, bytes);
  if (status.ok()) values_.push_back(values_arena_.keep(std::span<const Datum>(values)));
  return status;
}

reactor::Task<Status> WindowFeed::evaluate_rows(Run& run, const WindowCall* call) {
  values_.clear();
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    const auto make = [&] { return evaluate_row(run, *call, row); };
    Status status = make();
    if (run.work.paused()) status = co_await run.resume(make);
    run.next_row();
    if (status.ok() && run.work.due()) status = co_await run.take_turn();
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

// Merges runs of doubling length, so that it can stop after any comparison.
reactor::Task<Status> WindowFeed::sort(Run& run, const WindowCall* call) {
  const std::size_t keys = call->partition.size();
  const auto before = [&](std::uint32_t left, std::uint32_t right) {
    const Datum* const one = values_[left].data();
    const Datum* const other = values_[right].data();
    if (comes_before(call->partition, one, other, &run.work)) return true;
    if (comes_before(call->partition, other, one, &run.work)) return false;
    return comes_before(call->order, one + keys, other + keys, &run.work);
  };
  const std::size_t count = order_.size();
  std::vector<std::uint32_t> merged(count);
  for (std::size_t width = 1; width < count; width *= 2) {
    for (std::size_t begin = 0; begin < count; begin += 2 * width) {
      const std::size_t middle = std::min(count, begin + width);
      const std::size_t end = std::min(count, middle + width);
      std::size_t left = begin;
      std::size_t right = middle;
      for (std::size_t out = begin; out < end; ++out) {
        const bool from_right = left == middle || (right < end && before(order_[right], order_[left]));
        merged[out] = order_[from_right ? right++ : left++];
        if (!run.work.due()) continue;
        Status status = co_await run.take_turn();
        if (!status.ok()) co_return status;
      }
    }
    order_.swap(merged);
  }
  co_return Status();
}

bool WindowFeed::same_values(const std::vector<OrderItem>& items, std::size_t first, std::size_t left,
                             std::size_t right) const {
  const Datum* const one = values_[order_[left]].data() + first;
  const Datum* const other = values_[order_[right]].data() + first;
  return !comes_before(items, one, other, nullptr) && !comes_before(items, other, one, nullptr);
}

std::span<const Datum> WindowFeed::argument(const WindowCall& call, std::size_t at) const {
  return values_[order_[at]].subspan(call.partition.size() + call.order.size());
}

reactor::Task<Status> WindowFeed::calculate(Run& run, std::size_t call) {
  const WindowCall& window = table_.windows->calls[call];
  results_[call].resize(rows_.size());
  Status status = co_await evaluate_rows(run, &window);
  if (status.ok()) status = co_await sort(run, &window);
  for (std::size_t begin = 0; begin < order_.size() && status.ok();) {
    std::size_t end = begin + 1;
    while (end < order_.size() && same_values(window.partition, 0, begin, end)) {
      ++end;
      run.work.charge(Work::kRow_units);
      if (run.work.due()) status = co_await run.take_turn();
      if (!status.ok()) co_return status;
    }
    status = co_await calculate_partition(run, call, begin, end);
    begin = end;
  }
  co_return status;
}

std::size_t WindowFeed::frame_end(const WindowCall& call, std::size_t end, std::size_t at) const {
  switch (call.frame_end) {
    case FrameEnd::row:
      return at + 1;
    case FrameEnd::peers:
      return peers_end_[at];
    case FrameEnd::partition:
      break;
  }
  return end;
}

reactor::Task<Status> WindowFeed::calculate_partition(Run& run, std::size_t call, std::size_t begin,
                                                      std::size_t end) {
  const WindowCall& window = table_.windows->calls[call];
  rank_.resize(order_.size());
  peer_groups_.resize(order_.size());
  for (std::size_t at = begin; at < end; ++at) {
    const bool is_peer = at != begin && same_values(window.order, window.partition.size(), at - 1, at);
    rank_[at] = is_peer ? rank_[at - 1] : at;
    peer_groups_[at] = at == begin ? 0 : peer_groups_[at - 1] + (is_peer ? 0 : 1);
    run.work.charge(Work::kRow_units);
    Status status;
    if (run.work.due()) status = co_await run.take_turn();
    if (!status.ok()) co_return status;
  }
  peers_end_.resize(order_.size());
  for (std::size_t at = end; at-- > begin;)
    peers_end_[at] = at + 1 < end && rank_[at + 1] == rank_[at] ? peers_end_[at + 1] : at + 1;
  if (window.kind == WindowKind::aggregate) co_return co_await accumulate(run, call, begin, end);
  for (std::size_t at = begin; at < end; ++at) {
    Status status = value_of_row(window, begin, end, at, results_[call][order_[at]]);
    run.work.charge(Work::kRow_units);
    if (status.ok() && run.work.due()) status = co_await run.take_turn();
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

// The frame grows from row to row: each row is taken into account once.
reactor::Task<Status> WindowFeed::accumulate(Run& run, std::size_t call, std::size_t begin, std::size_t end) {
  const WindowCall& window = table_.windows->calls[call];
  Accumulator sum(window.aggregate);
  std::size_t added = begin;
  Datum result;
  for (std::size_t at = begin; at < end; ++at) {
    const std::size_t wanted = at == begin || added <= at ? frame_end(window, end, at) : added;
    const bool grows = added < wanted;
    for (; added < wanted; ++added) {
      const auto add = [&] {
        EvalContext context = run.context();
        context.values = rows_[order_[added]];
        return sum.add(context, memory_, run.client_memory);
      };
      Status status = add();
      if (run.work.paused()) status = co_await run.resume(add);
      run.next_row();
      run.work.charge(Work::kRow_units);
      if (status.ok() && run.work.due()) status = co_await run.take_turn();
      if (!status.ok()) co_return status;
    }
    if (grows) {
      Status status = sum.result(run.arena, result);
      if (status.ok()) status = keep(run, result.text.size());
      if (!status.ok()) co_return status;
      result = values_arena_.keep(result);
      run.next_row();
    }
    results_[call][order_[at]] = result;
  }
  co_return Status();
}

Status WindowFeed::value_of_row(const WindowCall& call, std::size_t begin, std::size_t end, std::size_t at,
                                Datum& out) {
  const auto count = static_cast<std::int64_t>(end - begin);
  const auto position = static_cast<std::int64_t>(at - begin);
  const auto rank = static_cast<std::int64_t>(rank_[at] - begin);
  const auto part = [count](std::int64_t rows) { return static_cast<double>(rows) / static_cast<double>(count); };
  switch (call.kind) {
    case WindowKind::row_number:
      out = Datum::of_integer(position + 1);
      return {};
    case WindowKind::rank:
      out = Datum::of_integer(rank + 1);
      return {};
    case WindowKind::dense_rank:
      out = Datum::of_integer(static_cast<std::int64_t>(peer_groups_[at]) + 1);
      return {};
    case WindowKind::percent_rank:
      out = Datum::of_real(count == 1 ? 0 : static_cast<double>(rank) / static_cast<double>(count - 1));
      return {};
    case WindowKind::cumulative_distribution:
      out = Datum::of_real(part(static_cast<std::int64_t>(peers_end_[at] - begin)));
      return {};
    case WindowKind::ntile: {
      const Datum& parts = argument(call, begin)[0];
      if (parts.null) return {};
      if (parts.integer <= 0)
        return Status(ErrorCode::invalid_parameter_value, "argument of ntile must be greater than zero");
      // The first ones have a row more.
      const std::int64_t least = count / parts.integer;
      const std::int64_t longer = count % parts.integer;
      const std::int64_t in_longer = longer * (least + 1);
      out = Datum::of_integer(position < in_longer ? position / (least + 1) + 1
                                                   : longer + (position - in_longer) / least + 1);
      return {};
    }
    case WindowKind::lag:
    case WindowKind::lead: {
      const std::span<const Datum> args = argument(call, at);
      if (args.size() > 1 && args[1].null) return {};
      const std::int64_t offset = args.size() > 1 ? args[1].integer : 1;
      const std::int64_t other = call.kind == WindowKind::lag ? position - offset : position + offset;
      if (other >= 0 && other < count) {
        out = argument(call, begin + static_cast<std::size_t>(other))[0];
      } else if (args.size() > 2) {
        out = args[2];
      }
      return {};
    }
    case WindowKind::first_value:
      out = argument(call, begin)[0];
      return {};
    case WindowKind::last_value:
      out = argument(call, frame_end(call, end, at) - 1)[0];
      return {};
    case WindowKind::nth_value: {
      const Datum& wanted = argument(call, at)[1];
      if (wanted.null) return {};
      if (wanted.integer <= 0)
        return Status(ErrorCode::invalid_parameter_value, "argument of nth_value must be greater than zero");
      const auto rows = static_cast<std::int64_t>(frame_end(call, end, at) - begin);
      if (wanted.integer <= rows) out = argument(call, begin + static_cast<std::size_t>(wanted.integer - 1))[0];
      return {};
    }
    case WindowKind::aggregate:
      break;
  }
  return {};
}

}  // namespace namdb::sql
