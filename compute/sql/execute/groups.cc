#include "compute/sql/execute/groups.h"

#include <algorithm>
#include <string>

#include "common/base/checksum.h"
#include "compute/sql/value/equal_bytes.h"

namespace namdb::sql {

namespace {

bool is_stored_as_integer(const Expr& expr) {
  if (expr.kind != ExprKind::column) return false;
  const TypeClass type_class = expr.type.type_class();
  return type_class == TypeClass::integer || type_class == TypeClass::time ||
         type_class == TypeClass::time_of_day;
}

}  // namespace

std::size_t Groups::HashOfBytes::operator()(std::string_view bytes) const {
  return checksum64(std::as_bytes(std::span(bytes)));
}

Groups::Groups(const SelectPlan& plan)
    : plan_(plan),
      memory_("GROUP BY can keep", "fewer groups, or a WHERE that selects a part of them, take less") {
  for (const Aggregate& aggregate : plan.aggregates) {
    steps_.push_back(step_of(aggregate));
    all_stored_ = all_stored_ && steps_.back() != AggregateStep::evaluated;
  }
  row_values_.resize(plan.groups.size() + plan.grouping_values.size());
  if (!plan.grouping_sets.empty()) {
    all_stored_ = false;
    // A set without values has a group without rows, too.
    for (std::size_t set = 0; set < plan.grouping_sets.size(); ++set) {
      if (!plan.grouping_sets[set].empty()) continue;
      begin_set(set);
      Group& group = add_group(arena_.keep(std::span<const Datum>(row_values_)));
      by_values_.emplace(arena_.copy(row_bytes_), &group);
    }
    return;
  }
  if (plan.groups.size() == 1 && is_stored_as_integer(*plan.groups.front()))
    by_column_ = plan.groups.front()->index;
  if (plan.groups.empty()) add_group({});
}

Groups::Group& Groups::add_group(std::span<const Datum> values) {
  Group& group = groups_.emplace_back();
  group.values = values;
  group.accumulators.reserve(plan_.aggregates.size());
  for (const Aggregate& aggregate : plan_.aggregates) group.accumulators.emplace_back(aggregate);
  return group;
}

Status Groups::find_group(Run& run, const EvalContext& context) {
  if (one_group()) {
    group_ = &groups_.front();
    return {};
  }
  std::vector<Datum>& values = row_values_;
  std::string& bytes = row_bytes_;
  bytes.clear();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (Status status = evaluate(*plan_.groups[i], context, values[i]); !status.ok()) return status;
    append_equal_bytes(bytes, plan_.groups[i]->type.id, values[i]);
  }
  run.work.charge_bytes(bytes.size());
  return find_by_bytes(run.client_memory);
}

// The values that all groups of the set have.
void Groups::begin_set(std::size_t set) {
  row_bytes_ = std::to_string(set) + " ";
  std::ranges::fill(row_values_, Datum());
  for (std::size_t call = 0; call < plan_.grouping_values.size(); ++call)
    row_values_[plan_.groups.size() + call] = Datum::of_integer(plan_.grouping_values[call][set]);
}

Status Groups::find_group_of_set(Run& run, const EvalContext& context, std::size_t set) {
  begin_set(set);
  for (const std::uint32_t place : plan_.grouping_sets[set]) {
    Status status = evaluate(*plan_.groups[place], context, row_values_[place]);
    if (!status.ok()) return status;
    append_equal_bytes(row_bytes_, plan_.groups[place]->type.id, row_values_[place]);
  }
  run.work.charge_bytes(row_bytes_.size());
  return find_by_bytes(run.client_memory);
}

// Of row_bytes_, with row_values_.
Status Groups::find_by_bytes(MemoryBudget* budget) {
  const std::vector<Datum>& values = row_values_;
  const std::string& bytes = row_bytes_;
  const auto found = by_values_.find(bytes);
  if (found != by_values_.end()) {
    group_ = found->second;
    return {};
  }
  const std::size_t of_integer_bytes = by_column_ ? 4 * sizeof(std::uint64_t) : 0;
  const std::size_t kept_bytes = 2 * bytes.size() + sizeof(Group) + values.size() * sizeof(Datum) +
                                 plan_.aggregates.size() * sizeof(Accumulator) + 4 * sizeof(std::uint64_t) +
                                 of_integer_bytes;
  if (Status status = memory_.add(budget, kept_bytes); !status.ok()) return status;
  group_ = &add_group(arena_.keep(std::span<const Datum>(values)));
  by_values_.emplace(arena_.copy(bytes), group_);
  if (by_column_ && values.front().null) {
    of_null_ = group_;
  } else if (by_column_) {
    by_integer_.emplace(values.front().integer, group_);
  }
  return {};
}

Status Groups::add(Run& run, const EvalContext& context) {
  for (; done_sets_ < plan_.grouping_sets.size(); ++done_sets_) {
    if (group_ == nullptr) {
      if (Status status = find_group_of_set(run, context, done_sets_); !status.ok()) return status;
    }
    if (Status status = add_to_group(run, context); !status.ok()) return status;
  }
  done_sets_ = 0;
  if (!plan_.grouping_sets.empty()) return {};
  if (group_ == nullptr) {
    if (Status status = find_group(run, context); !status.ok()) return status;
  }
  return add_to_group(run, context);
}

Status Groups::add_to_group(Run& run, const EvalContext& context) {
  if (all_stored_ && context.row != nullptr) {
    add_stored(*group_, *context.row);
    group_ = nullptr;
    return {};
  }
  for (; done_accumulators_ < group_->accumulators.size(); ++done_accumulators_) {
    if (context.work->exhausted()) return context.work->pause();
    Status status = group_->accumulators[done_accumulators_].add(context, memory_, run.client_memory);
    if (!status.ok()) return status;
  }
  done_accumulators_ = 0;
  group_ = nullptr;
  return {};
}

Status Groups::show(std::size_t group, EvalContext& context) {
  const Group& shown = groups_[group];
  results_.resize(shown.accumulators.size());
  for (std::size_t i = 0; i < results_.size(); ++i) {
    if (Status status = shown.accumulators[i].result(*context.arena, results_[i]); !status.ok())
      return status;
  }
  context.row = nullptr;
  context.values = shown.values;
  context.aggregates = results_;
  return {};
}

}  // namespace namdb::sql
