// ALTER TABLE. It takes effect at once, also in a block, whose rollback does not undo it.
#include <algorithm>
#include <string>
#include <utility>

#include "compute/api/table_change.h"
#include "compute/sql/execute/altered_rows.h"
#include "compute/sql/session/find_relation.h"
#include "compute/sql/session/session.h"
#include "compute/sql/value/sequence_default.h"

namespace namdb::sql {

using reactor::Task;

namespace {

// The columns without those of the other schema, by their sequences.
std::vector<std::string> sequences_gone(const layout::Schema& before, const layout::Schema& after) {
  std::vector<std::string> gone;
  for (const layout::Column& column : before.columns()) {
    const auto filled = sequence_default_of(column);
    if (!filled) continue;
    const bool kept = std::ranges::any_of(after.columns(), [&](const layout::Column& other) {
      const auto same = sequence_default_of(other);
      return same && same->name == filled->name;
    });
    if (!kept) gone.push_back(filled->name);
  }
  return gone;
}

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
  if (state_ == State::block) {
    Status status = check_not_read("ALTER TABLE", *plan.table);
    if (status.ok()) status = co_await set_reads_aside("ALTER TABLE", sink);
    if (!status.ok()) co_return status;
    notify(sink, "WARNING", "01000", "ALTER TABLE takes effect at once: ROLLBACK does not undo it");
  }
  if (plan.replaces_rows) co_return co_await replace_rows(plan, sink);
  co_return co_await change_names(plan);
}

Task<Status> Session::replace_rows(const AlterTablePlan& plan, ResultSink& sink) {
  txn::TableReplacement replacement;
  replacement.table = plan.table;
  replacement.definition = plan.definition;
  replacement.indexes = plan.indexes;
  Status status = co_await create_sequences(&plan.sequences, &replacement.definition);
  if (!status.ok()) co_return status;
  const layout::Schema made = replacement.definition.schema;
  Portal scratch;
  Run run = make_run(nullptr, scratch, sink);
  AlteredRows rows(run, plan, made);
  replacement.rows = &rows;
  status = co_await engine_.replace_table(std::move(replacement));
  if (status.ok()) note_altered(plan.table->id, plan.table->name);
  // Of the columns that are gone; after an error, of those that did not come.
  std::vector<std::string> gone =
      status.ok() ? sequences_gone(plan.table->schema, made) : sequences_gone(made, plan.table->schema);
  if (!gone.empty() && environment_.sequences != nullptr) {
    const Status dropped = co_await environment_.sequences->drop(std::move(gone));
    if (status.ok()) status = dropped;
  }
  co_return status;
}

Task<Status> Session::change_names(const AlterTablePlan& plan) {
  std::vector<std::string> added;
  Status status;
  for (const txn::IndexDefinition& constraint : plan.indexes) {
    txn::IndexDefinition definition = constraint;
    definition.table = plan.table->name;
    status = co_await engine_.create_index(std::move(definition));
    if (!status.ok()) break;
    added.push_back(constraint.name);
  }
  const bool changed =
      plan.definition.name != plan.table->name || plan.definition.checks != plan.table->checks ||
      !plan.index_names.empty() ||
      !std::ranges::equal(plan.definition.schema.columns(), plan.table->schema.columns(), same_definition);
  if (status.ok() && changed) {
    txn::TableAlteration alteration;
    alteration.table = plan.table;
    alteration.name = plan.definition.name;
    alteration.columns = plan.definition.schema.columns();
    alteration.checks = plan.definition.checks;
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
  co_return status;
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
  txn::TableAlteration alteration;
  alteration.table = relation->table;
  alteration.name = relation->table->name;
  alteration.columns = relation->table->schema.columns();
  alteration.checks = relation->table->checks;
  alteration.index_names[relation->index->id] = plan.definition.name;
  co_return co_await engine_.alter_table(std::move(alteration));
}

}  // namespace namdb::sql
