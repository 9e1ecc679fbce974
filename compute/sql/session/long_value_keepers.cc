#include "compute/sql/session/long_value_keepers.h"

#include <string>
#include <utility>

#include "compute/api/long_value_tables.h"
#include "compute/api/table_change.h"

namespace namdb::sql {

using reactor::Task;

Task<Status> drop_long_values(txn::Engine* engine, std::uint32_t table) {
  // Other servers may have made them.
  const auto tables = co_await engine->tables();
  if (!tables.ok()) co_return tables.status();
  for (const storage::TableRef& keeper : *tables) {
    if (!storage::keeps_long_values_of(table, keeper->name)) continue;
    std::string name = keeper->name;
    Status status = co_await engine->drop_table(std::move(name));
    if (!status.ok() && status.code() != ErrorCode::undefined_table) co_return status;
  }
  co_return Status();
}

// The rows name them by their numbers, which stay.
Task<Status> rename_long_values(txn::Engine* engine, std::uint32_t from, std::uint32_t to) {
  const auto tables = co_await engine->tables();
  if (!tables.ok()) co_return tables.status();
  for (const storage::TableRef& keeper : *tables) {
    if (!storage::keeps_long_values_of(from, keeper->name)) continue;
    txn::TableAlteration alteration;
    alteration.table = keeper;
    alteration.columns = keeper->schema.columns();
    const std::string_view own(keeper->name.data() + storage::long_values_prefix(from).size());
    alteration.name = storage::long_values_prefix(to).append(own);
    txn::TableAlteration wanted = alteration;
    Status status = co_await engine->alter_table(std::move(wanted));
    if (!status.ok() && status.code() == ErrorCode::duplicate_table) {
      // A row with such a value was written meanwhile: there are two of them from now on.
      alteration.name += " " + std::to_string(keeper->id);
      status = co_await engine->alter_table(std::move(alteration));
    }
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

}  // namespace namdb::sql
