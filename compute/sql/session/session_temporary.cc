// Temporary tables: of the session alone, and gone with it.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "compute/sql/catalog/temporary_name.h"
#include "compute/sql/execute/inner_sink.h"
#include "compute/sql/session/session.h"

namespace namdb::sql {

using reactor::Task;

bool Session::has_table(std::string_view name) const {
  const std::string stored = temporary_prefix_ + std::string(name);
  return engine_.cached_table(stored) != nullptr && !dropped_in_block_.contains(stored);
}

bool Session::has_index(std::string_view name) const {
  const std::string stored = temporary_prefix_ + std::string(name);
  if (dropped_in_block_.contains(stored)) return false;
  for (const storage::TableRef& table : engine_.cached_tables()) {
    if (!table->name.starts_with(temporary_prefix_)) continue;
    for (const storage::IndexRef& index : table->indexes) {
      if (index->name == stored && !index->replaced()) return true;
    }
  }
  return false;
}

Task<Status> Session::name_temporary(Node* statement, Json* renamed) {
  if (statement->kind.empty()) co_return Status();
  if (temporary_prefix_.empty()) {
    if (!makes_temporary_table(*statement)) co_return Status();
    Status status = co_await begin_temporary();
    if (!status.ok()) co_return status;
  }
  Result<Json> other = with_temporary_names(*statement, *this);
  if (!other.ok()) co_return other.status();
  *renamed = std::move(other).value();
  statement->body = renamed;
  co_return Status();
}

// The tables of compute servers that have died are dropped here: nobody else would.
Task<Status> Session::begin_temporary() {
  const auto lease = co_await engine_.lease_slot();
  if (!lease.ok()) co_return lease.status();
  const auto session = static_cast<std::uint32_t>(
      environment_.locks == nullptr ? facts_.process_id : environment_.locks->draw_holder());
  temporary_prefix_ = temporary_prefix((*lease)->slot(), session);
  temporary_lease_ = *lease;
  if (state_ == State::block) co_return Status();
  const auto tables = co_await engine_.tables();
  if (!tables.ok()) co_return tables.status();
  for (const storage::TableRef& table : *tables) {
    const std::optional<std::uint32_t> slot = temporary_slot(table->name);
    if (!slot || *slot == (*lease)->slot()) continue;
    const auto ended = co_await engine_.slot_ended(*slot);
    // Another attempt will find it.
    if (ended.ok() && *ended) co_await drop_temporary(table->name);
  }
  co_return Status();
}

Task<void> Session::drop_temporary(std::string stored_name) {
  SilentSink silent;
  drops_are_checked_ = true;
  const Status status = co_await drop_relations(silent_drop(RelationKind::table, stored_name), silent);
  drops_are_checked_ = false;
  static_cast<void>(status);  // it is dropped later, when its slot has ended
}

Task<void> Session::drop_all_temporary() {
  if (temporary_prefix_.empty()) co_return;
  std::vector<std::string> names;
  for (const storage::TableRef& table : engine_.cached_tables()) {
    if (table->name.starts_with(temporary_prefix_) && table->replaces == 0) names.push_back(table->name);
  }
  for (std::string& name : names) co_await drop_temporary(std::move(name));
}

Task<void> Session::end() {
  end_transaction();
  state_ = State::idle;
  SilentSink silent;
  const Status undone = co_await undo_block_ddl(silent);
  static_cast<void>(undone);  // there is nobody to tell
  co_await drop_all_temporary();
}

void Session::drop_temporary_at_commit() {
  for (const std::string& name : std::exchange(temporary_of_block_, {})) {
    if (const storage::TableRef table = engine_.cached_table(name))
      dropped_in_block_.emplace(name, DroppedInBlock{RelationKind::table, table->id});
  }
}

}  // namespace namdb::sql
