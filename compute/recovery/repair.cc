#include "compute/recovery/repair.h"

#include <algorithm>
#include <deque>

#include "common/layout/journal_ring.h"
#include "common/layout/record.h"
#include "common/layout/version_image.h"
#include "compute/cluster/catalog_cache.h"
#include "compute/txn/transaction_registry.h"
#include "proto/control.pb.h"

namespace namdb::protocol {

using fabric::LocalBuffer;
using layout::GlobalAddress;
using layout::HeaderWord;
using layout::JournalItem;
using layout::Stamp;

namespace {

constexpr std::uint64_t kSuspicious_ns = 20 * kMillisecond_ns;
constexpr std::size_t kMaxSightings = 4096;
constexpr std::uint64_t kReadAtOnce_bytes = fabric::kMaxOperation_bytes;

// Counts among the running transactions for as long as it lives: a repair writes to records, too, so the
// memory of a table that is dropped meanwhile must not be used again before it ends.
class RunningRepair {
 public:
  explicit RunningRepair(txn::TransactionRegistry& registry)
      : registry_(registry), generation_(registry.begin()) {}
  RunningRepair(const RunningRepair&) = delete;
  RunningRepair& operator=(const RunningRepair&) = delete;
  ~RunningRepair() { registry_.end(generation_); }

