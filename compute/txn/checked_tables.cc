#include "compute/txn/checked_tables.h"

#include <algorithm>
#include <functional>
#include <string>

#include "compute/cluster/catalog_cache.h"

namespace namdb::protocol {

Status CheckedTables::check(const storage::Table& table, std::uint64_t catalog_version) {
  if (std::ranges::find(checked_, table.id, &CheckedTable::id) != checked_.end()) return {};
  if (!worker_.catalog.current(table))
    return Status(ErrorCode::catalog_changed, "table \"" + table.name + "\" was dropped or changed");
  // Its rows were copied after the transaction's snapshot.
  if (catalog_version < table.ready_version)
    return Status(ErrorCode::catalog_changed, "table \"" + table.name + "\" was altered meanwhile");
  // A name means one table as long as the transaction runs.
  const std::size_t name_hash = std::hash<std::string>()(table.name);
  if (std::ranges::find(checked_, name_hash, &CheckedTable::name_hash) != checked_.end()) {
    return Status(ErrorCode::catalog_changed,
                  "table \"" + table.name + "\" was dropped and created again while the transaction ran");
  }
  checked_.push_back({table.id, name_hash});
  return {};
}

Status CheckedTables::check_exists(std::uint32_t table) const {
  if (worker_.catalog.find_id(table) != nullptr) return {};
  return Status(ErrorCode::catalog_changed, "a table was dropped while the transaction ran");
}

reactor::Task<Status> CheckedTables::check_while_waiting(std::uint32_t table, std::uint32_t waits) {
  if (!is_check_due(waits)) co_return Status();
  Status status = co_await worker_.catalog.refresh();
  if (!status.ok()) co_return status;
  co_return check_exists(table);
}

reactor::Task<Status> CheckedTables::damage(std::uint32_t table, Status error) {
  Status status = co_await worker_.catalog.refresh();
  if (!status.ok()) co_return status;
  status = check_exists(table);
  if (!status.ok()) co_return status;
  ++worker_.damaged_reads;
  co_return error;
}

}  // namespace namdb::protocol
