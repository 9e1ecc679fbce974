#include "compute/sql/execute/run_conflict.h"

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>
#include <algorithm>
#include <deque>
#include <string>
#include <utility>

#include "common/layout/index_key.h"
#include "compute/sql/execute/foreign_keys.h"
#include "compute/sql/execute/inserted_rows.h"
#include "compute/sql/execute/long_value_rows.h"
#include "compute/sql/execute/unique_checks.h"
#include "compute/sql/execute/write_row.h"

namespace namdb::sql {
namespace {

// Rows whose conflicts are looked up together.
constexpr std::size_t kRowsAtOnce = 256;

// A row that is to be inserted, and what is known of its conflicts.
struct Candidate {
  explicit Candidate(const layout::Schema& schema) : row(schema) {}

  layout::Row row;
  txn::RowId by_key = 0;
  // In the order of the plan's indexes: the declared part of its key, empty if that has a NULL; and the rows
  // that have the same.
  std::vector<std::string> keys;
  std::vector<std::vector<txn::RowId>> by_index;
};

class ConflictRun {
 public:
  ConflictRun(Run& run, const InsertPlan& plan)
      : run_(run),
        plan_(plan),
        rows_(plan),
        conflict_(*plan.conflict),
        returning_(plan.returning),
        foreign_keys_(run, plan.foreign_keys.get()),
        unique_(run, plan.table, nullptr),
        inserted_(conflict_.indexes.size()) {}

  reactor::Task<Status> run() {
    if (Status status = co_await rows_.read(run_); !status.ok()) co_return status;
    for (std::size_t begin = 0; begin < rows_.size(); begin += kRowsAtOnce) {
      if (Status status = co_await run_portion(begin); !status.ok()) co_return status;
    }
    co_return co_await foreign_keys_.finish();
  }

 private:
  reactor::Task<Status> run_portion(std::size_t begin) {
    if (Status status = run_.interrupt.check(); !status.ok()) co_return status;
    if (Status status = co_await make_candidates(begin); !status.ok()) co_return status;
    if (Status status = co_await look_up(); !status.ok()) co_return status;
    for (Candidate& candidate : candidates_) {
      if (Status status = co_await handle(&candidate); !status.ok()) co_return status;
    }
    if (Status status = co_await write_long_values(&run_); !status.ok()) co_return status;
    // So that a key that is taken otherwise is the statement's error and not the commit's.
    if (Status status = co_await run_.transaction->fetch(); !status.ok()) co_return status;
    co_return co_await unique_.check();
  }

  reactor::Task<Status> make_candidates(std::size_t begin) {
    candidates_.clear();
    for (std::size_t i = begin; i < std::min(begin + kRowsAtOnce, rows_.size()); ++i) {
      Candidate& made = candidates_.emplace_back(plan_.table->schema);
      const auto make = [&] { return rows_.make(run_, i, made.row); };
      Status status = make();
      if (run_.work.paused()) status = co_await run_.resume(make);
      run_.next_row();
      if (!status.ok()) co_return status;
    }
    co_return Status();
  }

  reactor::Task<Status> look_up() {
    if (conflict_.primary_key) {
      for (Candidate& candidate : candidates_)
        candidate.by_key = run_.transaction->get(plan_.table, candidate.row.key());
    }
    for (const storage::IndexRef& index : conflict_.indexes) {
      Status status = co_await look_up_in(index);
      if (!status.ok()) co_return status;
    }
    run_.work.charge(candidates_.size() * Work::kReadRow_units);
    co_return co_await run_.transaction->fetch();
  }

  reactor::Task<Status> look_up_in(storage::IndexRef index) {
    std::vector<txn::IndexRange> ranges;
    std::vector<Candidate*> owners;
    for (Candidate& candidate : candidates_) {
      const layout::IndexKey key = layout::index_key(index->shape, candidate.row.view());
      candidate.by_index.emplace_back();
      candidate.keys.emplace_back(key.has_null ? std::string() : std::string(key.declared()));
      if (key.has_null) continue;
      ranges.push_back({std::string(key.declared()), layout::index_successor(key.declared()), false, 1});
      owners.push_back(&candidate);
    }
    std::vector<std::vector<txn::RowId>> rows;
    Status status = co_await run_.transaction->find_each(plan_.table, index, std::move(ranges),
                                                         txn::RowUse::may_change, rows);
    if (!status.ok()) co_return status;
    for (std::size_t i = 0; i < owners.size(); ++i) owners[i]->by_index.back() = std::move(rows[i]);
    co_return Status();
  }

  // Whether the row still has those values: the statement may have changed it meanwhile.
  bool has_key(txn::RowId row, std::size_t index, const std::string& key) const {
    if (!run_.transaction->found(row)) return false;
    return layout::index_key(conflict_.indexes[index]->shape, run_.transaction->row(row)).declared() == key;
  }

