#include "compute/worker/worker_schema.h"

#include <utility>

#include "compute/worker/connection.h"

namespace namdb::compute {

// The functions below await one of the connection's, and hold the connection meanwhile.

reactor::Task<Status> WorkerSchema::settle() {
  const auto connection = current_.whole();
  if (!connection.ok()) co_return connection.status();
  co_return co_await (*connection)->replacements.settle();
}

reactor::Task<Status> WorkerSchema::create_table(txn::TableDefinition definition) {
  const auto connection = current_.whole();
  if (!connection.ok()) co_return connection.status();
  co_return co_await (*connection)->tables.create(std::move(definition));
}

reactor::Task<Status> WorkerSchema::drop_table(std::string name) {
  const auto connection = current_.whole();
  if (!connection.ok()) co_return connection.status();
  co_return co_await (*connection)->tables.drop(std::move(name));
}

reactor::Task<Status> WorkerSchema::alter_table(txn::TableAlteration alteration) {
  const auto connection = current_.whole();
  if (!connection.ok()) co_return connection.status();
  co_return co_await (*connection)->tables.alter(std::move(alteration));
}

reactor::Task<Status> WorkerSchema::replace_table(txn::TableReplacement replacement) {
  const auto connection = current_.whole();
  if (!connection.ok()) co_return connection.status();
  co_return co_await (*connection)->replacements.replace(std::move(replacement));
}

reactor::Task<Status> WorkerSchema::create_index(txn::IndexDefinition definition) {
  const auto found = co_await catalog_.table(definition.table);
  if (!found.ok()) co_return found.status();
  const auto connection = current_.whole();
  if (!connection.ok()) co_return connection.status();
  co_return co_await (*connection)->indexes.create(*found, std::move(definition));
}

reactor::Task<Status> WorkerSchema::rebuild_index(std::string name) {
  const auto connection = current_.whole();
  if (!connection.ok()) co_return connection.status();
  co_return co_await (*connection)->indexes.rebuild(std::move(name));
}

reactor::Task<Status> WorkerSchema::drop_index(std::string name, bool constraint) {
  const auto connection = current_.whole();
  if (!connection.ok()) co_return connection.status();
  co_return co_await (*connection)->indexes.drop(std::move(name), constraint);
}

reactor::Task<Status> WorkerSchema::create_routine(txn::RoutineDefinition definition) {
  const std::shared_ptr<Connection> connection = current_.get();
  if (connection == nullptr) co_return current_.not_connected();
  Status status = co_await connection->routines.create(std::move(definition));
  if (!status.ok()) co_return status;
  co_return co_await show_change(connection);
}

reactor::Task<Status> WorkerSchema::drop_routine(std::string name, std::uint64_t version) {
  const std::shared_ptr<Connection> connection = current_.get();
  if (connection == nullptr) co_return current_.not_connected();
  Status status = co_await connection->routines.drop(std::move(name), version);
  if (!status.ok()) co_return status;
  co_return co_await show_change(connection);
}

reactor::Task<Status> WorkerSchema::change_roles(txn::RoleChange change) {
  const std::shared_ptr<Connection> connection = current_.get();
  if (connection == nullptr) co_return current_.not_connected();
  Status status = co_await connection->role_changes.make(std::move(change));
  if (!status.ok()) co_return status;
  co_return co_await show_change(connection);
}

reactor::Task<Status> WorkerSchema::show_change(std::shared_ptr<Connection> changed) {
  while (!current_.none() && current_.get() != changed) {
    changed = current_.get();
    Status status = co_await changed->catalog.refresh();
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

}  // namespace namdb::compute
