// CREATE SEQUENCE, ALTER SEQUENCE and DROP SEQUENCE. They take effect at once, in blocks, too.
#include <string>
#include <utility>
#include <vector>

#include "compute/sequences/sequence_definition.h"
#include "compute/sql/session/find_relation.h"
#include "compute/sql/session/session.h"
#include "compute/sql/value/sequence_default.h"

namespace namdb::sql {

using reactor::Task;

namespace {

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
    Status status = check_may_create();
    if (!status.ok()) co_return status;
    co_return co_await create_sequence(plan, sink);
  }
  std::vector<std::string> there;
  for (const std::string& name : plan.names) {
    std::string wanted = name;
    const auto found = co_await environment_.sequences->exists(std::move(wanted));
    if (!found.ok()) co_return found.status();
    if (*found) {
      Status status = check_object_owner({storage::ObjectKind::sequence, 0, name}, "sequence", name);
      if (!status.ok()) co_return status;
      there.push_back(name);
      continue;
    }
    Status missing = co_await missing_sequence(name, plan.command);
    if (missing.code() != ErrorCode::undefined_table || !plan.is_conditional) co_return missing;
    const std::string_view kind = plan.command == SequenceCommand::alter ? "relation " : "sequence ";
    notify(sink, "NOTICE", "00000", std::string(kind) + in_quotes(name) + " does not exist, skipping");
  }
  if (there.empty()) co_return Status();
  if (plan.command == SequenceCommand::alter)
    co_return co_await environment_.sequences->alter(std::move(there.front()), plan.change);
  const auto tables = co_await engine_.tables();
  if (!tables.ok()) co_return tables.status();
  for (const std::string& name : there) {
    const std::string column = filled_column(*tables, name);
    if (column.empty()) continue;
    error_.detail = "default value for " + column + " depends on sequence " + name;
    co_return Status(ErrorCode::dependent_objects_still_exist,
                     "cannot drop sequence " + name + " because other objects depend on it",
                     "Use DROP ... CASCADE to drop the dependent objects too.");
  }
  for (const std::string& name : there) sequence_values_.erase(name);
  std::vector<std::string> gone = there;
  Status status = co_await environment_.sequences->drop(std::move(there));
  if (status.ok()) status = co_await disown_sequences(std::move(gone));
  co_return status;
}

// The error of a name that is no sequence.
Task<Status> Session::missing_sequence(std::string name, SequenceCommand command) {
  std::string wanted = name;
  const auto relation = co_await find_relation(&engine_, std::move(wanted));
  if (!relation.ok()) co_return relation.status();
  if (relation->table != nullptr)
    co_return Status(ErrorCode::wrong_object_type, in_quotes(name) + " is not a sequence");
  co_return Status(
      ErrorCode::undefined_table,
      (command == SequenceCommand::alter ? "relation " : "sequence ") + in_quotes(name) + " does not exist");
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
      status = co_await own_sequence(std::move(wanted), owner_of_new());
    }
  }
  if (!status.ok() && status.code() == ErrorCode::duplicate_table && plan.is_conditional) {
    notify(sink, "NOTICE", "42P07", "relation " + in_quotes(name) + " already exists, skipping");
    co_return Status();
  }
  co_return status;
}

}  // namespace namdb::sql
