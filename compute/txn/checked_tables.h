// The tables that a transaction uses. Each is compared with the current catalog when the transaction first
// uses it, and again while the transaction waits for its rows, or if they seem damaged.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/base/error.h"
#include "common/reactor/pooled_allocator.h"
#include "common/reactor/task.h"
#include "compute/api/table.h"
#include "compute/txn/worker_state.h"

namespace namdb::protocol {

class CheckedTables {
 public:
  explicit CheckedTables(txn::WorkerState& worker) : worker_(worker) {}

  // Before rows of the table count, in a transaction that sees that version of the catalog. Error
  // catalog_changed: it was dropped, changed or created anew.
  Status check(const storage::Table& table, std::uint64_t catalog_version);
  // Error catalog_changed: as far as this worker's catalog knows, the table was dropped.
  Status check_exists(std::uint32_t table) const;
  // Of a table whose rows are waited for, at the `waits`-th wait: refreshes the catalog now and then, since
  // a dead commit is not completed in a table that was dropped. Errors as above.
  reactor::Task<Status> check_while_waiting(std::uint32_t table, std::uint32_t waits);
  static bool is_check_due(std::uint32_t waits) { return waits % kWaitsPerCheck == 0; }
  // Something of the table seems damaged: the error for it, counted; or catalog_changed.
  reactor::Task<Status> damage(std::uint32_t table, Status error);

 private:
  static constexpr std::uint32_t kWaitsPerCheck = 256;
  struct CheckedTable {
    std::uint32_t id;
    std::size_t name_hash;
  };
  txn::WorkerState& worker_;
  reactor::PooledVector<CheckedTable> checked_;
};

}  // namespace namdb::protocol