  std::optional<txn::RowId> find_conflict(const Candidate& candidate) const {
    if (conflict_.primary_key && run_.transaction->found(candidate.by_key)) return candidate.by_key;
    for (std::size_t i = 0; i < conflict_.indexes.size(); ++i) {
      if (candidate.keys[i].empty()) continue;
      for (const txn::RowId row : candidate.by_index[i]) {
        if (has_key(row, i, candidate.keys[i])) return row;
      }
      const auto own = inserted_[i].find(candidate.keys[i]);
      if (own != inserted_[i].end() && has_key(own->second, i, candidate.keys[i])) return own->second;
    }
    return std::nullopt;
  }

  reactor::Task<Status> handle(Candidate* candidate) {
    const std::optional<txn::RowId> there = find_conflict(*candidate);
    if (!there) {
      const txn::RowId id = run_.transaction->insert(plan_.table, candidate->row.bytes());
      run_.work.charge(Work::kWrittenRow_units);
      run_.long_values.note_written(candidate->row.view());
      note_written(id, *candidate);
      if (Status status = foreign_keys_.note_insert(candidate->row.view()); !status.ok()) co_return status;
      if (Status status = unique_.note(candidate->row.view()); !status.ok()) co_return status;
      co_return co_await finish(id);
    }
    if (!conflict_.updates) co_return Status();
    if (written_.contains(*there)) {
      co_return Status(ErrorCode::cardinality_violation,
                       "ON CONFLICT DO UPDATE command cannot affect row a second time",
                       "Ensure that no rows proposed for insertion within the same command have duplicate "
                       "constrained values.");
    }
    bool updated = false;
    const layout::Row before(plan_.table->schema, run_.transaction->row(*there).bytes());
    const auto change = [&] { return update(*there, *candidate, updated); };
    Status status = change();
    if (run_.work.paused()) status = co_await run_.resume(change);
    run_.next_row();
    if (!status.ok() || !updated) co_return status;
    const layout::RowView after = run_.transaction->row(*there);
    if (Status noted = foreign_keys_.note_update(before.view(), after); !noted.ok()) co_return noted;
    if (Status noted = unique_.note(after); !noted.ok()) co_return noted;
    note_written(*there, *candidate);
    co_return co_await finish(*there);
  }

  void note_written(txn::RowId id, const Candidate& candidate) {
    written_.insert(id);
    for (std::size_t i = 0; i < conflict_.indexes.size(); ++i) inserted_[i][candidate.keys[i]] = id;
  }

  // The values of the row that is there, and behind them those of the new one.
  Status update(txn::RowId there, const Candidate& candidate, bool& updated) {
    EvalContext context = run_.context();
    const layout::RowView old_row = run_.transaction->row(there);
    const layout::RowView new_row = candidate.row.view();
    const std::size_t columns = plan_.table->schema.columns().size();
    values_.resize(2 * columns);
    for (std::uint32_t column = 0; column < columns; ++column) {
      read_column(old_row, column, run_.arena, values_[column]);
      read_column(new_row, column, run_.arena, values_[columns + column]);
    }
    context.values = values_;
    updated = true;
    if (conflict_.filter != nullptr) {
      Status status = evaluate_condition(*conflict_.filter, context, updated);
      if (!status.ok() || !updated) return status;
    }
    run_.work.charge(Work::kWrittenRow_units);
    return assign_row(run_, *plan_.table, conflict_.assignments, plan_.checks, context, there, nullptr);
  }

  // Counts a row that was inserted or updated, and gives what RETURNING asks for.
  reactor::Task<Status> finish(txn::RowId id) {
    ++run_.affected;
    if (returning_.wanted()) co_return co_await returning_.give_row(&run_, id);
    Status status;
    if (run_.work.due()) status = co_await run_.take_turn();
    co_return status;
  }

  Run& run_;
  const InsertPlan& plan_;
  InsertedRows rows_;
  const ConflictPlan& conflict_;
  Returning returning_;
  ForeignKeyChecks foreign_keys_;
  UniqueChecks unique_;
  std::deque<Candidate> candidates_;
  absl::flat_hash_set<txn::RowId> written_;  // by this statement
  // Likewise, by the keys of the indexes.
  std::vector<absl::flat_hash_map<std::string, txn::RowId>> inserted_;
  std::vector<Datum> values_;
};

}  // namespace

reactor::Task<Status> run_insert_or_conflict(Run& run, const InsertPlan& plan) {
  ConflictRun conflict(run, plan);
  co_return co_await conflict.run();
}

}  // namespace namdb::sql