 private:
  txn::TransactionRegistry& registry_;
  std::uint64_t generation_;
};

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
    if (slot.state() == control::SLOT_DEAD || slot.state() == control::SLOT_REPAIRING) {
      status = co_await repair_slot(slot);
    } else if (slot.state() == control::SLOT_CLOSED || slot.state() == control::SLOT_RETIRED) {
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

reactor::Task<Status> Repair::repair_dead_slots() {
  const control::ListSlotsRequest request;
  control::ListSlotsReply reply;
  Status first = co_await cluster_.call(0, control::LIST_SLOTS, request, &reply);
  if (!first.ok()) co_return first;
  for (const control::Slot& slot : reply.slots()) {
    if (slot.state() != control::SLOT_DEAD && slot.state() != control::SLOT_REPAIRING) continue;
    const Status status = co_await repair_slot(slot);
    if (!status.ok() && first.ok()) first = status;
    if (cluster_.failed()) break;
  }
  co_return first;
}

reactor::Task<Status> Repair::fence_everywhere(std::string compute_id) {
  control::FenceRequest request;
  request.set_compute_id(std::move(compute_id));
  for (std::size_t server = 0; server < cluster_.server_count(); ++server) {
    const auto id = static_cast<layout::ServerId>(server);
    Status status = co_await cluster_.call(id, control::FENCE, request, nullptr);
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

void Repair::report(std::uint32_t slot, const Status& status) {
  if (status.ok()) {
    reported_.erase(slot);
    return;
  }
  // The worker reports the loss of its connection.
  if (cluster_.failed() || !report_failure_) return;
  std::string reason = status.to_string();
  if (reported_[slot] == reason) return;
  report_failure_("execution slot " + std::to_string(slot) +
                  " of a dead compute server cannot be repaired, what it locked stays locked: " + reason);
  reported_[slot] = std::move(reason);
}

reactor::Task<Status> Repair::repair_slot(control::Slot dead) {
  if (!repairing_.insert(dead.slot()).second) co_return Status();
  Status status = co_await claim_and_repair(dead.slot());
  repairing_.erase(dead.slot());
  report(dead.slot(), status);
  co_return status;
}

// After an error the claim stays: the next attempt claims again.
reactor::Task<Status> Repair::claim_and_repair(std::uint32_t dead) {
  control::ClaimRepairRequest claim;
  claim.set_slot(dead);
  control::ClaimRepairReply granted;
  Status status = co_await cluster_.call(0, control::CLAIM_REPAIR, claim, &granted);
  if (!status.ok() && status.code() == ErrorCode::undefined_object) co_return Status();  // retired meanwhile
  if (!status.ok() || !granted.granted()) co_return status;
  const control::Slot slot = granted.slot();
  status = co_await fence_everywhere(slot.compute_id());
  if (!status.ok()) co_return status;
  for (const std::string& former : granted.former_repairers()) {
    status = co_await fence_everywhere(former);
    if (!status.ok()) co_return status;
  }
  // Every table that the dead one wrote to was in the catalog before: one that is not there then was dropped.
  const RunningRepair running(worker_->registry);
  status = co_await worker_->catalog.refresh();
  if (!status.ok()) co_return status;
  std::uint32_t final_counter = 0;
  status = co_await roll_forward(slot, &final_counter);
  if (!status.ok()) co_return status;
  status = co_await cluster_.place_slot(slot.slot(), slot.vector_position(), final_counter, 0);
  if (!status.ok()) co_return status;
  control::FinishRepairRequest finish;
  finish.set_slot(slot.slot());
  finish.set_repair_epoch(granted.repair_epoch());
  finish.set_final_counter(final_counter);
  status = co_await cluster_.call(0, control::FINISH_REPAIR, finish, nullptr);
  if (status.ok()) ++slots_repaired_;
  co_return status;
}

reactor::Task<Status> Repair::read_journal(GlobalAddress from, std::uint64_t length_bytes,
                                           std::vector<std::byte>* bytes) {
  fabric::OperationCounters counters;
  txn::BatchSet batches(cluster_);
  const LocalBuffer buffer(cluster_.pool(), std::min(kReadAtOnce_bytes, length_bytes));
  for (std::uint64_t done = 0; done < length_bytes;) {
    const std::uint64_t at_once = std::min<std::uint64_t>(kReadAtOnce_bytes, length_bytes - done);
    batches.read(from + done, buffer.data(), at_once);
    Status status = co_await batches.run(counters);
    if (!status.ok()) co_return status;
    bytes->insert(bytes->end(), buffer.data(), buffer.data() + at_once);
    done += at_once;
  }
  co_return Status();
}

// The entry's items, which then point into `bytes`. None where the room does not hold them: then the entry is
// not complete.
reactor::Task<Status> Repair::read_room(const control::Slot& slot, layout::JournalEntry* entry,
                                        std::vector<std::byte>* bytes) {
  const layout::JournalRoom room = *entry->room;
  const bool lent = std::ranges::any_of(slot.journal_rooms(), [&](const control::Range& each) {
    return room.address ==
               GlobalAddress(static_cast<layout::ServerId>(slot.journal_server()), each.offset()) &&
           room.length_bytes <= each.length_bytes();
  });
  if (!lent || room.length_bytes % 8 != 0)
    co_return Status(ErrorCode::corrupt_data, "a journal entry names a room that its slot does not have");
  Status status = co_await read_journal(room.address, room.length_bytes, bytes);
  if (!status.ok()) co_return status;
  const layout::StreamPlace place{slot.slot(), room.address.server(), entry->position};
  static_cast<void>(layout::read_journal_room(*bytes, place, *entry));
  co_return Status();
}

reactor::Task<Status> Repair::roll_forward(const control::Slot& slot, std::uint32_t* final_counter) {
  fabric::OperationCounters counters;
  txn::BatchSet batches(cluster_);
  const LocalBuffer word(cluster_.pool(), 8);
  const GlobalAddress vector_word = cluster_.vector_word(slot.vector_position());
  const GlobalAddress journal(static_cast<layout::ServerId>(slot.journal_server()), slot.journal_offset());
  batches.read(vector_word, word.data(), 8);
  Status status = co_await batches.run(counters);
  if (!status.ok()) co_return status;
  std::vector<std::byte> ring;
  status = co_await read_journal(journal, slot.journal_bytes(), &ring);
  if (!status.ok()) co_return status;

  const Stamp published = HeaderWord(layout::load_word(word.data())).stamp();
  *final_counter = published.slot == slot.slot() ? published.counter : 0;
  std::map<std::uint32_t, layout::JournalEntry> unfinished;
  std::deque<std::vector<std::byte>> rooms;  // items point into them
  std::vector<layout::JournalEntry> entries = layout::read_journal_ring(ring, slot.slot(), journal.server());
  for (layout::JournalEntry& entry : entries) {
    if (entry.stamp.counter <= *final_counter) continue;
    if (entry.room) {
      status = co_await read_room(slot, &entry, &rooms.emplace_back());
      if (!status.ok()) co_return status;
      if (entry.items.empty()) continue;
    }
    unfinished.emplace(entry.stamp.counter, std::move(entry));
  }
  for (const auto& [counter, entry] : unfinished) {
    for (const JournalItem& item : entry.items) {
      status = co_await apply(item, entry);
      if (!status.ok()) co_return status;
    }
    *final_counter = counter;
  }
  if (unfinished.empty()) co_return Status();
  layout::store_word(word.data(), HeaderWord(Stamp{slot.slot(), *final_counter}).value());
  batches.write(vector_word, word.data(), 8);
  co_return co_await batches.run(counters);
}

reactor::Task<Status> Repair::apply(const JournalItem& item, const layout::JournalEntry& entry) {
  if (item.lock.server() >= cluster_.server_count()) {
    co_return Status(ErrorCode::corrupt_data, "a journal entry names a memory server that is not there");
  }
  if (item.kind == JournalItem::Kind::update) co_return co_await apply_update(item, entry.lock);
  co_return co_await apply_chain(item, entry.stamp);
}

reactor::Task<Status> Repair::apply_update(const JournalItem& item, Stamp lock) {
  const layout::BodyHeader new_header = layout::decode_body_header(item.image.data());
  const storage::TableRef table = worker_->catalog.find_id(new_header.table);
  if (table == nullptr) co_return Status();  // dropped since: no transaction reads it any more
  const layout::RecordLayout& layout = table->record;
  if (item.image.size() > layout.body_bytes() || !layout::certify_image(item.image, item.lock) ||
      item.ring_slot >= std::max(layout.ring_slots, 1U)) {
    co_return Status(ErrorCode::corrupt_data, "a journal entry does not fit its table");
  }
  const HeaderWord locked(lock, false, true);
  const std::uint32_t body_bytes = layout.body_bytes();
  const LocalBuffer record(cluster_.pool(), layout.locked_bytes());
  const LocalBuffer ring(cluster_.pool(), body_bytes + 8);
  fabric::OperationCounters counters;
  txn::BatchSet batches(cluster_);
  batches.read(item.lock, record.data(), layout.locked_bytes());
  if (layout.ring_slots != 0)
    batches.read(item.lock + layout.ring_payload_offset(item.ring_slot), ring.data(), body_bytes);
  Status status = co_await batches.run(counters);
  if (!status.ok()) co_return status;
  if (layout::load_word(record.data()) != locked.value()) co_return Status();  // installed and unlocked

  const auto is_displaced = [&item](const std::byte* body) {
    return layout::decode_body_header(body).header_word() == item.displaced;
  };
  const std::span<std::byte> ring_image(ring.data(), body_bytes);
  const std::span<const std::byte> body(record.data() + 8, body_bytes);
  // The body is the displaced version in part, the new one in part: words that are not in the image are the
  // same in both.
  const LocalBuffer new_buffer(cluster_.pool(), body_bytes);
  const std::span<std::byte> new_body(new_buffer.data(), body_bytes);
  std::ranges::copy(body, new_body.begin());
  if (!layout::restore_body(item.image, item.lock, new_body)) {
    co_return Status(ErrorCode::corrupt_data, "a journal entry does not fit what stands in its record");
  }
  const auto ring_filled = [&] {
    if (layout.ring_slots == 0) return true;  // no transaction will read the displaced version
    const HeaderWord ring_word(layout::load_word(record.data() + layout.ring_header_offset(item.ring_slot)));
    return layout::certify_image(ring_image, item.lock) && is_displaced(ring_image.data()) &&
           ring_word.stamp() == item.displaced.stamp();
  };
  if (!ring_filled()) {
    if (!layout::certify_body(body, item.lock) || !is_displaced(body.data())) {
      co_return Status(ErrorCode::corrupt_data,
                       "a displaced version is neither in its place nor in its ring");
    }
    layout::store_word(ring.data() + body_bytes, item.displaced.value());
    const std::uint32_t length = layout::encode_image(body, new_body, item.lock, ring_image);
    batches.write(item.lock + layout.ring_payload_offset(item.ring_slot), ring_image.data(), length);
    batches.write(item.lock + layout.ring_header_offset(item.ring_slot), ring.data() + body_bytes, 8);
    status = co_await batches.run(counters);
    if (!status.ok()) co_return status;
  }
  batches.write(item.lock + 8, new_body.data(), body_bytes);
  status = co_await batches.run(counters);
  if (!status.ok()) co_return status;
  co_return co_await unlock(item.lock, locked, new_header.header_word());
}

reactor::Task<Status> Repair::apply_chain(const JournalItem& item, Stamp stamp) {
  const HeaderWord locked(stamp, false, true);
  const LocalBuffer word(cluster_.pool(), 8);
  fabric::OperationCounters counters;
  txn::BatchSet batches(cluster_);
  batches.read(item.lock, word.data(), 8);
  Status status = co_await batches.run(counters);
  if (!status.ok() || layout::load_word(word.data()) != locked.value()) co_return status;
  std::vector<bool> named;
  status = co_await find_named(&item, &named);
  if (!status.ok()) co_return status;
  for (std::size_t i = 0; i < item.writes.size(); ++i) {
    const layout::JournalWrite& write = item.writes[i];
    if (i < named.size() && named[i]) continue;
    const LocalBuffer bytes(cluster_.pool(), write.bytes.size());
    std::copy(write.bytes.begin(), write.bytes.end(), bytes.data());
    batches.write(write.address, bytes.data(), write.bytes.size());
    status = co_await batches.run(counters);
    if (!status.ok()) co_return status;
  }
  co_return co_await unlock(item.lock, locked, HeaderWord(stamp));
}

// Finds the new records that a bucket in memory names: they are there, since the WRITE of the bucket came
// after theirs. Under protocols where a version is visible once its record is unlocked, other transactions
// may have locked and changed them since.
reactor::Task<Status> Repair::find_named(const JournalItem* item, std::vector<bool>* named) {
  for (const layout::JournalWrite& write : item->writes) {
    if (write.address.server() != item->lock.server())
      co_return Status(ErrorCode::corrupt_data, "a journal entry's chain is spread over memory servers");
  }
  named->assign(item->new_records, false);
  const LocalBuffer words(cluster_.pool(), 8 * std::max<std::size_t>(item->new_records, 1));
  std::vector<std::optional<JournalItem::Name>> names;
  fabric::OperationCounters counters;
  txn::BatchSet batches(cluster_);
  for (std::size_t i = 0; i < item->new_records; ++i) {
    names.push_back(item->name_of(item->writes[i]));
    if (names[i]) batches.read(names[i]->address, words.data() + 8 * i, 8);
  }
  if (batches.empty()) co_return Status();
  Status status = co_await batches.run(counters);
  if (!status.ok()) co_return status;
  for (std::size_t i = 0; i < names.size(); ++i)
    (*named)[i] = names[i] && layout::load_word(words.data() + 8 * i) == names[i]->word;
  co_return Status();
}

reactor::Task<void> Repair::close() {
  co_await gate_.close();
}

}  // namespace namdb::protocol
