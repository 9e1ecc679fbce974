#include "compute/recovery/repair.h"

#include "common/layout/record.h"
#include "proto/control.pb.h"

namespace namdb::protocol {

using fabric::LocalBuffer;
using layout::GlobalAddress;
using layout::HeaderWord;

namespace {

constexpr std::uint64_t kSuspicious_ns = 20 * kMillisecond_ns;
constexpr std::size_t kMaxSightings = 4096;

}  // namespace

void Repair::note(GlobalAddress address, HeaderWord word, std::uint32_t body_bytes) {
  if (word.stamp().slot == layout::kCollectorSlot || gate_.closing()) return;
  if (sightings_.size() >= kMaxSightings) {
    std::erase_if(sightings_, [](const auto& entry) { return !entry.second.resolving; });
  }
  Sighting& sighting = sightings_[address.value];
  const std::uint64_t now = cluster_.executor().now_ns();
  if (sighting.resolving) return;
  if (sighting.word != word.value()) {
    sighting = {word.value(), now, body_bytes, false};
    return;
  }
  if (now - sighting.first_ns < kSuspicious_ns) return;
  sighting.resolving = true;
  cluster_.executor().spawn(gate_, resolve(address));
}

reactor::Task<void> Repair::resolve(GlobalAddress address) {
  const Sighting sighting = sightings_[address.value];
  const HeaderWord word(sighting.word);
  control::ListSlotsRequest request;
  request.add_slots(word.stamp().slot);
  control::ListSlotsReply reply;
  Status status = co_await cluster_.call(0, control::LIST_SLOTS, request, &reply);
  if (status.ok() && reply.slots_size() == 1) {
    const control::Slot slot = reply.slots(0);
    if (slot.state() == control::SLOT_CLOSED || slot.state() == control::SLOT_RETIRED) {
      status = co_await undo(address, word, sighting.body_bytes);
    }
  }
  // repair_slot() has reported its error already, and the others fail with their channel only.
  static_cast<void>(status);
  sightings_.erase(address.value);  // if it is seen again, it is examined again
}

// The slot is closed: every commit of it with a complete journal entry was rolled forward and holds no lock.
reactor::Task<Status> Repair::undo(GlobalAddress address, HeaderWord word, std::uint32_t body_bytes) {
  if (body_bytes == 0) {
    co_return co_await unlock(address, word, HeaderWord(word.stamp()));
  }
  // The word protects the reads of a commit that is in the journal, or never comes.
  if (body_bytes == kReaderWord) co_return co_await unlock(address, word, HeaderWord());
  const LocalBuffer buffer(cluster_.pool(), 8 + body_bytes);
  fabric::OperationCounters counters;
  txn::BatchSet batches(cluster_);
  batches.read(address, buffer.data(), 8 + body_bytes);
  Status status = co_await batches.run(counters);
  if (!status.ok()) co_return status;
  const std::span<const std::byte> body(buffer.data() + 8, body_bytes);
  if (layout::load_word(buffer.data()) != word.value() || !layout::certify_body(body, address))
    co_return Status();
  co_return co_await unlock(address, word, layout::decode_body_header(body.data()).header_word());
}

reactor::Task<Status> Repair::unlock(GlobalAddress address, HeaderWord from, HeaderWord to) {
  const LocalBuffer old(cluster_.pool(), 8);
  fabric::OperationCounters counters;
  txn::BatchSet batches(cluster_);
  batches.compare_and_swap(address, from.value(), to.value(), old.data());
  co_return co_await batches.run(counters);
}

// The decider of server 0 decides them.
reactor::Task<Status> Repair::repair_dead_slots() {
  co_return Status();
}

reactor::Task<void> Repair::close() {
  co_await gate_.close();
}

}  // namespace namdb::protocol
