// The worker's part of the engine that is about tables, indexes, routines and roles, and changes of these.
#include <utility>

#include "compute/recovery/slot_states.h"
#include "compute/worker/connection.h"
#include "compute/worker/worker.h"
#include "proto/control.pb.h"

namespace namdb::compute {

namespace {

class WorkerLease final : public txn::SlotLease {
 public:
  WorkerLease(const std::shared_ptr<Connection>& connection, std::uint32_t slot)
      : connection_(connection), slot_(slot) {}

  std::uint32_t slot() const override { return slot_; }
  bool ended() const override {
    const std::shared_ptr<Connection> connection = connection_.lock();
    return connection == nullptr || connection->cluster.failed() || connection->slot_keeper.closing();
  }

 private:
  std::weak_ptr<Connection> connection_;
  std::uint32_t slot_;
};

}  // namespace

using storage::RoutineRef;
using storage::TableRef;

TableRef Worker::cached_table(std::string_view name) {
  return connection_ == nullptr ? nullptr : connection_->catalog.find(name);
}

std::uint64_t Worker::catalog_version() const {
  // Versions of different connections must not be equal: the memory server may have restarted.
  return connection_ == nullptr ? 0 : (connections_ << 48) + connection_->catalog.version();
}

// The functions below await one of the connection's, and hold the connection meanwhile.

reactor::Task<Result<TableRef>> Worker::table(std::string name) {
  const std::shared_ptr<Connection> connection = connection_;
  if (connection == nullptr) co_return not_connected();
  TableRef table = connection->catalog.find(name);
  if (table == nullptr) {
    const Status status = co_await connection->catalog.refresh();
    if (!status.ok()) co_return status;
    table = connection->catalog.find(name);
  }
  if (table == nullptr)
    co_return Status(ErrorCode::undefined_table, "relation \"" + name + "\" does not exist");
  co_return table;
}

reactor::Task<Result<std::vector<TableRef>>> Worker::tables() {
  const std::shared_ptr<Connection> connection = connection_;
  if (connection == nullptr) co_return not_connected();
  const Status status = co_await connection->catalog.refresh();
  if (!status.ok()) co_return status;
  std::vector<TableRef> all = connection->catalog.all();
  // A table that is to take another one's place is hidden; that one is frozen meanwhile.
  if (connection->catalog.has_frozen())
    std::erase_if(all, [](const TableRef& table) { return table->replaces != 0; });
  co_return all;
}

Result<std::shared_ptr<Connection>> Worker::whole_connection() const {
  if (connection_ == nullptr) return not_connected();
  Status status = connection_->cluster.whole();
  if (!status.ok()) return status;
  return connection_;
}

reactor::Task<Status> Worker::create_table(txn::TableDefinition definition) {
  const auto connection = whole_connection();
  if (!connection.ok()) co_return connection.status();
  co_return co_await (*connection)->tables.create(std::move(definition));
}

reactor::Task<Status> Worker::drop_table(std::string name) {
  const auto connection = whole_connection();
  if (!connection.ok()) co_return connection.status();
  co_return co_await (*connection)->tables.drop(std::move(name));
}

reactor::Task<Status> Worker::create_index(txn::IndexDefinition definition) {
  const auto found = co_await table(definition.table);
  if (!found.ok()) co_return found.status();
  const auto connection = whole_connection();
  if (!connection.ok()) co_return connection.status();
  co_return co_await (*connection)->indexes.create(*found, std::move(definition));
}

reactor::Task<Status> Worker::rebuild_index(std::string name) {
  const auto connection = whole_connection();
  if (!connection.ok()) co_return connection.status();
  co_return co_await (*connection)->indexes.rebuild(std::move(name));
}

reactor::Task<Status> Worker::drop_index(std::string name, bool constraint) {
  const auto connection = whole_connection();
  if (!connection.ok()) co_return connection.status();
  co_return co_await (*connection)->indexes.drop(std::move(name), constraint);
}

reactor::Task<Status> Worker::alter_table(txn::TableAlteration alteration) {
  const auto connection = whole_connection();
  if (!connection.ok()) co_return connection.status();
  co_return co_await (*connection)->tables.alter(std::move(alteration));
}

reactor::Task<Status> Worker::replace_table(txn::TableReplacement replacement) {
  const auto connection = whole_connection();
  if (!connection.ok()) co_return connection.status();
  co_return co_await (*connection)->replacements.replace(std::move(replacement));
}

std::vector<TableRef> Worker::cached_tables() const {
  return connection_ == nullptr ? std::vector<TableRef>() : connection_->catalog.all();
}

bool Worker::has_foreign_keys() const {
  return connection_ != nullptr && connection_->catalog.has_foreign_keys();
}

reactor::Task<Status> Worker::settle_catalog() {
  const auto connection = whole_connection();
  if (!connection.ok()) co_return connection.status();
  co_return co_await (*connection)->replacements.settle();
}

RoutineRef Worker::cached_routine(std::string_view name) {
  return connection_ == nullptr ? nullptr : connection_->catalog.find_routine(name);
}

reactor::Task<Result<RoutineRef>> Worker::routine(std::string name) {
  const std::shared_ptr<Connection> connection = connection_;
  if (connection == nullptr) co_return not_connected();
  RoutineRef routine = connection->catalog.find_routine(name);
  if (routine == nullptr) {
    const Status status = co_await connection->catalog.refresh();
    if (!status.ok()) co_return status;
    routine = connection->catalog.find_routine(name);
  }
  co_return routine;
}

reactor::Task<Result<std::vector<RoutineRef>>> Worker::routines() {
  const std::shared_ptr<Connection> connection = connection_;
  if (connection == nullptr) co_return not_connected();
  const Status status = co_await connection->catalog.refresh();
  if (!status.ok()) co_return status;
  co_return connection->catalog.routines();
}

reactor::Task<Status> Worker::create_routine(txn::RoutineDefinition definition) {
  const std::shared_ptr<Connection> connection = connection_;
  if (connection == nullptr) co_return not_connected();
  Status status = co_await connection->routines.create(std::move(definition));
  if (!status.ok()) co_return status;
  co_return co_await show_change(connection);
}

reactor::Task<Status> Worker::drop_routine(std::string name, std::uint64_t version) {
  const std::shared_ptr<Connection> connection = connection_;
  if (connection == nullptr) co_return not_connected();
  Status status = co_await connection->routines.drop(std::move(name), version);
  if (!status.ok()) co_return status;
  co_return co_await show_change(connection);
}

storage::RolesRef Worker::cached_roles() const {
  // Without a connection those of the last one count: a session must not become a superuser's meanwhile.
  if (connection_ != nullptr && connection_->catalog.version() != 0)
    last_roles_ = connection_->catalog.roles();
  return last_roles_;
}

reactor::Task<Result<storage::RolesRef>> Worker::roles() {
  const std::shared_ptr<Connection> connection = connection_;
  if (connection == nullptr) co_return not_connected();
  const Status status = co_await connection->catalog.refresh();
  if (!status.ok()) co_return status;
  co_return connection->catalog.roles();
}

reactor::Task<Status> Worker::change_roles(txn::RoleChange change) {
  const std::shared_ptr<Connection> connection = connection_;
  if (connection == nullptr) co_return not_connected();
  Status status = co_await connection->role_changes.make(std::move(change));
  if (!status.ok()) co_return status;
  co_return co_await show_change(connection);
}

reactor::Task<Status> Worker::show_change(std::shared_ptr<Connection> changed) {
  while (connection_ != nullptr && connection_ != changed) {
    changed = connection_;
    Status status = co_await changed->catalog.refresh();
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

reactor::Task<Result<std::uint32_t>> Worker::commit_slot() {
  const std::shared_ptr<Connection> connection = connection_;
  if (connection == nullptr) co_return not_connected();
  const auto slot = co_await connection->slot_keeper.acquire();
  if (!slot.ok()) co_return slot.status();
  co_return (*slot)->slot();
}

reactor::Task<Result<bool>> Worker::slot_ended(std::uint32_t slot) {
  const std::shared_ptr<Connection> connection = connection_;
  if (connection == nullptr) co_return not_connected();
  control::ListSlotsRequest request;
  request.add_slots(slot);
  control::ListSlotsReply reply;
  const Status status = co_await connection->cluster.call(0, control::LIST_SLOTS, request, &reply);
  if (!status.ok()) co_return status;
  if (reply.slots_size() != 1) co_return Status(ErrorCode::protocol_violation, "a list of other slots");
  co_return txn::is_closed(reply.slots(0).state());
}

reactor::Task<Result<std::shared_ptr<const txn::SlotLease>>> Worker::lease_slot() {
  const std::shared_ptr<Connection> connection = connection_;
  if (connection == nullptr) co_return not_connected();
  const auto slot = co_await connection->slot_keeper.lease_apart();
  if (!slot.ok()) co_return slot.status();
  co_return std::shared_ptr<const txn::SlotLease>(std::make_shared<WorkerLease>(connection, (*slot)->slot()));
}

}  // namespace namdb::compute
