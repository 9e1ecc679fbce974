#include "compute/txn/slot_keeper.h"

#include <algorithm>
#include <utility>

namespace namdb::txn {

std::shared_ptr<ExecutionSlot> SlotKeeper::acquire_now() {
  retire_exhausted();
  std::shared_ptr<ExecutionSlot> slot = least_busy();
  const bool serves = slot != nullptr && (slot->idle() || slots_.size() >= wanted_ || leasing_);
  return serves ? slot : nullptr;
}

reactor::Task<Result<std::shared_ptr<ExecutionSlot>>> SlotKeeper::acquire() {
  using Acquired = Result<std::shared_ptr<ExecutionSlot>>;
  while (true) {
    if (auto slot = acquire_now()) co_return Acquired(std::move(slot));
    // A slot that was lost with a connection is not given back: asking for another would exceed the bound.
    if (cluster_.failed()) {
      co_return Acquired(Status(ErrorCode::connection_failure, "the connection to a memory server was lost"));
    }
    // One old slot may still be on its way out, no more: memory servers bound the slots of a channel.
    if (leasing_ || slots_.size() + retiring_.size() > wanted_) {
      if (auto slot = least_busy()) co_return Acquired(std::move(slot));
      co_await changed_.wait();
      continue;
    }
    Status status = co_await lease();
    if (status.ok()) continue;
    if (slots_.empty()) co_return Acquired(std::move(status));
    wanted_ = slots_.size();
  }
}

reactor::Task<Status> SlotKeeper::lease() {
  leasing_ = true;
  auto fresh = std::make_shared<ExecutionSlot>(cluster_, options_);
  Status status = co_await fresh->lease();
  // Slots that were lost with a channel count until this connection ends. Its successor leases others.
  if (!status.ok() && status.code() == ErrorCode::limit_exceeded && cluster_.has_lost()) {
    status = Status(ErrorCode::serialization_failure,
                    "the execution slots were lost with the connection to a memory server");
  }
  leasing_ = false;
  if (status.ok()) slots_.push_back(std::move(fresh));
  changed_.notify_all();
  co_return status;
}

reactor::Task<Result<std::shared_ptr<const ExecutionSlot>>> SlotKeeper::lease_apart() {
  auto fresh = std::make_shared<ExecutionSlot>(cluster_, options_);
  Status status = co_await fresh->lease();
  if (!status.ok()) co_return status;
  apart_.push_back(fresh);
  co_return std::shared_ptr<const ExecutionSlot>(std::move(fresh));
}

std::shared_ptr<ExecutionSlot> SlotKeeper::least_busy() const {
  const auto found = std::ranges::min_element(slots_, {}, [](const auto& slot) { return slot->open(); });
  return found == slots_.end() ? nullptr : *found;
}

void SlotKeeper::retire_exhausted() {
  for (std::shared_ptr<ExecutionSlot>& slot : slots_) {
    if (slot->has_lost()) lost_.push_back(std::exchange(slot, nullptr));
    if (slot == nullptr || !slot->exhausted()) continue;
    retiring_.push_back(slot);
    cluster_.executor().spawn(gate_, retire(std::move(slot)));
  }
  std::erase(slots_, nullptr);
}

void SlotKeeper::finish_later(const std::shared_ptr<ExecutionSlot>& slot, std::uint32_t counter) {
  // When this is closing, retire() publishes.
  if (slot->finish_unawaited(counter) && !gate_.closing()) cluster_.executor().spawn(gate_, publish(slot));
}

reactor::Task<void> SlotKeeper::publish(std::shared_ptr<ExecutionSlot> slot) {
  co_await slot->publish();
}

void SlotKeeper::tell_finished() {
  for (const std::shared_ptr<ExecutionSlot>& slot : slots_) slot->journals().tell_all_finished();
}

void SlotKeeper::fail() {
  for (const std::shared_ptr<ExecutionSlot>& slot : slots_) slot->fail();
  for (const std::shared_ptr<ExecutionSlot>& slot : retiring_) slot->fail();
  for (const std::shared_ptr<ExecutionSlot>& slot : lost_) slot->fail();
  for (const std::shared_ptr<ExecutionSlot>& slot : apart_) slot->fail();
  changed_.notify_all();
}

reactor::Task<void> SlotKeeper::retire(std::shared_ptr<ExecutionSlot> slot) {
  co_await slot->wait_idle();
  // Where a channel was lost, something of the slot may still be under way there: it must die.
  if (slot->idle() && !cluster_.has_lost()) {
    // An error means that a memory server is gone, and the slot with it.
    const Status status = co_await slot->close();
    (void)status;
  } else {
    co_await slot->drain();
  }
  std::erase(retiring_, slot);
  changed_.notify_all();
}

reactor::Task<void> SlotKeeper::close() {
  co_await gate_.close();
  retiring_ = std::exchange(slots_, {});
  retiring_.insert(retiring_.end(), lost_.begin(), lost_.end());
  retiring_.insert(retiring_.end(), apart_.begin(), apart_.end());
  lost_.clear();
  apart_.clear();
  while (!retiring_.empty()) co_await retire(retiring_.front());
}

}  // namespace namdb::txn
