// Temporary tables: of the session alone, and gone with it. They are also gone when the execution slot in
// their names has ended, as it does when the worker loses its connection to the memory servers: any session
// may drop them then. The session keeps their names until it drops them itself. A statement that names one
// that is gone has no table then, instead of a permanent one of the same name.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "compute/sql/catalog/temporary_name.h"
#include "compute/sql/execute/inner_sink.h"
#include "compute/sql/session/session.h"

namespace namdb::sql {

using reactor::Task;

namespace {

bool has_index_named(const storage::Table& table, std::string_view name) {
  return std::ranges::any_of(table.indexes, [name](const storage::IndexRef& index) {
    return without_prefix(index->name) == name && !index->replaced();
  });
}

}  // namespace

bool Session::has_table(std::string_view name) const {
  const std::string stored = temporary_prefix_ + std::string(name);
  if (dropped_in_block_.contains(stored)) return false;
  const auto own = temporary_tables_.find(name);
  if (own != temporary_tables_.end() && !own->second.dropped_in_block) return true;
  return engine_.cached_table(stored) != nullptr;
}

bool Session::has_index(std::string_view name) const {
  if (dropped_in_block_.contains(temporary_prefix_ + std::string(name))) return false;
  for (const storage::TableRef& table : engine_.cached_tables()) {
    if (!table->name.starts_with(temporary_prefix_) || dropped_in_block_.contains(table->name)) continue;
    if (has_index_named(*table, name)) return true;
  }
  return std::ranges::any_of(temporary_tables_, [&](const auto& entry) {
    const TemporaryTable& table = entry.second;
    return is_gone(table) && !table.dropped_in_block && !dropped_in_block_.contains(table.stored_name) &&
           table.seen != nullptr && has_index_named(*table.seen, name);
  });
}

bool Session::is_gone(const TemporaryTable& table) const {
  return !table.stored_name.starts_with(temporary_prefix_) ||
         engine_.cached_table(table.stored_name) == nullptr;
}

void Session::note_temporary(const std::string& stored_name) {
  if (temporary_prefix_.empty() || !stored_name.starts_with(temporary_prefix_)) return;
  temporary_tables_.insert_or_assign(std::string(without_prefix(stored_name)),
                                     TemporaryTable{stored_name, engine_.cached_table(stored_name)});
}

void Session::forget_temporary(const std::string& stored_name) {
  std::erase(temporary_of_block_, stored_name);
  const auto own = temporary_tables_.find(without_prefix(stored_name));
  if (own == temporary_tables_.end()) return;
  // The statement that drops a table that is gone names it by the prefix of now.
  const bool is_named = stored_name.starts_with(temporary_prefix_) && is_gone(own->second);
  if (own->second.stored_name == stored_name || is_named) temporary_tables_.erase(own);
}

void Session::forget_gone_in_block(const std::string& stored_name) {
  const auto own = temporary_tables_.find(without_prefix(stored_name));
  if (own != temporary_tables_.end() && is_temporary(stored_name)) own->second.dropped_in_block = true;
}

void Session::restore_gone_of_block() {
  for (auto& [name, table] : temporary_tables_) table.dropped_in_block = false;
}

Task<Status> Session::name_temporary(Node* statement, Json* renamed) {
  if (statement->kind.empty()) co_return Status();
  const bool makes = makes_temporary_table(*statement);
  if (temporary_prefix_.empty() && !makes) co_return Status();
  // Under a slot that has ended, others would drop the new one.
  if (temporary_prefix_.empty() || (makes && temporary_lease_->ended())) {
    Status status = co_await begin_temporary();
    if (!status.ok()) co_return status;
  }
  for (auto& [name, table] : temporary_tables_) {
    if (storage::TableRef there = engine_.cached_table(table.stored_name)) table.seen = std::move(there);
  }
  Result<Json> other = with_temporary_names(*statement, *this);
  if (!other.ok()) co_return other.status();
  *renamed = std::move(other).value();
  statement->body = renamed;
  co_return Status();
}

// The tables of compute servers that have died are dropped here: nobody else would.
Task<Status> Session::begin_temporary() {
  txn::NamedLocks* const locks = environment_.locks;
  Result<std::shared_ptr<const txn::SlotLease>> lease = std::shared_ptr<const txn::SlotLease>();
  if (locks == nullptr) {
    lease = co_await engine_.lease_slot();
  } else {
    // The worker's sessions share the slot of their locks: memory servers bound the slots of a connection.
    lease = co_await locks->lease();
  }
  if (!lease.ok()) co_return lease.status();
  const auto session =
      static_cast<std::uint64_t>(locks == nullptr ? facts_.process_id : locks->draw_holder());
  temporary_prefix_ = temporary_prefix((*lease)->slot(), session);
  temporary_lease_ = *lease;
  if (state_ == State::block) co_return Status();
  const auto tables = co_await engine_.tables();
  if (!tables.ok()) co_return tables.status();
  // Also of those that are dropped here since their slot has ended.
  auto own = std::exchange(temporary_tables_, {});
  for (const storage::TableRef& table : *tables) {
    const std::optional<std::uint32_t> slot = temporary_slot(table->name);
    if (!slot || *slot == (*lease)->slot()) continue;
    const auto ended = co_await engine_.slot_ended(*slot);
    // Another attempt will find it.
    if (ended.ok() && *ended) co_await drop_temporary(table->name);
  }
  temporary_tables_ = std::move(own);
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
  temporary_tables_.clear();
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
    if (const storage::TableRef table = engine_.cached_table(name)) {
      dropped_in_block_.emplace(name, DroppedInBlock{RelationKind::table, table->id});
    } else {
      forget_temporary(name);
    }
  }
}

}  // namespace namdb::sql
