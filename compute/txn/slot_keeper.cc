#include "compute/txn/slot_keeper.h"

namespace namdb::txn {

reactor::Task<Result<std::shared_ptr<ExecutionSlot>>> SlotKeeper::acquire() {
  while (slot_ == nullptr || slot_->exhausted()) {
    // A slot that was lost with a connection is not given back: asking for another would exceed the bound.
    if (cluster_.failed()) {
      co_return Result<std::shared_ptr<ExecutionSlot>>(
          Status(ErrorCode::connection_failure, "the connection to a memory server was lost"));
    }
    // One old slot may still be on its way out, no more: memory servers bound the slots of a channel.
    if (leasing_ || retiring_ > 0) {
      co_await leased_.wait();
      continue;
    }
    leasing_ = true;
    auto fresh = std::make_shared<ExecutionSlot>(cluster_, options_);
    Status status = co_await fresh->lease();
    leasing_ = false;
    if (status.ok()) {
      if (slot_ != nullptr) {
        ++retiring_;
        cluster_.executor().spawn(gate_, retire(std::move(slot_)));
      }
      slot_ = std::move(fresh);
    }
    leased_.notify_all();
    if (!status.ok()) co_return Result<std::shared_ptr<ExecutionSlot>>(std::move(status));
  }
  co_return Result<std::shared_ptr<ExecutionSlot>>(slot_);
}

void SlotKeeper::finish_later(const std::shared_ptr<ExecutionSlot>& slot, std::uint32_t counter) {
  // When this is closing, retire() publishes.
  if (slot->finish_unawaited(counter) && !gate_.closing()) cluster_.executor().spawn(gate_, publish(slot));
}

reactor::Task<void> SlotKeeper::publish(std::shared_ptr<ExecutionSlot> slot) {
  co_await slot->publish();
}

void SlotKeeper::fail() {
  if (slot_ != nullptr) slot_->fail();
}

reactor::Task<void> SlotKeeper::retire(std::shared_ptr<ExecutionSlot> slot) {
  co_await slot->wait_idle();
  if (slot->idle() && !cluster_.failed()) {
    // An error means that memory server 0 is gone, and the slot with it.
    const Status status = co_await slot->close();
    (void)status;
  }
  --retiring_;
  leased_.notify_all();
}

reactor::Task<void> SlotKeeper::close() {
  co_await gate_.close();
  if (slot_ == nullptr) co_return;
  ++retiring_;
  co_await retire(std::move(slot_));
}

}  // namespace namdb::txn
