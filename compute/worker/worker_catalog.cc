#include "compute/worker/worker_catalog.h"

#include "compute/worker/connection.h"

namespace namdb::compute {

using storage::RoutineRef;
using storage::TableRef;

std::uint64_t WorkerCatalog::version() const {
  // Versions of different connections must not be equal: the memory server may have restarted.
  return current_.none() ? 0 : (current_.count() << 48) + current_.get()->catalog.version();
}

TableRef WorkerCatalog::cached_table(std::string_view name) const {
  return current_.none() ? nullptr : current_.get()->catalog.find(name);
}

std::vector<TableRef> WorkerCatalog::cached_tables() const {
  return current_.none() ? std::vector<TableRef>() : current_.get()->catalog.all();
}

bool WorkerCatalog::has_foreign_keys() const {
  return !current_.none() && current_.get()->catalog.has_foreign_keys();
}

RoutineRef WorkerCatalog::cached_routine(std::string_view name) const {
  return current_.none() ? nullptr : current_.get()->catalog.find_routine(name);
}

// Holds the connection meanwhile.
reactor::Task<Result<std::shared_ptr<Connection>>> WorkerCatalog::refreshed() const {
  const std::shared_ptr<Connection> connection = current_.get();
  if (connection == nullptr) co_return current_.not_connected();
  const Status status = co_await connection->catalog.refresh();
  if (!status.ok()) co_return status;
  co_return connection;
}

reactor::Task<Result<TableRef>> WorkerCatalog::table(std::string name) const {
  TableRef table = cached_table(name);
  if (table == nullptr) {
    const auto connection = co_await refreshed();
    if (!connection.ok()) co_return connection.status();
    table = (*connection)->catalog.find(name);
  }
  if (table == nullptr)
    co_return Status(ErrorCode::undefined_table, "relation \"" + name + "\" does not exist");
  co_return table;
}

reactor::Task<Result<std::vector<TableRef>>> WorkerCatalog::tables() const {
  const auto connection = co_await refreshed();
  if (!connection.ok()) co_return connection.status();
  std::vector<TableRef> all = (*connection)->catalog.all();
  // A table that is to take another one's place is hidden; that one is frozen meanwhile.
  if ((*connection)->catalog.has_frozen())
    std::erase_if(all, [](const TableRef& table) { return table->replaces != 0; });
  co_return all;
}

reactor::Task<Result<RoutineRef>> WorkerCatalog::routine(std::string name) const {
  RoutineRef routine = cached_routine(name);
  if (routine == nullptr) {
    const auto connection = co_await refreshed();
    if (!connection.ok()) co_return connection.status();
    routine = (*connection)->catalog.find_routine(name);
  }
  co_return routine;
}

reactor::Task<Result<std::vector<RoutineRef>>> WorkerCatalog::routines() const {
  const auto connection = co_await refreshed();
  if (!connection.ok()) co_return connection.status();
  co_return (*connection)->catalog.routines();
}

reactor::Task<Result<storage::RolesRef>> WorkerCatalog::roles() const {
  const auto connection = co_await refreshed();
  if (!connection.ok()) co_return connection.status();
  co_return (*connection)->catalog.roles();
}

}  // namespace namdb::compute
