#include "compute/worker/worker_slots.h"

#include "compute/recovery/slot_states.h"
#include "compute/worker/connection.h"

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

// The functions below await one of the connection's, and hold the connection meanwhile.

reactor::Task<Result<std::uint32_t>> WorkerSlots::of_commits() {
  const std::shared_ptr<Connection> connection = current_.get();
  if (connection == nullptr) co_return current_.not_connected();
  const auto slot = co_await connection->slot_keeper.acquire();
  if (!slot.ok()) co_return slot.status();
  co_return (*slot)->slot();
}

reactor::Task<Result<bool>> WorkerSlots::has_ended(std::uint32_t slot) {
  const std::shared_ptr<Connection> connection = current_.get();
  if (connection == nullptr) co_return current_.not_connected();
  co_return co_await txn::ask_closed(connection->cluster, slot);
}

reactor::Task<Result<std::shared_ptr<const txn::SlotLease>>> WorkerSlots::lease() {
  const std::shared_ptr<Connection> connection = current_.get();
  if (connection == nullptr) co_return current_.not_connected();
  const auto slot = co_await connection->slot_keeper.lease_apart();
  if (!slot.ok()) co_return slot.status();
  co_return std::shared_ptr<const txn::SlotLease>(std::make_shared<WorkerLease>(connection, (*slot)->slot()));
}

}  // namespace namdb::compute
