// INSERT, UPDATE and DELETE: writes are buffered in the transaction; conflicts show at its commit.
#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "compute/sql/execute/changed_rows.h"
#include "compute/sql/execute/foreign_keys.h"
#include "compute/sql/execute/inserted_rows.h"
#include "compute/sql/execute/long_value_rows.h"
#include "compute/sql/execute/part_cost.h"
#include "compute/sql/execute/run.h"
#include "compute/sql/execute/run_conflict.h"
#include "compute/sql/execute/source_keys.h"
#include "compute/sql/execute/source_scan.h"
#include "compute/sql/execute/unique_checks.h"
#include "compute/sql/execute/write_row.h"
#include "compute/sql/value/sequence_default.h"

namespace namdb::sql {
namespace {

constexpr std::size_t kFewKeys_bytes = 64 << 10;  // up to which they are not counted

Status matches(const Run& run, const Source& source, const layout::RowView& row, bool& out) {
  out = true;
  run.work.charge(Work::kRow_units);
  if (source.filter == nullptr) return {};
  EvalContext context = run.context();
  context.row = &row;
  return evaluate_condition(*source.filter, context, out);
}

// The row's key, if the filter selects it.
Status add_selected(const Run& run, const Source& source, const layout::RowView& row, Keys& keys) {
  bool selected = false;
  if (Status status = matches(run, source, row, selected); !status.ok() || !selected) return status;
  Status status = check_changed_rows(keys.size());
  if (status.ok()) keys.add(row.key());
  return status;
}

// Finds all keys before it changes the first row: the statement does not read its own changes.
reactor::Task<Status> collect_keys(Run& run, const Source& source, Keys& keys, MemoryShare& memory) {
  if (!source.key.empty()) {
    const std::span<const Datum> no_outer;
    const auto evaluate = [&] { return evaluate_keys(run, source, no_outer, keys); };
    Status status = co_await evaluate();
    if (run.work.paused()) status = co_await run.resume_task(evaluate);
    run.next_row();
    co_return status;
  }
  keys.key_bytes = source.table->schema.key_bytes();
  run.selects_rows = true;
  SourceScan scan(source);
  txn::RowBlock rows;
  while (true) {
    if (Status status = run.interrupt.check(); !status.ok()) co_return status;
    Status status = co_await scan.next(run, 0, rows);
    if (run.work.paused()) {
      status = co_await run.take_turn();
      if (!status.ok()) co_return status;
      continue;
    }
    if (!status.ok()) co_return status;
    if (rows.empty()) {
      run.selects_rows = false;
      co_return Status();
    }
    run.work.charge(rows.size() * Work::kReadRow_units);
    if (keys.bytes.capacity() > kFewKeys_bytes) status = memory.resize(keys.bytes.capacity());
    if (!status.ok()) co_return status;
    for (std::size_t i = 0; i < rows.size();) {
      status = add_selected(run, source, rows[i], keys);
      const bool paused = run.work.paused();
      if (!paused) {
        run.next_row();
        ++i;
      } else {
        layout::RowView next;
        want_ahead(run, rows.size() - i, rows.size(), [&](std::size_t row, EvalContext& context) {
          next = rows[i + row];
          context.row = &next;
          return true;
        });
      }
      if (paused || (status.ok() && run.work.due())) status = co_await run.take_turn();
      if (!status.ok()) co_return status;
    }
  }
}

// A row of UPDATE or DELETE goes through these steps. Each may pause, and is then taken again.
enum class Step : std::uint8_t { select, old_values, change, new_values, give, done };

// The steps that change a row, for UPDATE and DELETE.
struct RowChange {
  const Source& source;
  const ChangedRowsPlan* joined;  // null: there is one table
  const UpdatePlan* update;       // null: a DELETE
  Returning returning;
  ForeignKeyChecks& foreign_keys;
  std::optional<UniqueChecks> unique;  // of an UPDATE
  std::span<const Datum> others = {};  // what was joined with the row
  std::vector<Datum> values = {};      // of the joined row
  // Rows whose primary keys have changed: inserted once all others are gone.
  std::vector<layout::Row> moved = {};
  GatheredMemory moved_memory{"UPDATE of primary keys can keep", "change fewer rows at once"};
  bool is_moved = false;  // the row is the last one of those
};

// Lets expressions read the row, and what was joined with it.
EvalContext context_of(const Run& run, RowChange& change, const layout::RowView& row) {
  EvalContext context = run.context();
  context.row = &row;
  if (change.joined == nullptr) return context;
  const auto columns = static_cast<std::uint32_t>(change.source.table->schema.columns().size());
  change.values.assign(columns, Datum());
  for (std::uint32_t column = 0; column < columns; ++column)
    read_column(row, column, run.arena, change.values[column]);
  change.values.insert(change.values.end(), change.others.begin(), change.others.end());
  context.row = nullptr;
  context.values = change.values;
  return context;
}

Status evaluate_returning(const Run& run, RowChange& change, txn::RowId id) {
  const layout::RowView row = change.is_moved ? change.moved.back().view() : run.transaction->row(id);
  return change.returning.evaluate(run, context_of(run, change, row));
}

Status update_row(Run& run, RowChange& change, txn::RowId id) {
  const layout::RowView row = run.transaction->row(id);
  std::optional<layout::Row> moved;
  const auto assign = [&] {
    return assign_row(run, *change.source.table, change.update->assignments, change.update->checks,
                      context_of(run, change, row), id, &moved);
  };
  std::optional<layout::Row> before;
  if (change.foreign_keys.wanted()) before.emplace(row.schema(), row.bytes());
  Status status = assign();
  if (!status.ok() || run.work.paused()) return status;
  if (before) {
    status =
        change.foreign_keys.note_update(before->view(), moved ? moved->view() : run.transaction->row(id));
    if (!status.ok()) return status;
  }
  status = change.unique->note(moved ? moved->view() : run.transaction->row(id));
  if (!status.ok()) return status;
  change.is_moved = moved.has_value();
  if (!moved) return {};
  status = change.moved_memory.add(run.client_memory, sizeof(layout::Row) + row.bytes().size());
  if (!status.ok()) return status;
  run.transaction->erase(id);
  change.moved.push_back(*std::move(moved));
  return {};
}

Status take_step(Run& run, RowChange& change, txn::RowId id, Step& step) {
  txn::Transaction& transaction = *run.transaction;
  switch (step) {
    case Step::select: {
      bool selected = transaction.found(id);
      Status status;
      if (selected) status = matches(run, change.source, transaction.row(id), selected);
      if (status.ok()) step = selected ? Step::old_values : Step::done;
      return status;
    }
    case Step::old_values: {
      Status status;
      if (change.update == nullptr && change.returning.wanted()) status = evaluate_returning(run, change, id);
      if (status.ok()) step = Step::change;
      return status;
    }
    case Step::change: {
      Status status;
      if (change.update == nullptr) {
        status = change.foreign_keys.note_delete(transaction.row(id));
        if (!status.ok()) return status;
        run.long_values.note_gone(transaction.row(id));
        transaction.erase(id);
      } else {
        status = update_row(run, change, id);
      }
      run.work.charge(Work::kWrittenRow_units);
      if (status.ok()) ++run.affected;
      if (status.ok()) step = change.returning.wanted() ? Step::new_values : Step::done;
      return status;
    }
    case Step::new_values: {
      Status status;
      if (change.update != nullptr) status = evaluate_returning(run, change, id);
      if (status.ok()) step = Step::give;
      return status;
    }
    case Step::give:
      change.returning.give(run);
      step = Step::done;
      return {};
    case Step::done:
      break;
  }
  return {};
}

reactor::Task<Status> insert_moved(Run& run, RowChange* change) {
  for (std::size_t i = 0; i < change->moved.size();) {
    run.transaction->insert(change->source.table, change->moved[i].bytes());
    run.work.charge(Work::kWrittenRow_units);
    Status status;
    if (++i % kInsertedAtOnce == 0 || i == change->moved.size()) status = co_await run.transaction->fetch();
    if (status.ok() && run.work.due()) status = co_await run.take_turn();
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

reactor::Task<Status> change_rows(Run& run, RowChange* change) {
  run.long_part = &change->source.key;
  Keys keys;
  MemoryShare memory(run.client_memory);
  const Source& source = change->source;
  std::optional<ChangedRows> joined;
  Status status;
  if (change->joined == nullptr) {
    status = co_await collect_keys(run, source, keys, memory);
  } else {
    joined.emplace(*change->joined, *source.table);
    status = co_await joined->read(run, keys);
  }
  if (!status.ok()) co_return status;
  const std::size_t count = keys.size();
  std::vector<txn::RowId> rows;
  std::uint32_t batches = 0;
  for (std::size_t begin = 0; begin < count; begin += kFetchRows) {
    status = run.interrupt.check();
    if (!status.ok()) co_return status;
    rows.clear();
    for (std::size_t i = begin; i < std::min(count, begin + kFetchRows); ++i)
      rows.push_back(run.transaction->get(source.table, keys[i]));
    PartCost cost(run, &source.key);
    status = co_await run.transaction->fetch();
    cost.end(rows.size());
    if (!status.ok()) co_return status;
    run.work.charge(rows.size() * Work::kReadRow_units);
    if (++batches % kBatchesPerYield == 0) co_await run.engine.executor().yield();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (joined) change->others = joined->others(begin + i);
      change->is_moved = false;
      for (Step step = Step::select; step != Step::done;) {
        status = take_step(run, *change, rows[i], step);
        const bool paused = run.work.paused();
        if (paused || (status.ok() && run.work.due())) status = co_await run.take_turn();
        if (!status.ok()) co_return status;
      }
      run.next_row();
      if (run.long_values.work_is_due()) status = co_await write_long_values(&run);
      if (status.ok() && run.sink.congested()) status = co_await run.sink.relieve();
      if (!status.ok()) co_return status;
    }
  }
  status = co_await insert_moved(run, change);
  if (status.ok() && change->unique) status = co_await change->unique->check();
  if (!status.ok()) co_return status;
  co_return co_await change->foreign_keys.finish();
}

// So that a duplicate key is the statement's error and not the commit's.
reactor::Task<Status> fetch_inserted(Run& run, const InsertPlan& plan, std::size_t rows,
                                     UniqueChecks* unique) {
  PartCost cost(run, &plan.table);
  if (Status status = co_await run.transaction->fetch(); !status.ok()) co_return status;
  cost.end(rows);
  co_return co_await unique->check();
}

}  // namespace

reactor::Task<Status> run_insert(Run& run, const InsertPlan& plan) {
  if (plan.conflict != nullptr) co_return co_await run_insert_or_conflict(run, plan);
  const layout::Schema& schema = plan.table->schema;
  run.long_part = &plan.table;
  InsertedRows rows(plan);
  if (Status status = co_await rows.read(run); !status.ok()) co_return status;
  Returning returning(plan.returning);
  ForeignKeyChecks foreign_keys(run, plan.foreign_keys.get());
  UniqueChecks unique(run, plan.table, nullptr);
  std::vector<txn::RowId> inserted;
  for (std::size_t i = 0; i < rows.size();) {
    layout::Row row(schema);
    Status status = rows.make(run, i, row);
    const bool paused = run.work.paused();
    if (status.ok()) {
      const txn::RowId id = run.transaction->insert(plan.table, row.bytes());
      run.long_values.note_written(row.view());
      if (Status noted = foreign_keys.note_insert(row.view()); !noted.ok()) co_return noted;
      if (Status noted = unique.note(row.view()); !noted.ok()) co_return noted;
      if (returning.wanted()) inserted.push_back(id);
      run.work.charge(Work::kWrittenRow_units);
      run.next_row();
      ++run.affected;
      if (++i % kInsertedAtOnce == 0 || i == rows.size()) {
        status = co_await fetch_inserted(run, plan, (i - 1) % kInsertedAtOnce + 1, &unique);
        for (std::size_t given = 0; given < inserted.size() && status.ok(); ++given)
          status = co_await returning.give_row(&run, inserted[given]);
        if (!status.ok()) co_return status;
        inserted.clear();
        status = co_await foreign_keys.check_some();
      }
    }
    if (paused || (status.ok() && run.work.due())) status = co_await run.take_turn();
    if (status.ok() && !paused && run.long_values.work_is_due()) status = co_await write_long_values(&run);
    if (!status.ok()) co_return status;
  }
  co_return co_await foreign_keys.finish();
}

reactor::Task<Status> run_update(Run& run, const UpdatePlan& plan) {
  ForeignKeyChecks foreign_keys(run, plan.foreign_keys.get());
  RowChange change{plan.source,  plan.joined.get(),
                   &plan,        Returning(plan.returning),
                   foreign_keys, UniqueChecks(run, plan.source.table, &plan)};
  co_return co_await change_rows(run, &change);
}

reactor::Task<Status> run_delete(Run& run, const DeletePlan& plan) {
  ForeignKeyChecks foreign_keys(run, plan.foreign_keys.get());
  RowChange change{plan.source, plan.joined.get(), nullptr, Returning(plan.returning), foreign_keys, {}};
  co_return co_await change_rows(run, &change);
}

reactor::Task<Status> run_truncate(Run& run, const TruncatePlan& plan) {
  for (const std::string& table : plan.cascades)
    run.waiting.show_message(run.sink, "NOTICE", "", "truncate cascades to table \"" + table + "\"");
  std::vector<std::string> restarted;
  for (const DeletePlan& table : plan.tables) {
    for (const layout::Column& column : table.source.table->schema.columns()) {
      std::optional<SequenceDefault> filled = owned_sequence_of(column);
      if (plan.restarts_sequences && filled) restarted.push_back(std::move(filled->name));
    }
  }
  if (Status status = run.waiting.check_sequence_owners(restarted); !status.ok()) co_return status;
  for (const DeletePlan& table : plan.tables) {
    Status status = co_await run_delete(run, table);
    if (!status.ok()) co_return status;
  }
  if (restarted.empty()) co_return Status();
  co_return co_await run.waiting.restart_sequences(std::move(restarted));
}

}  // namespace namdb::sql
