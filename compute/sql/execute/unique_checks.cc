#include "compute/sql/execute/unique_checks.h"

#include <algorithm>
#include <utility>

#include "common/layout/index_key.h"
#include "compute/api/transaction_facts.h"
#include "compute/sql/syntax/error_fields.h"

namespace namdb::sql {
namespace {

// `update`: null: of an INSERT.
bool is_checked(const storage::Index& index, const UpdatePlan* update) {
  if (!index.unique || index.primary || index.replaced()) return false;
  const auto is_changed = [update](const layout::IndexColumn& column) {
    return std::ranges::count(update->assignments, column.column, &Assignment::column) != 0 ||
           std::ranges::any_of(update->checks, [&column](const CheckCondition& check) {
             return check.generated == column.column;
           });
  };
  return update == nullptr || std::ranges::any_of(index.shape.columns(), is_changed);
}

bool checks_any(const storage::Table& table, const UpdatePlan* update) {
  return std::ranges::any_of(table.indexes,
                             [=](const storage::IndexRef& index) { return is_checked(*index, update); });
}

}  // namespace

bool UniqueChecks::wanted(const Run& run, const Plan& plan) {
  if (!run.checks_unique) return false;
  if (const auto* insert = plan.as<InsertPlan>()) return checks_any(*insert->table, nullptr);
  const auto* const update = plan.as<UpdatePlan>();
  return update != nullptr && checks_any(*update->source.table, update);
}

UniqueChecks::UniqueChecks(Run& run, storage::TableRef table, const UpdatePlan* update)
    : run_(run), table_(std::move(table)), memory_("unique keys can keep", "change the rows in parts") {
  if (!run.checks_unique) return;
  for (const storage::IndexRef& index : table_->indexes) {
    if (is_checked(*index, update)) indexes_.push_back({index, {}});
  }
}

Status UniqueChecks::note(const layout::RowView& row) {
  for (Checked& checked : indexes_) {
    const layout::IndexKey key = layout::index_key(checked.index->shape, row);
    if (key.has_null) continue;
    Status status = memory_.add(run_.client_memory, sizeof(std::string) + key.declared().size());
    if (!status.ok()) return status;
    checked.keys.emplace_back(key.declared());
  }
  return {};
}

reactor::Task<Status> UniqueChecks::check() {
  constexpr std::size_t kAtOnce = 1024;
  for (Checked& checked : indexes_) {
    for (std::size_t first = 0; first < checked.keys.size(); first += kAtOnce) {
      if (Status status = run_.interrupt.check(); !status.ok()) co_return status;
      const std::size_t end = std::min(checked.keys.size(), first + kAtOnce);
      Status status = co_await check_index(&checked, first, end);
      if (status.ok() && run_.work.due()) status = co_await run_.take_turn();
      if (!status.ok()) co_return status;
    }
    std::size_t bytes = 0;
    for (const std::string& key : checked.keys) bytes += sizeof(std::string) + key.size();
    memory_.give_back(bytes);
    checked.keys.clear();
  }
  co_return Status();
}

// Two rows are enough: the one that was written, and another one.
reactor::Task<Status> UniqueChecks::check_index(Checked* checked, std::size_t first, std::size_t end) {
  std::vector<txn::IndexRange> ranges;
  for (std::size_t i = first; i < end; ++i)
    ranges.push_back({checked->keys[i], layout::index_successor(checked->keys[i]), false, 2});
  std::vector<std::vector<txn::RowId>> rows;
  Status status = co_await run_.transaction->find_each(table_, checked->index, std::move(ranges),
                                                       txn::RowUse::only_read, rows);
  if (!status.ok()) co_return status;
  run_.work.charge(rows.size() * Work::kReadRow_units);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::size_t there = 0;
    for (const txn::RowId id : rows[i]) {
      if (!run_.transaction->found(id)) continue;
      const layout::RowView row = run_.transaction->row(id);
      if (layout::index_key(checked->index->shape, row).declared() != checked->keys[first + i]) continue;
      if (++there < 2) continue;
      status = duplicate(*checked, row);
      co_return co_await txn::confirm_error(run_.transaction, std::move(status));
    }
  }
  co_return Status();
}

Status UniqueChecks::duplicate(const Checked& checked, const layout::RowView& row) const {
  describe_violation(txn::violation_of(table_, *checked.index, row), run_.error);
  return Status(ErrorCode::duplicate_key,
                "duplicate key value violates unique constraint \"" + checked.index->name + "\"");
}

}  // namespace namdb::sql
