#include "compute/sql/execute/foreign_keys.h"

#include <string>
#include <utility>

#include "common/layout/long_value.h"
#include "compute/sql/catalog/definition_text.h"
#include "compute/sql/execute/changed_rows.h"
#include "compute/sql/execute/long_value_rows.h"
#include "compute/sql/execute/write_row.h"
#include "compute/sql/expression/expression.h"
#include "compute/sql/syntax/error_fields.h"
#include "compute/sql/value/value_format.h"

namespace namdb::sql {
namespace {

using storage::ForeignKeyAction;

// "(a, b)=(1, 2)".
std::string shown_key(const layout::Schema& schema, const std::vector<std::uint32_t>& columns,
                      std::span<const Datum> values) {
  std::string names;
  std::string texts;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const layout::Column& column = schema.columns()[columns[i]];
    names += (i == 0 ? "" : ", ") + quoted_name(column.name);
    if (i != 0) texts += ", ";
    append_text(texts, column_type(column), values[i]);
  }
  return "(" + names + ")=(" + texts + ")";
}

// Adds those of a row that has these values in its columns.
Status add_values(Run& run, const layout::Schema& schema, const std::vector<std::uint32_t>& columns,
                  std::span<const Datum> values, ForeignKeyValues& to) {
  layout::Row row(schema);
  layout::RowWriter writer = row.writer();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (Status status = store_value(writer, columns[i], values[i]); !status.ok()) return status;
  }
  return to.add(run, row.view(), columns, nullptr);
}

}  // namespace

ForeignKeyChecks::ForeignKeyChecks(Run& run, const ForeignKeyGraph* graph)
    : run_(run), graph_(graph), memory_("foreign keys can keep", "change the rows in parts") {
  if (graph == nullptr) return;
  children_.resize(graph->references.size());
  removed_.resize(graph->references.size());
  changed_.resize(graph->references.size());
}

void ForeignKeyChecks::describe(const Reference& reference) const {
  describe_constraint(graph_->tables[reference.child].table->name, reference.key.name, run_.error);
}

Status ForeignKeyChecks::missing_parent(const Reference& reference, std::span<const Datum> values) {
  const storage::Table& child = *graph_->tables[reference.child].table;
  describe(reference);
  run_.error.detail = "Key " + shown_key(child.schema, reference.columns, values) +
                      " is not present in table \"" + graph_->tables[reference.parent].table->name + "\".";
  return Status(ErrorCode::foreign_key_violation, "insert or update on table \"" + child.name +
                                                      "\" violates foreign key constraint \"" +
                                                      reference.key.name + "\"");
}

Status ForeignKeyChecks::has_child(const Reference& reference, std::span<const Datum> values) {
  const storage::Table& parent = *graph_->tables[reference.parent].table;
  const std::string& child = graph_->tables[reference.child].table->name;
  describe(reference);
  run_.error.detail = "Key " + shown_key(parent.schema, reference.referenced, values) +
                      " is still referenced from table \"" + child + "\".";
  return Status(ErrorCode::foreign_key_violation, "update or delete on table \"" + parent.name +
                                                      "\" violates foreign key constraint \"" +
                                                      reference.key.name + "\" on table \"" + child + "\"");
}

Status ForeignKeyChecks::note_child(std::size_t position, const layout::RowView& row) {
  const Reference& reference = graph_->references[position];
  const std::size_t nulls = count_nulls(row, reference.columns);
  if (nulls != 0 && (!reference.key.match_full || nulls == reference.columns.size())) return {};
  if (nulls != 0) {
    const std::string& child = graph_->tables[reference.child].table->name;
    describe(reference);
    run_.error.detail = "MATCH FULL does not allow mixing of null and nonnull key values.";
    return Status(ErrorCode::foreign_key_violation, "insert or update on table \"" + child +
                                                        "\" violates foreign key constraint \"" +
                                                        reference.key.name + "\"");
  }
  if (children_[position] == nullptr) children_[position] = std::make_unique<ForeignKeyValues>(memory_);
  return children_[position]->add(run_, row, reference.columns, nullptr);
}

Status ForeignKeyChecks::note_child_row(std::size_t table, const layout::RowView& row) {
  for (const std::size_t reference : graph_->tables[table].references) {
    if (Status status = note_child(reference, row); !status.ok()) return status;
  }
  return {};
}

