// CREATE SEQUENCE, ALTER SEQUENCE and DROP SEQUENCE. They take effect at once, in blocks, too.
#include <string>
#include <utility>
#include <vector>

#include "compute/api/table_change.h"
#include "compute/sequences/sequence_definition.h"
#include "compute/sql/session/find_relation.h"
#include "compute/sql/session/session.h"
#include "compute/sql/value/sequence_default.h"

namespace namdb::sql {

using reactor::Task;

namespace {

constexpr std::uint32_t kAlterAttempts = 16;

std::string in_quotes(const std::string& name) {
  return "\"" + name + "\"";
}

// The column that the sequence fills; empty: none.
std::string filled_column(std::span<const storage::TableRef> tables, const std::string& sequence) {
  for (const storage::TableRef& table : tables) {
    for (const layout::Column& column : table->schema.columns()) {
      const auto filled = sequence_default_of(column);
      if (filled && filled->name == sequence) return "column " + column.name + " of table " + table->name;
    }
  }
  return {};
}

}  // namespace

Task<Status> Session::change_sequences(const SequencePlan& plan, std::string_view tag, ResultSink& sink) {
  if (environment_.sequences == nullptr)
    co_return Status(ErrorCode::feature_not_supported, "there are no sequences here");
  if (state_ == State::block)
    notify(sink, "WARNING", "01000", std::string(tag) + " takes effect at once: ROLLBACK does not undo it");
  if (plan.command == SequenceCommand::create) {
    Status status = rights_.check_may_create();
    if (!status.ok()) co_return status;
    co_return co_await create_sequence(plan, sink);
  }
  std::vector<std::string> there;
  for (const std::string& name : plan.names) {
    std::string wanted = name;
    const auto found = co_await environment_.sequences->exists(std::move(wanted));
    if (!found.ok()) co_return found.status();
    if (*found) {
      Status status = rights_.check_object_owner({storage::ObjectKind::sequence, 0, name}, "sequence", name);
      if (!status.ok()) co_return status;
      there.push_back(name);
      continue;
    }
    Status missing = co_await missing_sequence(&engine_, name, plan.command);
    if (missing.code() != ErrorCode::undefined_table || !plan.is_conditional) co_return missing;
    const std::string_view kind = plan.command == SequenceCommand::alter ? "relation " : "sequence ";
    notify(sink, "NOTICE", "00000", std::string(kind) + in_quotes(name) + " does not exist, skipping");
  }
  if (there.empty()) co_return Status();
  if (plan.command == SequenceCommand::alter) {
    std::string name = there.front();
    Status status = co_await environment_.sequences->alter(std::move(there.front()), plan.change);
    if (!status.ok() || !plan.owner) co_return status;
    SequencePlan::Owner owner = *plan.owner;
    co_return co_await change_sequence_owner(std::move(name), std::move(owner), sink);
  }
  auto tables = co_await engine_.tables();
  if (!tables.ok()) co_return tables.status();
  std::erase_if(*tables,
                [this](const storage::TableRef& table) { return block_.dropped.contains(table->name); });
  for (const std::string& name : there) {
    const std::string column = filled_column(*tables, name);
    if (column.empty()) continue;
    error_.detail = "default value for " + column + " depends on sequence " + name;
    co_return Status(ErrorCode::dependent_objects_still_exist,
                     "cannot drop sequence " + name + " because other objects depend on it",
                     "Use DROP ... CASCADE to drop the dependent objects too.");
  }
  for (const std::string& name : there) sequence_values_.forget(name);
  for (const std::string& name : there) {
    std::string own = name;
    SequencePlan::Owner none;
    Status status = co_await change_sequence_owner(std::move(own), std::move(none), sink);
    if (!status.ok()) co_return status;
  }
  co_return co_await drop_and_disown(std::move(there));
}

Task<Status> Session::create_sequence(const SequencePlan& plan, ResultSink& sink) {
  const std::string& name = plan.names.front();
  std::string wanted = name;
  const auto relation = co_await find_relation(&engine_, std::move(wanted));
  if (!relation.ok()) co_return relation.status();
  Status status;
  if (relation->table != nullptr)
    status = Status(ErrorCode::duplicate_table, "relation " + in_quotes(name) + " already exists");
  if (status.ok()) {
    const auto definition = txn::apply_change({}, plan.change, /*is_new=*/true);
    if (!definition.ok()) co_return definition.status();
    wanted = name;
    status = co_await environment_.sequences->create(std::move(wanted), *definition);
    if (status.ok()) {
      wanted = name;
      status = co_await own_sequence(std::move(wanted), rights_.owner_of_new());
    }
    if (status.ok() && plan.owner) {
      wanted = name;
      SequencePlan::Owner owner = *plan.owner;
      status = co_await change_sequence_owner(std::move(wanted), std::move(owner), sink);
      if (!status.ok()) {
        std::vector<std::string> gone(1, name);
        static_cast<void>(
            co_await environment_.sequences->drop(std::move(gone)));  // the first error tells more
        gone.assign(1, name);
        static_cast<void>(co_await disown_sequences(std::move(gone)));
      }
    }
  }
  if (!status.ok() && status.code() == ErrorCode::duplicate_table && plan.is_conditional) {
    notify(sink, "NOTICE", "42P07", "relation " + in_quotes(name) + " already exists, skipping");
    co_return Status();
  }
  co_return status;
}

// The column's default in the catalog says that it owns the sequence (compute/sql/value/sequence_default.h).
Task<Status> Session::change_sequence_owner(std::string sequence, SequencePlan::Owner owner,
                                            ResultSink& sink) {
  const auto tables = co_await engine_.tables();
  if (!tables.ok()) co_return tables.status();
  const layout::Column* old = nullptr;
  storage::TableRef old_table;
  for (const storage::TableRef& table : *tables) {
    for (const layout::Column& column : table->schema.columns()) {
      const auto owned = owned_sequence_of(column);
      if (!owned || owned->name != sequence) continue;
      old = &column;
      old_table = table;
    }
  }
  const bool is_same = old != nullptr && owner.table == old_table->name && owner.column == old->name;
  if (is_same || (old == nullptr && owner.table.empty())) co_return Status();
  const auto before = old == nullptr ? std::nullopt : owned_sequence_of(*old);
  if (before && before->is_identity()) {
    error_.detail = "Sequence \"" + sequence + "\" is linked to table \"" + old_table->name + "\".";
    co_return Status(ErrorCode::feature_not_supported, "cannot change ownership of identity sequence");
  }
  std::optional<std::string> text;
  if (!owner.table.empty()) {
    std::string name = owner.table;
    const auto found = co_await engine_.table(std::move(name));
    if (!found.ok() && found.status().code() != ErrorCode::undefined_table) co_return found.status();
    if (!found.ok())
      co_return Status(ErrorCode::undefined_table, "relation " + in_quotes(owner.table) + " does not exist");
    if (Status status = rights_.check_table_owner(**found); !status.ok()) co_return status;
    const auto position = (*found)->schema.find(owner.column);
    if (!position) {
      co_return Status(ErrorCode::undefined_column, "column " + in_quotes(owner.column) + " of relation " +
                                                        in_quotes(owner.table) + " does not exist");
    }
    const layout::Column& column = (*found)->schema.columns()[*position];
    const auto filled = sequence_default_of(column);
    const bool fills = filled && filled->name == sequence;
    if (owned_sequence_of(column) || (has_default(column) && !fills) || column.is_string()) {
      co_return Status(ErrorCode::feature_not_supported,
                       "OWNED BY a column with another default or another sequence is not supported");
    }
    text = sequence_default_text(
        {sequence, fills ? SequenceDefault::Kind::serial : SequenceDefault::Kind::owned});
    if (state_ == State::block) {
      if (Status status = check_not_read("ALTER SEQUENCE", **found); !status.ok()) co_return status;
      Status status = co_await set_reads_aside("ALTER SEQUENCE ... OWNED BY", sink);
      if (!status.ok()) co_return status;
    }
  }
  Status status;
  if (before) {
    std::optional<std::string> left;
    if (before->kind == SequenceDefault::Kind::serial)
      left = sequence_default_text({sequence, SequenceDefault::Kind::reference});
    std::string table = old_table->name;
    std::string column = old->name;
    status = co_await change_default(std::move(table), std::move(column), std::move(left));
  }
  if (status.ok() && text)
    status = co_await change_default(std::move(owner.table), std::move(owner.column), std::move(text));
  co_return status;
}

Task<Status> Session::change_default(std::string table, std::string column, std::optional<std::string> text) {
  for (std::uint32_t attempt = 1;; ++attempt) {
    std::string name = table;
    const auto found = co_await engine_.table(std::move(name));
    if (!found.ok()) co_return found.status();
    const auto position = (*found)->schema.find(column);
    if (!position) co_return Status();
    txn::TableAlteration alteration;
    alteration.table = *found;
    alteration.name = (*found)->name;
    alteration.columns = (*found)->schema.columns();
    alteration.checks = (*found)->checks;
    alteration.foreign_keys = (*found)->foreign_keys;
    alteration.columns[*position].default_text = text;
    Status status = co_await engine_.alter_table(std::move(alteration));
    if (status.ok() || status.code() != ErrorCode::table_is_altered || attempt == kAlterAttempts)
      co_return status;
    status = interrupt_.check();
    if (!status.ok()) co_return status;
    co_await engine_.backoff(attempt);
    const auto refreshed = co_await engine_.tables();
    if (!refreshed.ok()) co_return refreshed.status();
  }
}

}  // namespace namdb::sql
