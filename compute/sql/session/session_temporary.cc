// Temporary tables in the catalog: of the session alone, and gone with it. Those of servers that have ended
// are dropped when a session makes its first one.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "compute/sql/catalog/temporary_name.h"
#include "compute/sql/execute/inner_sink.h"
#include "compute/sql/session/session.h"

namespace namdb::sql {

using reactor::Task;

Task<Status> Session::name_temporary(Node* statement, Json* renamed) {
  if (statement->kind.empty()) co_return Status();
  const bool makes = makes_temporary_table(*statement);
  if (temporary_.empty() && !makes) co_return Status();
  if (makes && !temporary_.may_make()) {
    Status status = co_await begin_temporary();
    if (!status.ok()) co_return status;
  }
  temporary_.look();
  Result<Json> other = with_temporary_names(*statement, temporary_);
  if (!other.ok()) co_return other.status();
  *renamed = std::move(other).value();
  statement->body = renamed;
  co_return Status();
}

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
  temporary_.begin(temporary_prefix((*lease)->slot(), session), *lease);
  co_return Status();
}

// The tables of compute servers that have died are dropped here: no other code does that.
Task<void> Session::sweep_temporary() {
  if (!temporary_.sweep_is_due() || state_ != State::idle) co_return;
  const auto tables = co_await engine_.tables();
  if (!tables.ok()) co_return;
  temporary_.end_sweep();
  // Also of those that are dropped here since their slot has ended.
  auto own = temporary_.take();
  for (const storage::TableRef& table : *tables) {
    const std::optional<std::uint32_t> slot = temporary_slot(table->name);
    if (!slot || *slot == temporary_.slot()) continue;
    const auto ended = co_await engine_.slot_ended(*slot);
    // Another session will find it.
    if (ended.ok() && *ended) co_await drop_temporary(table->name);
  }
  temporary_.give_back(std::move(own));
}

Task<void> Session::drop_temporary(std::string stored_name) {
  SilentSink silent;
  drops_are_checked_ = true;
  const Status status = co_await drop_relations(silent_drop(RelationKind::table, stored_name), silent);
  drops_are_checked_ = false;
  static_cast<void>(status);  // it is dropped later, when its slot has ended
}

Task<void> Session::drop_all_temporary() {
  std::vector<std::string> names = temporary_.stored_names();
  for (std::string& name : names) co_await drop_temporary(std::move(name));
  temporary_.give_back({});
}

Task<void> Session::end() {
  end_transaction();
  state_ = State::idle;
  SilentSink silent;
  const Status undone = co_await undo_block_ddl(silent);
  static_cast<void>(undone);  // there is no client to tell
  co_await drop_all_temporary();
}

// Rows of these tables are all the transaction's own.
Task<Status> Session::empty_temporary(txn::Transaction* transaction) {
  const std::vector<storage::TableRef> emptied = temporary_.take_emptied();
  if (emptied.empty() || !transaction->has_writes()) co_return Status();
  for (const storage::TableRef& table : engine_.cached_tables()) {
    const bool is_emptied =
        std::ranges::any_of(emptied, [&table](const auto& other) { return other->id == table->id; });
    Status status = temporary_.check_references(table->name, table->foreign_keys, is_emptied, error_.detail);
    if (!status.ok()) co_return status;
  }
  TruncatePlan truncate;
  for (const storage::TableRef& table : emptied) {
    DeletePlan& deletion = truncate.tables.emplace_back();
    deletion.source.table = table;
    deletion.source.name = table->name;
  }
  Portal scratch;
  SilentSink silent;
  Run run = make_run(transaction, scratch, silent);
  co_return co_await run_truncate(run, truncate);
}

void Session::drop_temporary_at_commit() {
  const std::vector<std::string> names = temporary_.take_dropped_at_commit();
  for (const std::string& name : names) {
    if (const storage::TableRef table = engine_.cached_table(name)) {
      block_.drop(name, {RelationKind::table, table->id});
    } else {
      temporary_.forget(name);
    }
  }
}

}  // namespace namdb::sql
