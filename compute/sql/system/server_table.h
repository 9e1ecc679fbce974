// The tables that only the server writes, as errors tell of them.
#pragma once

#include <array>
#include <string_view>

#include "compute/api/server_table.h"
#include "compute/api/table.h"

namespace namdb::sql {

struct ServerTable {
  std::string_view name;
  std::string_view kept;       // what it is for
  std::string_view made_with;  // when the server makes it
  std::string_view changed_by;
};

inline constexpr std::array kServerTables = {
    ServerTable{storage::kTransactionsTable, "the outcomes of transactions", "the first namdb_txid()",
                "namdb_txid() adds the transaction's row"},
    ServerTable{storage::kSequencesTable, "the sequences", "the first sequence",
                "setval() sets a sequence's next number"},
    ServerTable{txn::kLocksTable, "the locks of sessions", "the first pg_advisory_lock()",
                "pg_advisory_lock() and pg_advisory_unlock() do"},
    ServerTable{txn::kLockSharesTable, "the locks that sessions share", "the first pg_advisory_lock_shared()",
                "pg_advisory_lock_shared() and pg_advisory_unlock_shared() do"}};

// Null: clients may write that table.
inline const ServerTable* find_server_table(std::string_view name) {
  for (const ServerTable& table : kServerTables) {
    if (table.name == name) return &table;
  }
  return nullptr;
}

}  // namespace namdb::sql
