// A table that the server keeps for itself: found, or made when it is needed first, and written to.
#pragma once

#include <string>

#include "common/base/error.h"
#include "common/reactor/task.h"
#include "compute/api/engine.h"
#include "compute/api/table.h"
#include "compute/api/transaction.h"

namespace namdb::txn {

// The locks that sessions hold by name (compute/locks).
inline constexpr const char* kLocksTable = "namdb_locks";
// The sessions that share one of them.
inline constexpr const char* kLockSharesTable = "namdb_lock_shares";

// The table of that definition. Error catalog_changed while another session makes it.
inline reactor::Task<Result<storage::TableRef>> find_or_create(Engine* engine, TableDefinition definition) {
  const std::string wanted = definition.name;
  std::string name = wanted;
  auto found = co_await engine->table(std::move(name));
  if (found.ok() || found.status().code() != ErrorCode::undefined_table) co_return found;
  Status status = co_await engine->create_table(std::move(definition));
  if (!status.ok() && status.code() != ErrorCode::duplicate_table) co_return status;
  name = wanted;
  found = co_await engine->table(std::move(name));
  if (!found.ok() && found.status().code() == ErrorCode::undefined_table)
    co_return Status(ErrorCode::catalog_changed, "table \"" + wanted + "\" is being created");
  co_return found;
}

// Ends the transaction with its changes. A duplicate key that is there already is the fetch's error.
inline reactor::Task<Status> fetch_and_commit(Transaction* transaction) {
  if (Status status = co_await transaction->fetch(); !status.ok()) co_return status;
  co_return co_await transaction->commit();
}

}  // namespace namdb::txn