Status ForeignKeyChecks::note_parent(std::size_t position, Change change, const layout::RowView& before,
                                     const layout::RowView* after) {
  const Reference& reference = graph_->references[position];
  if (count_nulls(before, reference.referenced) != 0) return {};
  auto& values = (change == Change::removed ? removed_ : changed_)[position];
  if (values == nullptr) values = std::make_unique<ForeignKeyValues>(memory_);
  return values->add(run_, before, reference.referenced, after);
}

Status ForeignKeyChecks::note_change(std::size_t table, const layout::RowView& before,
                                     const layout::RowView& after) {
  for (const std::size_t reference : graph_->tables[table].references) {
    if (!differ(run_, before, after, graph_->references[reference].columns)) continue;
    if (Status status = note_child(reference, after); !status.ok()) return status;
  }
  for (const std::size_t reference : graph_->tables[table].referencing) {
    if (!differ(run_, before, after, graph_->references[reference].referenced)) continue;
    if (Status status = note_parent(reference, Change::changed, before, &after); !status.ok()) return status;
  }
  return {};
}

Status ForeignKeyChecks::note_removal(std::size_t table, const layout::RowView& row) {
  for (const std::size_t reference : graph_->tables[table].referencing) {
    if (Status status = note_parent(reference, Change::removed, row, nullptr); !status.ok()) return status;
  }
  return {};
}

void ForeignKeyChecks::queue_noted() {
  for (std::size_t i = 0; i < graph_->references.size(); ++i) {
    if (removed_[i] != nullptr) events_.push_back({i, Change::removed, std::move(removed_[i])});
    if (changed_[i] != nullptr) events_.push_back({i, Change::changed, std::move(changed_[i])});
  }
}

