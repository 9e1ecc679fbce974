// A savepoint of a block: the state of the session that ROLLBACK TO brings back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "compute/api/transaction.h"
#include "compute/sql/execute/deferred_foreign_keys.h"
#include "compute/sql/session/block_changes.h"
#include "compute/sql/system/settings.h"

namespace namdb::sql {

struct Savepoint {
  std::string name;
  txn::Transaction::Savepoint mark = 0;
  Settings settings;  // as they were
  bool read_only = false;
  std::size_t created = 0;              // relations that the block had made
  BlockChanges::Drops dropped;          // and that it drops
  std::set<std::string> dropped_gone;   // temporary tables that it has dropped when they were gone
  std::uint64_t portals = 0;            // that the session had made
  DeferredForeignKeys::Modes deferred;  // as SET CONSTRAINTS had it
};

}  // namespace namdb::sql
