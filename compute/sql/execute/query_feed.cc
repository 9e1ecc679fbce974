#include "compute/sql/execute/query_feed.h"

#include <utility>

#include "compute/sql/value/equal_bytes.h"

namespace namdb::sql {

QueryFeed::QueryFeed(const DerivedTable& table)
    : table_(table), memory_("a set operation can keep", "with ALL, UNION keeps no rows") {}

void QueryFeed::show(const Run& /*run*/, std::size_t row, EvalContext& context) {
  context.values = shown_[row];
}

reactor::Task<Status> QueryFeed::load(Run& run, std::uint64_t /*expected*/) {
  if (portion_ == nullptr) portion_ = std::make_unique<GatheredRows>();
  shown_.clear();
  portion_->clear();
  if (table_.query == nullptr) co_return co_await load_values(run);
  if (table_.working != nullptr) co_return co_await load_round(run);
  co_return co_await load_queries(run);
}

Status QueryFeed::make_row(Run& run, const std::vector<ExprPtr>& values) {
  run.work.charge(Work::kRow_units);
  const EvalContext context = run.context();
  std::vector<Datum> row(values.size());
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (Status status = evaluate(*values[i], context, row[i]); !status.ok()) return status;
  }
  portion_->add_row(row);
  return {};
}

reactor::Task<Status> QueryFeed::load_values(Run& run) {
  while (next_values_ < table_.values.size() && portion_->size() < kPortionRows) {
    const auto make = [&] { return make_row(run, table_.values[next_values_]); };
    Status status = make();
    if (run.work.paused()) status = co_await run.resume(make);
    run.next_row();
    if (status.ok() && run.work.due()) status = co_await run.take_turn();
    if (!status.ok()) co_return status;
    ++next_values_;
  }
  for (std::size_t i = 0; i < portion_->size(); ++i) shown_.push_back((*portion_)[i]);
  exhausted_ = next_values_ == table_.values.size();
  co_return Status();
}

reactor::Task<Status> QueryFeed::load_portion(Run& run, const SelectPlan* plan) {
  if (query_ == nullptr) query_ = run.start_query(*plan);
  portion_->clear();
  Run nested = run.nested(*portion_, arena_, run.work, run.outer);
  co_return co_await query_->fetch(nested, kPortionRows);
}

reactor::Task<Status> QueryFeed::load_queries(Run& run) {
  if (table_.right != nullptr && !is_union() && !right_is_counted_) {
    Status status = co_await count_right(run);
    if (!status.ok()) co_return status;
  }
  while (shown_.empty() && !exhausted_) {
    Status status = co_await load_portion(run, in_right_ ? table_.right.get() : table_.query.get());
    if (!status.ok()) co_return status;
    const bool ended = query_->done() || portion_->size() < kPortionRows;
    for (std::size_t i = 0; i < portion_->size(); ++i) {
      bool selected = true;
      if (table_.right != nullptr) status = selects(run, (*portion_)[i], selected);
      if (!status.ok()) co_return status;
      if (selected) shown_.push_back((*portion_)[i]);
    }
    if (!ended) continue;
    query_.reset();
    exhausted_ = in_right_ || table_.right == nullptr || !is_union();
    in_right_ = true;
  }
  co_return Status();
}

Status QueryFeed::keep_for_round(Run& run, std::span<const Datum> row) {
  std::size_t bytes = sizeof(row) + row.size_bytes();
  for (const Datum& value : row) bytes += value.text.size();
  if (Status status = memory_.add(run.client_memory, bytes); !status.ok()) return status;
  run.work.charge_bytes(bytes);
  next_working_->add_row(row);
  return {};
}

reactor::Task<Status> QueryFeed::load_round(Run& run) {
  while (shown_.empty() && !exhausted_) {
    if (in_right_) run.state.working[table_.working.get()] = working_->rows();
    Status status = co_await load_portion(run, in_right_ ? table_.right.get() : table_.query.get());
    if (!status.ok()) co_return status;
    const bool ended = query_->done() || portion_->size() < kPortionRows;
    if (next_working_ == nullptr) next_working_ = std::make_unique<GatheredRows>();
    for (std::size_t i = 0; i < portion_->size(); ++i) {
      bool selected = true;
      status = selects(run, (*portion_)[i], selected);
      if (status.ok() && selected) status = keep_for_round(run, (*portion_)[i]);
      if (!status.ok()) co_return status;
      if (selected) shown_.push_back((*portion_)[i]);
    }
    if (!ended) continue;
    // The next round reads the rows of this one.
    query_.reset();
    in_right_ = true;
    working_ = std::exchange(next_working_, nullptr);
    exhausted_ = working_->size() == 0;
  }
  co_return Status();
}

std::string QueryFeed::bytes_of(std::span<const Datum> row) const {
  std::string bytes;
  for (std::size_t i = 0; i < row.size(); ++i) append_equal_bytes(bytes, table_.columns[i].type.id, row[i]);
  return bytes;
}

reactor::Task<Status> QueryFeed::count_right(Run& run) {
  bool ended = false;
  while (!ended) {
    Status status = co_await load_portion(run, table_.right.get());
    if (!status.ok()) co_return status;
    ended = query_->done() || portion_->size() < kPortionRows;
    for (std::size_t i = 0; i < portion_->size(); ++i) {
      std::string bytes = bytes_of((*portion_)[i]);
      run.work.charge_bytes(bytes.size());
      status = memory_.add(run.client_memory, bytes.size() + sizeof(std::string) + 2 * sizeof(std::uint64_t));
      if (!status.ok()) co_return status;
      ++right_[std::move(bytes)];
    }
  }
  query_.reset();
  portion_->clear();
  right_is_counted_ = true;
  co_return Status();
}

Status QueryFeed::selects(Run& run, std::span<const Datum> row, bool& selected) {
  if (table_.operation == SetOperation::union_all) return {};
  std::string bytes = bytes_of(row);
  run.work.charge_bytes(bytes.size());
  const auto right = right_.find(bytes);
  const bool in_right = right != right_.end() && right->second != 0;
  switch (table_.operation) {
    case SetOperation::intersect_all:
      selected = in_right;
      if (in_right) --right->second;
      return {};
    case SetOperation::except_all:
      selected = !in_right;
      if (in_right) --right->second;
      return {};
    case SetOperation::intersect:
      selected = in_right;
      break;
    case SetOperation::except:
      selected = !in_right;
      break;
    default:
      break;
  }
  if (!selected) return {};
  return add_seen(given_, std::move(bytes), memory_, run.client_memory, selected);
}

}  // namespace namdb::sql