reactor::Task<Status> ForeignKeyChecks::check_some() {
  if (graph_ == nullptr) co_return Status();
  for (std::size_t i = 0; i < children_.size(); ++i) {
    const bool may_come = graph_->is_self_reference(graph_->references[i]);
    if (children_[i] == nullptr || may_come || children_[i]->size() < kForeignKeysAtOnce) continue;
    Status status = co_await check_parents(i);
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

reactor::Task<Status> ForeignKeyChecks::finish() {
  if (graph_ == nullptr) co_return Status();
  while (true) {
    queue_noted();
    if (!events_.empty()) {
      Event event = std::move(events_.front());
      events_.pop_front();
      Status status = co_await take_event(&event);
      if (!status.ok()) co_return status;
      continue;
    }
    for (std::size_t i = 0; i < children_.size(); ++i) {
      if (children_[i] == nullptr) continue;
      Status status = co_await check_parents(i);
      if (!status.ok()) co_return status;
    }
    co_return Status();
  }
}

// Where transactions are serializable, a parent that was read is enough: one that deletes it has read that it
// has no children. Unless it does not know of the foreign key.
reactor::Task<Status> ForeignKeyChecks::check_parents(std::size_t position) {
  const Reference& reference = graph_->references[position];
  const std::unique_ptr<ForeignKeyValues> values = std::move(children_[position]);
  const bool hold = !run_.engine.serializable() || reference.key.unsettled;
  std::vector<std::optional<txn::RowId>> parents;
  for (std::size_t first = 0; first < values->size(); first += kForeignKeysAtOnce) {
    Status status = run_.interrupt.check();
    if (!status.ok()) co_return status;
    status = co_await find_parents(&run_, graph_, &reference, values.get(), first, hold, &parents);
    if (!status.ok()) co_return status;
    for (std::size_t i = 0; i < parents.size(); ++i) {
      if (parents[i]) continue;
      if (defers(reference)) {
        status = defer(reference, DeferredForeignKeys::Kind::children, (*values)[first + i]);
        if (!status.ok()) co_return status;
        continue;
      }
      status = missing_parent(reference, (*values)[first + i]);
      co_return co_await txn::confirm_error(run_.transaction, std::move(status));
    }
  }
  co_return Status();
}

reactor::Task<Status> ForeignKeyChecks::check_orphans(Run* run, const ForeignKeyGraph* graph,
                                                      const Reference* reference,
                                                      std::span<const Datum> values) {
  ForeignKeyChecks checks(*run, graph);
  ForeignKeyValues wanted(checks.memory_);
  const layout::Schema& schema = graph->tables[reference->child].table->schema;
  Status status = add_values(*run, schema, reference->columns, values, wanted);
  if (!status.ok()) co_return status;
  std::vector<FoundChild> children;
  status = co_await find_children(run, graph, reference, &wanted, true, &children);
  if (!status.ok() || children.empty()) co_return status;
  status = checks.missing_parent(*reference, values);
  co_return co_await txn::confirm_error(run->transaction, std::move(status));
}

bool ForeignKeyChecks::defers(const Reference& reference) const {
  return run_.deferred != nullptr && run_.deferred->defers(reference.key);
}

Status ForeignKeyChecks::defer(const Reference& reference, DeferredForeignKeys::Kind kind,
                               std::span<const Datum> values) {
  return run_.deferred->note(run_, *graph_, reference, kind, values);
}

reactor::Task<Status> ForeignKeyChecks::check_deferred(Run* run, const ForeignKeyGraph* graph,
                                                       const Reference* reference,
                                                       const DeferredForeignKeys::Pending* pending) {
  ForeignKeyChecks checks(*run, graph);
  const bool of_parents = pending->kind == DeferredForeignKeys::Kind::parents;
  const bool hold = !of_parents && (!run->engine.serializable() || reference->key.unsettled);
  const storage::Table& table = *graph->tables[of_parents ? reference->parent : reference->child].table;
  const std::vector<std::uint32_t>& columns = of_parents ? reference->referenced : reference->columns;
  std::vector<std::optional<txn::RowId>> parents;
  for (std::size_t first = 0; first < pending->values->size(); first += kForeignKeysAtOnce) {
    Status status = run->interrupt.check();
    if (!status.ok()) co_return status;
    status = co_await find_parents(run, graph, reference, pending->values.get(), first, hold, &parents);
    if (!status.ok()) co_return status;
    ForeignKeyValues missing(checks.memory_);
    for (std::size_t i = 0; i < parents.size(); ++i) {
      if (!parents[i])
        status = add_values(*run, table.schema, columns, (*pending->values)[first + i], missing);
      if (!status.ok()) co_return status;
    }
    std::vector<FoundChild> children;
    if (missing.size() != 0)
      status = co_await find_children(run, graph, reference, &missing, true, &children);
    if (!status.ok()) co_return status;
    if (children.empty()) continue;
    const std::span<const Datum> values = missing[children.front().value];
    status = of_parents ? checks.has_child(*reference, values) : checks.missing_parent(*reference, values);
    co_return co_await txn::confirm_error(run->transaction, std::move(status));
  }
  co_return Status();
}

reactor::Task<Status> ForeignKeyChecks::drop_existing(Event* event) {
  const Reference& reference = graph_->references[event->reference];
  const storage::Table& parent = *graph_->tables[reference.parent].table;
  auto gone = std::make_unique<ForeignKeyValues>(memory_);
  std::vector<std::optional<txn::RowId>> parents;
  for (std::size_t first = 0; first < event->values->size(); first += kForeignKeysAtOnce) {
    Status status =
        co_await find_parents(&run_, graph_, &reference, event->values.get(), first, false, &parents);
    if (!status.ok()) co_return status;
    for (std::size_t i = 0; i < parents.size(); ++i) {
      if (!parents[i])
        status = add_values(run_, parent.schema, reference.referenced, (*event->values)[first + i], *gone);
      if (!status.ok()) co_return status;
    }
  }
  event->values = std::move(gone);
  co_return Status();
}

reactor::Task<Status> ForeignKeyChecks::take_event(Event* event) {
  const Reference& reference = graph_->references[event->reference];
  const ForeignKeyAction action =
      event->change == Change::removed ? reference.key.on_delete : reference.key.on_update;
  Status status = run_.interrupt.check();
  if (!status.ok()) co_return status;
  if (action == ForeignKeyAction::no_action || action == ForeignKeyAction::restricted)
    co_return co_await check_unreferenced(event, action == ForeignKeyAction::no_action);
  std::vector<FoundChild> children;
  status = co_await find_children(&run_, graph_, &reference, event->values.get(), false, &children);
  if (!status.ok()) co_return status;
  for (const FoundChild& child : children) {
    status = check_changed_rows(changed_rows_++);
    run_.work.charge(Work::kWrittenRow_units);
    if (status.ok() && event->change == Change::removed && action == ForeignKeyAction::cascade) {
      status = note_removal(reference.child, run_.transaction->row(child.row));
      if (status.ok()) run_.long_values.note_gone(run_.transaction->row(child.row));
      if (status.ok()) run_.transaction->erase(child.row);
    } else if (status.ok()) {
      status = co_await change_child(event, child);
    }
    if (status.ok() && run_.work.due()) status = co_await run_.take_turn();
    if (!status.ok()) co_return status;
  }
  // The default may be the value that went.
  if (action == ForeignKeyAction::set_default) co_return co_await check_unreferenced(event, true);
  co_return Status();
}

reactor::Task<Status> ForeignKeyChecks::check_unreferenced(Event* event, bool may_exist) {
  const Reference& reference = graph_->references[event->reference];
  Status status;
  if (may_exist) status = co_await drop_existing(event);
  if (may_exist && defers(reference)) {
    for (std::size_t i = 0; i < event->values->size() && status.ok(); ++i)
      status = defer(reference, DeferredForeignKeys::Kind::parents, (*event->values)[i]);
    co_return status;
  }
  std::vector<FoundChild> children;
  if (status.ok() && event->values->size() != 0)
    status = co_await find_children(&run_, graph_, &reference, event->values.get(), true, &children);
  if (!status.ok() || children.empty()) co_return status;
  status = has_child(reference, (*event->values)[children.front().value]);
  co_return co_await txn::confirm_error(run_.transaction, std::move(status));
}

Status ForeignKeyChecks::set_columns(const Event& event, const FoundChild& child, layout::RowWriter writer) {
  const Reference& reference = graph_->references[event.reference];
  const Table& table = graph_->tables[reference.child];
  const ForeignKeyAction action =
      event.change == Change::removed ? reference.key.on_delete : reference.key.on_update;
  for (std::size_t i = 0; i < reference.columns.size(); ++i) {
    const std::uint32_t column = reference.columns[i];
    Datum value;
    if (action == ForeignKeyAction::cascade) {
      value = event.values->others(child.value)[i];
    } else if (action == ForeignKeyAction::set_default && table.defaults[column] != nullptr) {
      if (Status status = evaluate(*table.defaults[column], run_.context(), value); !status.ok())
        return status;
    }
    if (Status status = store_value(writer, column, value); !status.ok()) return status;
  }
  return {};
}

reactor::Task<Status> ForeignKeyChecks::change_child(const Event* event, FoundChild child) {
  const Table& table = graph_->tables[graph_->references[event->reference].child];
  const layout::RowView current = run_.transaction->row(child.row);
  const layout::Row before(table.table->schema, current.bytes());
  layout::Row after(table.table->schema, current.bytes());
  const auto make = [&] {
    Status set = set_columns(*event, child, after.writer());
    return set.ok() ? generate_columns(run_, *table.table, table.checks, after.writer()) : set;
  };
  Status status = make();
  if (run_.work.paused()) status = co_await run_.resume(make);
  if (!status.ok()) co_return status;
  status = check_not_null(after.view(), *table.table, run_.error, &run_.long_values);
  if (!status.ok()) co_return status;
  if (!std::ranges::equal(before.key(), after.key()))
    co_return Status(ErrorCode::feature_not_supported,
                     "an action of a foreign key that changes the primary key of table \"" +
                         table.table->name + "\" is not supported");
  const layout::RowView row = after.view();
  const auto check = [&] { return check_conditions(run_, *table.table, table.checks, row); };
  status = check();
  if (run_.work.paused()) status = co_await run_.resume(check);
  if (!status.ok()) co_return status;
  layout::RowWriter writer = run_.transaction->update(child.row);
  Arena arena;
  for (const std::uint32_t column : graph_->references[event->reference].columns) {
    Datum value;
    read_column(row, column, arena, value);
    if (!table.table->schema.is_key_column(column)) status = store_value(writer, column, value);
    if (!status.ok()) co_return status;
  }
  for (const CheckCondition& generation : table.checks) {
    if (!generation.generated) break;
    if (layout::is_long(before.view(), *generation.generated))
      run_.long_values.note_gone(layout::long_value_place(before.view(), *generation.generated));
    Datum value;
    read_column(row, *generation.generated, arena, value);
    status = store_or_place(writer, *generation.generated, value);
    if (!status.ok()) co_return status;
  }
  run_.long_values.note_written(row);
  run_.next_row();
  co_return note_change(graph_->references[event->reference].child, before.view(), row);
}

}  // namespace namdb::sql
