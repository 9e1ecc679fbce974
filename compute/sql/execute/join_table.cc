#include "compute/sql/execute/join_table.h"

#include "compute/sql/execute/row_filter.h"
#include "compute/sql/execute/source_feed.h"
#include "compute/sql/value/equal_bytes.h"

namespace namdb::sql {

Status join_key(const std::vector<ExprPtr>& keys, const EvalContext& context, std::string& bytes,
                bool& null) {
  bytes.clear();
  null = false;
  for (const ExprPtr& key : keys) {
    Datum value;
    if (Status status = evaluate(*key, context, value); !status.ok()) return status;
    null = null || value.null;
    append_equal_bytes(bytes, key->type.id, value);
  }
  return {};
}

JoinTableRows::JoinTableRows(const JoinedSource& joined, std::size_t slots)
    : joined_(joined),
      slots_(slots),
      memory_("a join can keep", "an index on the columns of the join finds its rows one by one") {}

reactor::Task<Status> JoinTableRows::read(Run& run) {
  SourceFeed feed(joined_);
  const RowFilter filter(joined_);
  while (!feed.exhausted()) {
    Status status = co_await feed.load(run, 0);
    if (run.work.paused()) {
      status = co_await run.take_turn();
      if (!status.ok()) co_return status;
      continue;
    }
    if (!status.ok()) co_return status;
    for (std::size_t row = 0; row < feed.size(); ++row) {
      EvalContext context = run.context();
      feed.show(run, row, context);
      if (filter.rejects(context)) {
        if (run.work.due()) status = co_await run.take_turn();
        if (!status.ok()) co_return status;
        continue;
      }
      for (const JoinedSource::Read& read : joined_.reads)
        read_value(context, read.column, slots_[read.slot]);
      status = co_await add(run, slots_);
      if (!status.ok()) co_return status;
    }
  }
  co_return Status();
}

reactor::Task<Status> JoinTableRows::add(Run& run, std::span<Datum> slots) {
  EvalContext context = run.context();
  context.values = slots;
  run.work.charge(Work::kRow_units);
  bool selected = true;
  Status status;
  if (joined_.source.filter != nullptr) {
    const auto select = [&] { return evaluate_condition(*joined_.source.filter, context, selected); };
    status = select();
    if (run.work.paused()) status = co_await run.resume(select);
  }
  const auto keep_row = [&] { return keep(run, slots); };
  if (status.ok() && selected) status = keep_row();
  if (run.work.paused()) status = co_await run.resume(keep_row);
  run.next_row();
  if (status.ok() && run.work.due()) status = co_await run.take_turn();
  co_return status;
}

Status JoinTableRows::keep(Run& run, std::span<const Datum> slots) {
  EvalContext context = run.context();
  context.values = slots;
  std::string key;
  bool null = false;
  if (Status status = join_key(joined_.hash_keys, context, key, null); !status.ok()) return status;
  if (null && joined_.kind != JoinKind::full) return {};
  std::vector<Datum> values;
  std::size_t bytes = key.size() + joined_.reads.size() * sizeof(Datum) + 4 * sizeof(std::uint64_t);
  for (const JoinedSource::Read& read : joined_.reads) {
    const Datum& value = values.emplace_back(slots[read.slot]);
    if (!value.null) bytes += value.text.size();
  }
  if (Status status = memory_.add(run.client_memory, bytes); !status.ok()) return status;
  run.work.charge_bytes(bytes);
  const auto row = static_cast<std::uint32_t>(rows_.size());
  rows_.push_back(arena_.keep(std::span<const Datum>(values)).data());
  const auto before = last_.find(key);
  if (null) {
    next_.push_back(row);
  } else if (before == last_.end()) {
    next_.push_back(row);
    last_.emplace(arena_.copy(key), row);
  } else {
    next_.push_back(next_[before->second]);
    next_[before->second] = row;
    before->second = row;
  }
  return {};
}

std::uint32_t JoinTableRows::first(std::string_view key) const {
  const auto found = last_.find(key);
  return found == last_.end() ? kNone : next_[found->second];
}

std::uint32_t JoinTableRows::next(std::uint32_t row) const {
  return next_[row] > row ? next_[row] : kNone;
}

}  // namespace namdb::sql
