// ALTER TABLE. It takes effect at once, also in a block, whose rollback does not undo it.
#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "compute/api/table_change.h"
#include "compute/api/transaction_facts.h"
#include "compute/sql/execute/altered_rows.h"
#include "compute/sql/session/find_relation.h"
#include "compute/sql/session/long_value_keepers.h"
#include "compute/sql/session/session.h"
#include "compute/sql/value/enumeration.h"
#include "compute/sql/value/generated_column.h"
#include "compute/sql/value/sequence_default.h"

namespace namdb::sql {

using reactor::Task;

namespace {

// The columns without those of the other schema, by their sequences.
std::vector<std::string> sequences_gone(const layout::Schema& before, const layout::Schema& after) {
  std::vector<std::string> gone;
  for (const layout::Column& column : before.columns()) {
    const auto filled = owned_sequence_of(column);
    if (!filled) continue;
    const bool kept = std::ranges::any_of(after.columns(), [&](const layout::Column& other) {
      const auto same = owned_sequence_of(other);
      return same && same->name == filled->name;
    });
    if (!kept) gone.push_back(filled->name);
  }
  return gone;
}

// The first rows are asked for when the new table is in the catalog, and before it takes the place of the old
// one. `learn` is called after rows during which labels were missed; its error ends the change.
class HeldRows final : public txn::RowChange {
 public:
  using Hold = std::function<Task<Status>()>;
  using Learn = std::function<Task<Status>(const LabelWatch*)>;
  HeldRows(txn::RowChange& rows, Hold hold, Learn learn)
      : rows_(rows), hold_(std::move(hold)), learn_(std::move(learn)) {}

  Task<Status> change(const std::vector<layout::Row>* rows,
                      std::vector<std::vector<std::byte>>* changed) override {
    if (const Hold hold = std::exchange(hold_, nullptr)) {
      Status status = co_await hold();
      if (!status.ok()) co_return status;
    }
    const LabelWatch labels;
    Status status = co_await rows_.change(rows, changed);
    if (status.ok() && labels.has_missed()) status = co_await learn_(&labels);
    co_return status;
  }

