#include "compute/txn/snapshot.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/calls/hot_calls.h"
#include "proto/control.pb.h"

namespace namdb::txn {
namespace {

constexpr int kMaxGrowths = 32;
constexpr std::uint64_t kSpareWords = 16;

}  // namespace

void Snapshot::use(const Snapshot& other, std::shared_ptr<const void> holder) {
  shared = std::move(holder);
  image = other.image;
  words = other.words;
  started_ns = other.started_ns;
  read_ns = other.read_ns;
  taken = confirmed = true;
}

std::uint64_t SnapshotSource::spacious(std::uint64_t words) const {
  return std::min((words + kSpareWords - 1) / 8 * 8, cluster_.region_map(0).vector_capacity);
}

reactor::Task<Status> SnapshotSource::take(Snapshot& snapshot, fabric::OperationCounters& counters) {
  snapshot.started_ns = cluster_.executor().fresh_now_ns();
  const bool partitioned = parts() > 1;
  if (joins()) co_return co_await take_together(snapshot, counters);
  if (!partitioned && choice_.use_call()) co_return co_await take_by_call(snapshot, counters);
  fabric::Batch batch;
  for (int attempt = 0; attempt < kMaxGrowths; ++attempt) {
    // Another coroutine may learn of more words meanwhile.
    const std::uint64_t words = known_words_;
    snapshot.copy = fabric::LocalBuffer(cluster_.pool(), copy_bytes(words));
    snapshot.words = words * parts();
    Status status;
    if (partitioned) {
      status = co_await read_parts(&snapshot, words, &counters);
    } else {
      batch.clear();
      batch.read(cluster_.region_map(0).vector_offset, snapshot.copy.data(),
                 static_cast<std::uint32_t>(layout::vector_bytes(words)));
      counters.count(batch.operations());
      ++counters.round_trips;
      cluster_.channel(0).post(batch);
      status = co_await batch.done();
    }
    if (!status.ok()) co_return status;
    snapshot.read_ns = cluster_.executor().fresh_now_ns();
    const std::uint64_t in_use = longest_part(snapshot);
    if (in_use <= words) {
      if (!partitioned) snapshot.image = &snapshot.copy.word();
      snapshot.taken = true;
      snapshot.confirmed = false;
      // Slots have left the vector. Some words more than are in use, for those that come.
      if (in_use + kSpareWords < known_words_) known_words_ = spacious(in_use);
      co_return Status();
    }
    if (in_use > cluster_.region_map(0).vector_capacity) break;
    known_words_ = std::max(known_words_, spacious(in_use));
    ++counters.rereads;
  }
  co_return Status(ErrorCode::corrupt_data, "the timestamp vector's length word makes no sense");
}

void SnapshotSource::add_both(Snapshot& snapshot, BatchSet& batches) {
  if (snapshot.started_ns == 0) snapshot.started_ns = cluster_.executor().fresh_now_ns();
  const std::uint64_t length_bytes = layout::vector_bytes(known_words_);
  snapshot.copy = fabric::LocalBuffer(cluster_.pool(), length_bytes);
  snapshot.second = fabric::LocalBuffer(cluster_.pool(), length_bytes);
  snapshot.words = known_words_;
  add_reads(known_words_, snapshot.copy.data(), batches);
  batches.fence_reads(true);
  add_reads(known_words_, snapshot.second.data(), batches);
}

reactor::Task<Status> SnapshotSource::take_together(Snapshot& snapshot, fabric::OperationCounters& counters) {
  BatchSet batches(cluster_);
  for (int attempt = 0; attempt < kMaxGrowths; ++attempt) {
    add_both(snapshot, batches);
    batches.fence_reads(false);
    Status status = co_await batches.run(counters);
    if (!status.ok()) co_return status;
    confirm(snapshot);
    if (snapshot.taken) co_return Status();
    ++counters.rereads;
  }
  co_return Status(ErrorCode::corrupt_data, "the timestamp vector's length word makes no sense");
}

reactor::Task<Status> SnapshotSource::take_by_call(Snapshot& snapshot, fabric::OperationCounters& counters) {
  auto bytes = co_await cluster_.call_bytes(0, calls::kSnapshotMethod, std::string(), &counters);
  if (!bytes.ok()) co_return bytes.status();
  std::uint64_t length = 0;
  if (bytes->size() >= layout::kVectorWords_offset)
    std::memcpy(&length, bytes->data() + layout::kVectorLength_offset, 8);
  if (bytes->size() < layout::kVectorWords_offset || bytes->size() != layout::vector_bytes(length)) {
    co_return Status(ErrorCode::protocol_violation, "memory server sent a snapshot that cannot be read");
  }
  snapshot.copy = fabric::LocalBuffer(cluster_.pool(), bytes->size());
  std::memcpy(snapshot.copy.data(), bytes->data(), bytes->size());
  snapshot.image = &snapshot.copy.word();
  snapshot.words = length;
  snapshot.read_ns = cluster_.executor().fresh_now_ns();
  snapshot.taken = true;
  snapshot.confirmed = true;
  co_return Status();
}

void SnapshotSource::add_reads(std::uint64_t part_words, std::byte* local, BatchSet& batches) const {
  const std::uint64_t length = layout::vector_bytes(part_words);
  for (std::uint32_t part = 0; part < parts(); ++part, local += length) {
    const auto server = static_cast<layout::ServerId>(part);
    batches.read({server, cluster_.region_map(server).vector_offset}, local, length);
  }
}

reactor::Task<Status> SnapshotSource::read_parts(Snapshot* snapshot, std::uint64_t part_words,
                                                 fabric::OperationCounters* counters) const {
  BatchSet batches(cluster_);
  add_reads(part_words, snapshot->copy.data(), batches);
  co_return co_await batches.run(*counters);
}

std::uint64_t SnapshotSource::longest_part(const Snapshot& snapshot) const {
  const std::uint64_t part_words = layout::vector_bytes(snapshot.words / parts()) / 8;
  std::uint64_t longest = 0;
  for (std::uint32_t part = 0; part < parts(); ++part) {
    const std::uint64_t at = part * part_words + layout::kVectorLength_offset / 8;
    longest = std::max(longest, snapshot.copy.word(at));
  }
  return longest;
}

void SnapshotSource::put_in_order(Snapshot& snapshot) const {
  constexpr std::uint64_t kHead = layout::kVectorWords_offset / 8;
  const std::uint64_t* const copy = &snapshot.copy.word();
  std::uint64_t* const image = &snapshot.second.word();
  const std::uint64_t part_words = layout::vector_bytes(snapshot.words / parts()) / 8;
  image[layout::kVectorCatalog_offset / 8] = copy[layout::kVectorCatalog_offset / 8];
  image[layout::kVectorLength_offset / 8] = snapshot.words;
  for (std::uint32_t part = 0; part < parts(); ++part) {
    const std::uint64_t* const words = copy + part * part_words + kHead;
    for (std::uint64_t i = 0; i < snapshot.words / parts(); ++i) {
      const layout::VectorParts::Place place{static_cast<layout::ServerId>(part), i};
      image[kHead + cluster_.vector_parts().position(place)] = words[i];
    }
  }
  snapshot.image = image;
}

void SnapshotSource::add_confirmation(Snapshot& snapshot, BatchSet& batches) {
  const std::uint64_t part_words = snapshot.words / parts();
  if (!snapshot.second) snapshot.second = fabric::LocalBuffer(cluster_.pool(), copy_bytes(part_words));
  add_reads(part_words, snapshot.second.data(), batches);
}

bool SnapshotSource::confirm(Snapshot& snapshot) {
  const std::uint64_t length = copy_bytes(snapshot.words / parts());
  const bool partitioned = parts() > 1;
  snapshot.confirmed = std::memcmp(snapshot.copy.data(), snapshot.second.data(), length) == 0;
  choice_.note(snapshot.confirmed);
  if (!snapshot.confirmed) std::swap(snapshot.copy, snapshot.second);
  if (!snapshot.confirmed || !snapshot.taken) {
    if (!partitioned) snapshot.image = &snapshot.copy.word();
    snapshot.read_ns = cluster_.executor().fresh_now_ns();
  }
  const std::uint64_t longest = longest_part(snapshot);
  snapshot.taken = longest <= snapshot.words / parts();
  if (!snapshot.taken) {
    // A slot was leased beyond what the copies cover: its commits must not be taken for invisible.
    snapshot.second.reset();
    snapshot.confirmed = false;
    known_words_ = std::max(known_words_, spacious(longest));
  } else if (longest + kSpareWords < known_words_) {
    known_words_ = spacious(longest);
  }
  if (partitioned && snapshot.confirmed) put_in_order(snapshot);
  return snapshot.confirmed;
}

StampVisibility SnapshotSource::visibility(const Snapshot& snapshot, layout::Stamp stamp) const {
  std::uint32_t& hint = position_hint_[stamp.slot % position_hint_.size()];
  std::uint64_t position = hint;
  if (position >= snapshot.words || snapshot.word(position).stamp().slot != stamp.slot) {
    for (position = 0; position < snapshot.words; ++position) {
      if (snapshot.word(position).stamp().slot == stamp.slot) break;
    }
    if (position == snapshot.words) return StampVisibility::unknown_slot;
    hint = static_cast<std::uint32_t>(position);
  }
  return stamp.counter <= snapshot.word(position).stamp().counter ? StampVisibility::visible
                                                                  : StampVisibility::invisible;
}

bool SlotDirectory::decides(std::uint32_t slot, std::uint64_t snapshot_read_ns) const {
  return retired(slot) || refreshed_ns_ > snapshot_read_ns;
}

reactor::Task<Status> SlotDirectory::refresh(fabric::OperationCounters* counters) {
  const std::uint64_t posted_ns = cluster_.executor().fresh_now_ns();
  const control::ListSlotsRequest request;
  control::ListSlotsReply reply;
  Status status = co_await cluster_.call(0, control::LIST_SLOTS, request, &reply, counters);
  if (!status.ok()) co_return status;
  note_refresh(reply, posted_ns);
  co_return Status();
}

void SlotDirectory::note_refresh(const control::ListSlotsReply& reply, std::uint64_t posted_ns) {
  if (posted_ns < refreshed_ns_) return;
  refreshed_ns_ = posted_ns;
  next_slot_ = reply.next_slot();
  not_retired_.clear();
  leased_.clear();
  for (const control::Slot& slot : reply.slots()) {
    if (slot.state() == control::SLOT_LEASED) leased_.insert(slot.slot());
    if (slot.state() != control::SLOT_RETIRED) not_retired_.insert(slot.slot());
  }
}

}  // namespace namdb::txn
