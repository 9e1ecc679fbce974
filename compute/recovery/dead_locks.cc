#include "compute/recovery/dead_locks.h"

#include <algorithm>
#include <utility>

#include "common/layout/record.h"
#include "compute/cluster/batch_set.h"
#include "compute/recovery/slot_states.h"
#include "proto/control.pb.h"

namespace namdb::txn {

using fabric::LocalBuffer;
using layout::GlobalAddress;
using layout::HeaderWord;

namespace {

constexpr std::uint64_t kSuspicious_ns = 20 * kMillisecond_ns;
constexpr std::size_t kMaxSightings = 4096;
constexpr std::size_t kMaxClosed = 4096;
// Slots that one call asks for beside the one that it is about.
constexpr std::size_t kMaxOthers = 31;
// Between two questions whether a dead slot is closed.
constexpr std::uint64_t kFirstPause_ns = kMillisecond_ns;
constexpr std::uint64_t kLongestPause_ns = 100 * kMillisecond_ns;

}  // namespace

void DeadLocks::note(GlobalAddress address, HeaderWord word, std::uint32_t body_bytes) {
  if (word.stamp().slot == layout::kCollectorSlot || gate_.closing()) return;
  if (sightings_.size() >= kMaxSightings)
    std::erase_if(sightings_, [](const auto& entry) { return !entry.second.looked_into; });
  Sighting& sighting = sightings_[address.value];
  const std::uint64_t now_ns = cluster_.executor().now_ns();
  if (sighting.looked_into) return;
  if (sighting.word != word.value()) sighting = {word.value(), now_ns, false};
  const std::uint32_t slot = word.stamp().slot;
  if (!closed_.contains(slot) && now_ns - sighting.first_ns < kSuspicious_ns) return;
  sighting.looked_into = true;
  const auto [locks, is_first] = waiting_.try_emplace(slot);
  locks->second.push_back({address, word, body_bytes});
  if (is_first) cluster_.executor().spawn(gate_, look_into(slot));
}

reactor::Task<void> DeadLocks::look_into(std::uint32_t slot) {
  bool closed = closed_.contains(slot);
  if (!closed) closed = co_await await_closed(slot);
  while (closed && !waiting_[slot].empty()) {  // more may be met meanwhile
    const Lock lock = waiting_[slot].back();
    waiting_[slot].pop_back();
    // An error is that of a channel, which the worker notices.
    static_cast<void>(co_await undo(lock));
    sightings_.erase(lock.address.value);  // one that is met again is looked into again
  }
  for (const Lock& lock : waiting_[slot]) sightings_.erase(lock.address.value);
  waiting_.erase(slot);
}

// The owner's other slots have most likely ended, too.
std::vector<std::uint32_t> DeadLocks::slots_to_ask_for(std::uint32_t slot) const {
  std::set<std::uint32_t> others;
  for (const auto& [address, sighting] : sightings_) {
    const std::uint32_t other = HeaderWord(sighting.word).stamp().slot;
    if (other != slot && !sighting.looked_into && !closed_.contains(other)) others.insert(other);
    if (others.size() == kMaxOthers) break;
  }
  std::vector<std::uint32_t> slots{slot};
  slots.insert(slots.end(), others.begin(), others.end());
  return slots;
}

void DeadLocks::remember_closed(std::uint32_t slot) {
  closed_.insert(slot);
  if (closed_.size() > kMaxClosed) closed_.erase(closed_.begin());
}

reactor::Task<bool> DeadLocks::await_closed(std::uint32_t slot) {
  std::uint64_t pause_ns = kFirstPause_ns;
  while (!gate_.closing()) {
    control::ListSlotsRequest request;
    for (const std::uint32_t asked : slots_to_ask_for(slot)) request.add_slots(asked);
    control::ListSlotsReply reply;
    const Status status = co_await cluster_.call(0, control::LIST_SLOTS, request, &reply);
    if (!status.ok() || reply.slots_size() != request.slots_size()) co_return false;
    for (const control::Slot& listed : reply.slots()) {
      if (is_closed(listed.state())) remember_closed(listed.slot());
    }
    if (is_closed(reply.slots(0).state())) co_return true;
    if (reply.slots(0).state() != control::SLOT_DEAD) co_return false;
    co_await closing_.wait_until(cluster_.executor().now_ns() + pause_ns);
    pause_ns = std::min(2 * pause_ns, kLongestPause_ns);
  }
  co_return false;
}

reactor::Task<Status> DeadLocks::undo(Lock lock) {
  if (lock.body_bytes == 0) co_return co_await unlock(lock.address, lock.word, HeaderWord(lock.word.stamp()));
  if (lock.body_bytes == kReaderWord) co_return co_await unlock(lock.address, lock.word, HeaderWord());
  const LocalBuffer buffer(cluster_.pool(), 8 + lock.body_bytes);
  fabric::OperationCounters counters;
  BatchSet batches(cluster_);
  batches.read(lock.address, buffer.data(), 8 + lock.body_bytes);
  Status status = co_await batches.run(counters);
  if (!status.ok()) co_return status;
  const std::span<const std::byte> body(buffer.data() + 8, lock.body_bytes);
  if (layout::load_word(buffer.data()) != lock.word.value() || !layout::certify_body(body, lock.address))
    co_return Status();
  co_return co_await unlock(lock.address, lock.word, layout::decode_body_header(body.data()).header_word());
}

reactor::Task<Status> DeadLocks::unlock(GlobalAddress address, HeaderWord from, HeaderWord to) {
  const LocalBuffer old(cluster_.pool(), 8);
  fabric::OperationCounters counters;
  BatchSet batches(cluster_);
  batches.compare_and_swap(address, from.value(), to.value(), old.data());
  co_return co_await batches.run_in_background(counters, layout::Stage::lock);
}

reactor::Task<void> DeadLocks::close() {
  closing_.notify_all();
  co_await gate_.close();
}

}  // namespace namdb::txn