 private:
  txn::RowChange& rows_;
  Hold hold_;
  Learn learn_;
};

bool same_definition(const layout::Column& left, const layout::Column& right) {
  return left.name == right.name && left.not_null == right.not_null &&
         left.default_text == right.default_text;
}

}  // namespace

Task<Status> Session::alter_table(const AlterTablePlan& plan, ResultSink& sink) {
  for (const AlterTablePlan::Notice& message : plan.notices)
    notify(sink, "NOTICE", message.sqlstate, message.message);
  if (!plan.index.empty()) co_return co_await rename_index(plan, sink);
  if (plan.table == nullptr) co_return Status();
  if (Status status = rights_.check_table_owner(*plan.table); !status.ok()) co_return status;
  if (plan.definition.name != plan.table->name) {
    if (Status status = rights_.check_may_create(); !status.ok()) co_return status;
  }
  if (state_ == State::block) {
    if (Status status = check_not_read("ALTER TABLE", *plan.table); !status.ok()) co_return status;
    if (Status status = co_await set_reads_aside("ALTER TABLE", sink); !status.ok()) co_return status;
    notify(sink, "WARNING", "01000", "ALTER TABLE takes effect at once: ROLLBACK does not undo it");
  }
  std::vector<std::string> dropped_views;
  Status status = co_await check_view_columns(&plan, &dropped_views);
  for (std::size_t i = 0; i < dropped_views.size() && status.ok(); ++i)
    status = co_await drop_view(std::move(dropped_views[i]));
  for (std::size_t i = 0; i < plan.cascaded.size() && status.ok(); ++i) {
    std::string table = plan.cascaded[i].table->name;
    std::string key = plan.cascaded[i].name;
    status = co_await drop_foreign_key(std::move(table), std::move(key));
  }
  if (!status.ok()) co_return status;
  if (plan.replaces_rows) status = co_await replace_rows(plan, sink, nullptr);
  if (!plan.replaces_rows) status = co_await change_names(plan);
  if (!status.ok()) co_return status;
  co_return co_await add_foreign_keys(plan);
}

// They are in the definition already, but not valid yet.
Task<Status> Session::add_foreign_keys(const AlterTablePlan& plan) {
  std::vector<std::string> added;
  for (const storage::ForeignKey& key : plan.definition.foreign_keys) {
    const bool is_old =
        std::ranges::count(plan.table->foreign_keys, key.name, &storage::ForeignKey::name) != 0;
    if (!is_old) added.push_back(key.name);
  }
  if (added.empty() && plan.validated.empty()) co_return Status();
  std::string table = plan.definition.name;
  std::vector<std::string> validated = plan.validated;
  Status status = co_await settle_foreign_keys(std::move(table), std::move(validated));
  if (status.ok()) co_return status;
  const ErrorFields error = error_;
  for (const std::string& name : added) {
    table = plan.definition.name;
    std::string key = name;
    static_cast<void>(
        co_await drop_foreign_key(std::move(table), std::move(key)));  // the first error tells more
  }
  error_ = error;
  co_return status;
}

Task<Status> Session::replace_rows(const AlterTablePlan& plan, ResultSink& sink,
                                   const std::string* index_name) {
  txn::TableReplacement replacement;
  replacement.table = plan.table;
  replacement.definition = plan.definition;
  replacement.indexes = plan.indexes;
  if (index_name != nullptr) replacement.indexes.back().name = *index_name;
  follow_roles();
  const std::uint32_t owner = facts_.roles->owner_of({storage::ObjectKind::table, plan.table->id, {}});
  Status status = co_await check_default_sequences(&replacement.definition.schema);
  if (!status.ok()) co_return status;
  status = co_await create_sequences(&plan.sequences, &plan.sequence_options, &replacement.definition, owner);
  if (!status.ok()) co_return status;
  const layout::Schema made = replacement.definition.schema;
  Portal scratch;
  Run run = make_run(nullptr, scratch, sink);
  AlteredRows rows(run, plan, made, [this] { return begin(); });
  const txn::TableDefinition used = replacement.definition;
  HeldRows held(
      rows, [this, &used] { return type_uses_.hold_types(&used); },
      [this](const LabelWatch* labels) { return types_.learn_labels(labels); });
  replacement.rows = &held;
  txn::Violation violation;
  replacement.violation = &violation;
  status = co_await engine_.replace_table(std::move(replacement));
  const bool came = status.ok();
  if (!came && violation.table != nullptr)
    describe_duplicates(violation, plan.table->name, violation.constraint, error_);
  if (came) note_altered(plan.table->id, plan.table->name);
  status = co_await drop_changed_sequences(std::move(status), &plan.table->schema, &made);
  const storage::TableRef replaced = engine_.cached_table(plan.table->name);
  if (came && replaced != nullptr) {
    const Status renamed = co_await rename_long_values(&engine_, plan.table->id, replaced->id);
    if (status.ok()) status = renamed;
  }
  std::vector<std::string> unused = came ? rows.take_gone() : rows.take_made();
  // Values that stay after an error go with the table.
  static_cast<void>(co_await erase_long_values(std::move(unused), sink));
  co_return status;
}

// Of the columns that are gone, or own them no more; after an error, of those that did not come.
Task<Status> Session::drop_changed_sequences(Status status, const layout::Schema* before,
                                             const layout::Schema* after) {
  std::vector<std::string> gone =
      status.ok() ? sequences_gone(*before, *after) : sequences_gone(*after, *before);
  if (gone.empty() || environment_.sequences == nullptr) co_return status;
  const Status dropped = co_await drop_and_disown(std::move(gone));
  if (status.ok()) status = dropped;
  co_return status;
}

Task<Status> Session::change_names(const AlterTablePlan& plan) {
  std::vector<std::string> added;
  Status status;
  if (plan.definition.name != plan.table->name) {
    std::string name = plan.definition.name;
    status = co_await check_no_sequence(std::move(name));
    if (!status.ok()) co_return status;
  }
  txn::TableDefinition wanted;
  wanted.schema = plan.definition.schema;
  status = co_await check_default_sequences(&wanted.schema);
  if (status.ok() && !plan.sequences.empty()) {
    follow_roles();
    const std::uint32_t owner = facts_.roles->owner_of({storage::ObjectKind::table, plan.table->id, {}});
    status = co_await create_sequences(&plan.sequences, &plan.sequence_options, &wanted, owner);
  }
  if (!status.ok()) co_return status;
  for (const txn::IndexDefinition& constraint : plan.indexes) {
    txn::IndexDefinition definition = constraint;
    txn::Violation violation;
    definition.table = plan.table->name;
    definition.violation = &violation;
    status = co_await engine_.create_index(std::move(definition));
    if (!status.ok() && status.code() == ErrorCode::duplicate_key)
      describe_duplicates(violation, plan.table->name, constraint.name, error_);
    if (!status.ok()) break;
    added.push_back(constraint.name);
  }
  const bool changed =
      plan.definition.name != plan.table->name || plan.definition.checks != plan.table->checks ||
      plan.definition.foreign_keys != plan.table->foreign_keys || !plan.index_names.empty() ||
      !std::ranges::equal(wanted.schema.columns(), plan.table->schema.columns(), same_definition);
  if (status.ok() && changed) {
    txn::TableAlteration alteration;
    alteration.table = plan.table;
    alteration.name = plan.definition.name;
    alteration.columns = wanted.schema.columns();
    alteration.checks = plan.definition.checks;
    alteration.foreign_keys = plan.definition.foreign_keys;
    alteration.index_names = plan.index_names;
    status = co_await engine_.alter_table(std::move(alteration));
  }
  // After an error what was added goes again.
  for (const std::string& name : status.ok() ? plan.dropped_constraints : added) {
    std::string constraint = name;
    const Status dropped = co_await engine_.drop_index(std::move(constraint), true);
    if (status.ok()) status = dropped;
  }
  if (status.ok()) note_altered(plan.table->id, plan.definition.name);
  co_return co_await drop_changed_sequences(std::move(status), &plan.table->schema, &wanted.schema);
}

Task<void> Session::forget_index_columns(std::string name) {
  const storage::TableRef table = engine_.cached_table(name);
  if (table == nullptr) co_return;
  txn::TableAlteration alteration;
  alteration.table = table;
  alteration.name = table->name;
  alteration.columns = table->schema.columns();
  alteration.checks = table->checks;
  alteration.foreign_keys = table->foreign_keys;
  bool changed = false;
  for (std::uint32_t i = 0; i < alteration.columns.size(); ++i) {
    layout::Column& column = alteration.columns[i];
    if (!is_index_column(column) || !column.default_text) continue;
    const bool is_used = std::ranges::any_of(table->indexes, [i](const storage::IndexRef& index) {
      return std::ranges::count(index->shape.columns(), i, &layout::IndexColumn::column) != 0;
    });
    if (!is_used) column.default_text.reset();
    changed = changed || !is_used;
  }
  if (!changed) co_return;
  // After an error they are calculated for nothing.
  static_cast<void>(co_await engine_.alter_table(std::move(alteration)));
}

Task<Status> Session::rename_index(const AlterTablePlan& plan, ResultSink& sink) {
  std::string name = plan.index;
  const Result<FoundRelation> relation = co_await find_relation(&engine_, std::move(name));
  if (!relation.ok()) co_return relation.status();
  if (relation->table == nullptr) {
    const std::string missing = "relation \"" + plan.index + "\" does not exist";
    if (!plan.if_exists) co_return Status(ErrorCode::undefined_table, missing);
    notify(sink, "NOTICE", "00000", missing + ", skipping");
    co_return Status();
  }
  if (relation->index == nullptr)
    co_return Status(ErrorCode::wrong_object_type, "\"" + plan.index + "\" is not an index");
  Status status =
      rights_.check_object_owner({storage::ObjectKind::table, relation->table->id, {}}, "index", plan.index);
  if (!status.ok()) co_return status;
  std::string wanted = plan.definition.name;
  status = co_await check_no_sequence(std::move(wanted));
  if (!status.ok()) co_return status;
  txn::TableAlteration alteration;
  alteration.table = relation->table;
  alteration.name = relation->table->name;
  alteration.columns = relation->table->schema.columns();
  alteration.checks = relation->table->checks;
  alteration.foreign_keys = relation->table->foreign_keys;
  alteration.index_names[relation->index->id] = plan.definition.name;
  co_return co_await engine_.alter_table(std::move(alteration));
}

}  // namespace namdb::sql
