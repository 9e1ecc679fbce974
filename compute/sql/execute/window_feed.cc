#include "compute/sql/execute/window_feed.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "compute/sql/execute/row_order.h"

namespace namdb::sql {
namespace {

constexpr std::size_t kMaxWindowRows = 1 << 20;

}  // namespace

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
  for (std::size_t i = 0; i < table_.windows->calls.size() && status.ok(); ++i)
    status = co_await calculate(run, i);
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
    if (Status status = co_await query_->fetch(nested, kPortionRows); !status.ok()) co_return status;
    Status status = memory_.add(run.client_memory, rows_.bytes() - std::min(kept_bytes, rows_.bytes()));
    if (!status.ok()) co_return status;
    kept_bytes = rows_.bytes();
    if (rows_.size() > kMaxWindowRows)
      co_return Status(ErrorCode::limit_exceeded,
                       "window functions can have at most " + std::to_string(kMaxWindowRows) + " rows");
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
  const auto fails = [&](const ExprPtr& part) {
    if (part != nullptr) status = evaluate(*part, context, values.emplace_back());
    return !status.ok();
  };
  if (std::ranges::any_of(call.partition, fails, &OrderItem::value) ||
      std::ranges::any_of(call.order, fails, &OrderItem::value) || std::ranges::any_of(call.args, fails) ||
      std::ranges::any_of(call.frame.parts(), [&](const ExprPtr* part) { return fails(*part); }) ||
      run.work.paused())
    return status;
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
  Status status = keep(run, rows_.size() * (sizeof(Datum) + sizeof(std::span<const Datum>)));
  if (!status.ok()) co_return status;
  results_[call].resize(rows_.size());
  status = co_await evaluate_rows(run, &window);
  if (!status.ok()) co_return status;
  status = co_await sort(run, &window);
  for (std::size_t begin = 0; begin < order_.size() && status.ok();) {
    std::size_t end = begin + 1;
    while (end < order_.size() && same_values(window.partition, 0, begin, end)) {
      ++end;
      run.work.charge(Work::kRow_units);
      if (run.work.due()) status = co_await run.take_turn();
      if (!status.ok()) co_return status;
    }
    const Rows partition{begin, end};
    status = co_await calculate_partition(run, call, partition);
    begin = end;
  }
  co_return status;
}

reactor::Task<Status> WindowFeed::calculate_partition(Run& run, std::size_t call, Rows partition) {
  const WindowCall& window = table_.windows->calls[call];
  rank_.resize(order_.size());
  peer_groups_.resize(order_.size());
  group_begins_.clear();
  for (std::size_t at = partition.begin; at < partition.end; ++at) {
    const bool is_peer =
        at != partition.begin && same_values(window.order, window.partition.size(), at - 1, at);
    if (!is_peer) group_begins_.push_back(at);
    rank_[at] = group_begins_.back();
    peer_groups_[at] = group_begins_.size() - 1;
    run.work.charge(Work::kRow_units);
    Status status;
    if (run.work.due()) status = co_await run.take_turn();
    if (!status.ok()) co_return status;
  }
  if (window.kind == WindowKind::aggregate) co_return co_await accumulate(run, call, partition);
  for (std::size_t at = partition.begin; at < partition.end; ++at) {
    Status status = value_of_row(window, partition, at, results_[call][order_[at]]);
    run.work.charge(Work::kRow_units);
    if (status.ok() && run.work.due()) status = co_await run.take_turn();
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

// While only the end of the frame moves, each row is taken into account once. After a pause the evaluation of
// a row begins anew, and nothing of it has been counted (Accumulator::add()).
reactor::Task<Status> WindowFeed::accumulate(Run& run, std::size_t call, Rows partition) {
  const WindowCall& window = table_.windows->calls[call];
  std::optional<GatheredMemory> memory;
  std::optional<Accumulator> sum;
  Rows added;
  Datum result;
  for (std::size_t at = partition.begin; at < partition.end; ++at) {
    Rows frame;
    Status status = find_frame(window, partition, at, frame);
    if (!status.ok()) co_return status;
    const bool goes_on = sum && frame.begin == added.begin && frame.end >= added.end;
    const bool changes = !goes_on || frame.end != added.end;
    if (!goes_on) {
      sum.reset();
      memory.emplace("a window function can keep", "a shorter frame takes less");
      sum.emplace(window.aggregate);
      added = {frame.begin, frame.begin};
    }
    for (; added.end < frame.end; ++added.end) {
      const auto add = [&] {
        EvalContext context = run.context();
        context.values = rows_[order_[added.end]];
        return sum->add(context, *memory, run.client_memory);
      };
      status = add();
      if (run.work.paused()) status = co_await run.resume(add);
      run.next_row();
      run.work.charge(Work::kRow_units);
      if (status.ok() && run.work.due()) status = co_await run.take_turn();
      if (!status.ok()) co_return status;
    }
    if (changes) {
      status = sum->result(run.arena, result);
      if (!status.ok()) co_return status;
      if (Status room = keep(run, result.text.size()); !room.ok()) co_return room;
      result = values_arena_.keep(result);
      run.next_row();
    }
    results_[call][order_[at]] = result;
    run.work.charge(Work::kRow_units);
    if (run.work.due()) status = co_await run.take_turn();
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

Status WindowFeed::value_of_row(const WindowCall& call, Rows partition, std::size_t at, Datum& out) {
  const auto count = static_cast<std::int64_t>(partition.size());
  const auto position = static_cast<std::int64_t>(at - partition.begin);
  const auto rank = static_cast<std::int64_t>(rank_[at] - partition.begin);
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
    case WindowKind::cumulative_distribution: {
      const std::size_t with_peers = begin_of_group(partition, peer_groups_[at] + 1) - partition.begin;
      out = Datum::of_real(static_cast<double>(with_peers) / static_cast<double>(count));
      return {};
    }
    case WindowKind::ntile: {
      const Datum& parts = argument(call, partition.begin)[0];
      if (parts.null) return {};
      if (parts.integer <= 0)
        return Status(ErrorCode::invalid_ntile_argument, "argument of ntile must be greater than zero");
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
        out = argument(call, partition.begin + static_cast<std::size_t>(other))[0];
      } else if (args.size() > 2) {
        out = args[2];
      }
      return {};
    }
    case WindowKind::first_value:
    case WindowKind::last_value:
    case WindowKind::nth_value:
      return value_of_frame(call, partition, at, out);
    case WindowKind::aggregate:
      break;
  }
  return {};
}

Status WindowFeed::value_of_frame(const WindowCall& call, Rows partition, std::size_t at, Datum& out) {
  Rows frame;
  if (Status status = find_frame(call, partition, at, frame); !status.ok()) return status;
  std::int64_t wanted = 1;
  if (call.kind == WindowKind::last_value) wanted = static_cast<std::int64_t>(frame.size());
  if (call.kind == WindowKind::nth_value) {
    const Datum& given = argument(call, at)[1];
    if (given.null) return {};
    wanted = given.integer;
    if (wanted <= 0)
      return Status(ErrorCode::invalid_nth_value_argument, "argument of nth_value must be greater than zero");
  }
  if (frame.size() != 0 && wanted <= static_cast<std::int64_t>(frame.size()))
    out = argument(call, frame.begin + static_cast<std::size_t>(wanted - 1))[0];
  return {};
}

}  // namespace namdb::sql
