#include "compute/commit/commit.h"

#include <algorithm>
#include <cstring>

#include "common/layout/journal.h"
#include "common/layout/record_trailer.h"
#include "common/layout/version_image.h"
#include "compute/cluster/stage_times.h"
#include "compute/commit/hint_queue.h"
#include "compute/commit/passive_installs.h"
#include "compute/txn/errors.h"
#include "compute/txn/lock_resolver.h"
#include "compute/txn/locking.h"
#include "compute/txn/slot_keeper.h"
#include "compute/txn/timestamps.h"
#include "compute/txn/transaction_state.h"
#include "compute/txn/validation.h"

namespace namdb::protocol {

using layout::GlobalAddress;
using layout::HeaderWord;
using layout::JournalItems;
using layout::JournalWriter;

namespace {

constexpr int kRingAttempts = 4;
// All of a commit's items are in one entry.
constexpr std::uint32_t kFrame_bytes = JournalWriter::frame_bytes(1);
constexpr std::uint32_t kEntryWithRoom_bytes = kFrame_bytes + JournalWriter::kRoom_bytes;

}  // namespace

Commit::Commit(TransactionState& transaction)
    : transaction_(transaction),
      worker_(transaction.worker()),
      counters_(transaction.mutable_counters()),
      batches_(worker_.cluster),
      chains_(worker_, batches_, counters_),
      indexes_(transaction) {}

reactor::Task<Status> Commit::run() {
  Status status = plan();
  if (status.ok()) status = co_await chains_.reserve_space();
  if (!status.ok()) {
    chains_.give_back_space();
    co_return status;
  }
  auto asked = locking() != nullptr ? locking()->commit_slot() : worker_.slot_keeper.acquire();
  auto slot = co_await std::move(asked);
  if (!slot.ok()) {
    chains_.give_back_space();
    co_return slot.status();
  }
  slot_ = std::move(slot).value();
  status = co_await begin();
  if (!status.ok()) {
    chains_.give_back_space();
    co_return status;
  }
  lock_stamp_ = transaction_.control().lock_stamp(stamp_);

  indexes_.plan();
  status = co_await lock();
  if (status.ok() && in_room_) status = co_await borrow_room();
  const bool changes_indexes = status.ok() && indexes_.any();
  if (changes_indexes) status = co_await indexes_.run(stamp_);
  // A duplicate counts only if all reads that led to it were true at once.
  Validation* const validation = transaction_.control().validation();
  if (validation != nullptr && (status.ok() || status.code() == ErrorCode::duplicate_key)) {
    const Validation::Locked locked{.chains = chains_,
                                    .changes_indexes = changes_indexes,
                                    .leaves_entries = changes_indexes && indexes_.leaves_entries()};
    Status validated = co_await validation->validate(locked);
    if (!validated.ok()) status = std::move(validated);
  }
  if (!status.ok()) co_return co_await release(std::move(status));
  build_images();
  status = co_await log();
  if (!status.ok()) co_return status;
  status = co_await install();
  if (!status.ok()) {
    slot_->fail();
    co_return Status(ErrorCode::unknown_outcome, "the connection to a memory server was lost during commit",
                     "look whether the transaction's changes are there before running it again");
  }
  after_commit();
  co_return Status();
}

// Lists what must be locked, and finds the conflicts that are known without a READ.
Status Commit::plan() {
  for (Access& access : transaction_.accesses()) {
    if (access.write == WriteKind::none) continue;
    if (access.writes_in_place()) {
      Status may = transaction_.control().may_write(access);
      if (!may.ok()) return may;
      RecordLock record{.access = &access, .expected = access.lookup.current().header_word(), .buffer = {}};
      record.taken = access.locked;
      records_.push_back(std::move(record));
      continue;
    }
    NAMDB_CHECK(access.write == WriteKind::insert);
    chains_.add(access);
  }
  return {};
}

reactor::Task<Status> Commit::begin() {
  items_bound_bytes_ = items_bytes(chains_.journal_bound_bytes());
  std::uint64_t entry_bytes = kFrame_bytes + items_bound_bytes_;
  in_room_ = !slot_->fits_ring(entry_bytes);
  if (in_room_) {
    Status status = check_size(items_bytes(chains_.journal_least_bytes()));
    if (!status.ok()) co_return status;
    entry_bytes = kEntryWithRoom_bytes;
  }
  journal_parts_.push_back({slot_->journal_host(), layout::journal_stream_bytes(entry_bytes)});
  const auto counter = co_await slot_->begin_commit(journal_parts_);
  if (!counter) co_return lost_connection();
  stamp_ = {slot_->slot(), *counter};
  co_return Status();
}

Status Commit::check_size(std::uint64_t items_bytes) const {
  if (items_bytes <= slot_->max_room_bytes()) return Status();
  return Status(ErrorCode::limit_exceeded,
                "the transaction's journal entry would have " + std::to_string(items_bytes) +
                    " bytes; it can have at most " + std::to_string(slot_->max_room_bytes()),
                "commit in smaller parts");
}

// The locks are held meanwhile, but for no longer than a call: where the region is full, it is refused at
// once.
reactor::Task<Status> Commit::borrow_room() {
  items_bound_bytes_ = items_bytes(chains_.journal_bytes());
  Status status = check_size(items_bound_bytes_);
  if (!status.ok()) co_return status;
  auto room = co_await slot_->borrow_room(items_bound_bytes_);
  if (worker_.cluster.failed()) co_return lost_connection();
  if (!room.ok()) co_return room.status();
  room_ = *room;
  co_return Status();
}

reactor::Task<Status> Commit::lock() {
  Timestamps* const timestamps = transaction_.control().timestamps();
  for (RecordLock& record : records_) {
    const layout::RecordLayout& layout = record.access->table->record;
    const GlobalAddress address = record.access->lookup.record();
    record.buffer =
        fabric::LocalBuffer(worker_.cluster.pool(), 8 + layout.ring_headers_bytes() + layout.body_bytes());
    if (!record.taken) {
      record.asked = true;
      batches_.compare_and_swap(address, record.expected.value(), lock_word().value(), record.buffer.data());
    }
    if (timestamps != nullptr) timestamps->read_behind_lock(*record.access, batches_);
    if (!layout.moves_versions()) continue;
    batches_.read(address + layout.ring_header_offset(0), record.ring_word(0), layout.ring_headers_bytes());
  }
  chains_.post(stamp_);
  if (timestamps != nullptr) timestamps->read_behind_locks(batches_);
  Status ahead;
  if (!batches_.empty()) {
    indexes_.post_ahead();
    const Status asked = co_await batches_.run(counters_, layout::Stage::lock);
    ahead = co_await indexes_.finish_ahead();
    if (!asked.ok()) co_return lost_connection();
  }
  Status status = examine_locks();
  if (status.ok()) status = std::move(ahead);
  if (status.ok()) status = co_await chains_.retry(stamp_);
  if (!status.ok()) co_return status;
  for (RecordLock& record : records_) {
    const layout::RecordLayout& layout = record.access->table->record;
    if (layout.ring_slots == 0) continue;
    record.ring_slot = (record.access->lookup.current().ring_slot + 1) % layout.ring_slots;
    if (layout.timestamps || record.ring_moved(record.ring_slot)) continue;
    status = co_await wait_for_ring(&record);
    if (!status.ok()) co_return status;
  }
  co_return co_await chains_.place();
}

Status Commit::examine_locks() {
  Status status;
  for (RecordLock& record : records_) {
    if (!record.asked) continue;
    const HeaderWord old(layout::load_word(record.buffer.data()));
    record.taken = old == record.expected;
    if (record.taken) continue;
    const storage::Table& table = *record.access->table;
    if (old.locked()) worker_.locks.note(record.access->lookup.record(), old, table.record.body_bytes());
    transaction_.meet(record.access->lookup.record(), old);
    status = write_conflict(table);
  }
  chains_.check();
  return status;
}

// The lock is held meanwhile: the mover needs no lock, and no other transaction can take the slot.
reactor::Task<Status> Commit::wait_for_ring(RecordLock* record) {
  const layout::RecordLayout& layout = record->access->table->record;
  const GlobalAddress address = record->access->lookup.record();
  const GlobalAddress word = address + layout.ring_header_offset(record->ring_slot);
  for (int attempt = 0; attempt < kRingAttempts; ++attempt) {
    Status status = co_await worker_.hints.move_now(record->access->table->id, address, counters_);
    if (!status.ok()) co_return status;
    batches_.read(word, record->ring_word(record->ring_slot), 8);
    ++counters_.rereads;
    status = co_await batches_.run(counters_, layout::Stage::lock);
    if (!status.ok()) co_return lost_connection();
    if (record->ring_moved(record->ring_slot)) co_return Status();
    const std::uint64_t pause_ns = 50'000;
    co_await worker_.executor.sleep_for(pause_ns);
  }
  co_return Status(ErrorCode::ring_full,
                   "the version mover is behind: no free slot in a record's version ring");
}

void Commit::build_images() {
  const Timestamps* const timestamps = transaction_.control().timestamps();
  const std::uint64_t timestamp = timestamps == nullptr ? 0 : timestamps->commit_timestamp();
  chains_.build_records(stamp_, timestamp);
  for (RecordLock& record : records_) {
    Access& access = *record.access;
    const layout::BodyHeader& displaced = access.lookup.current();
    const layout::BodyHeader header{
        .stamp = stamp_,
        .deleted = access.write == WriteKind::erase,
        .displaced = timestamps == nullptr ? displaced.header_word() : HeaderWord(timestamp),
        .table = displaced.table,
        .incarnation = displaced.incarnation,
        .ring_slot = record.ring_slot};
    layout::seal_body(access.image_body(), access.lookup.record(), header);
    layout::store_word(access.image.data(), header.header_word().value());
    layout::store_word(access.image.data() + layout::overflow_head_offset(access.table->record),
                       displaced.header_word().value());
    if (access.table->record.ring_slots == 0) continue;
    const std::span<std::byte> kept = record.displaced_image();
    record.image_bytes = layout::encode_image(record.displaced_body(), access.image_body(),
                                              access.lookup.record(), kept, form());
  }
}

std::uint64_t Commit::items_bytes(std::uint64_t chains_bytes) const {
  std::uint64_t length = chains_bytes;
  for (const RecordLock& record : records_) {
    length += JournalItems::update_bytes(record.access->table->record.body_bytes());
  }
  return length;
}

reactor::Task<Status> Commit::log() {
  auto logging = in_room_ ? log_in_room() : log_in_ring();
  const Status status = co_await std::move(logging);
  if (status.ok()) co_return Status();
  slot_->fail();
  co_return Status(ErrorCode::unknown_outcome, "the connection to a memory server was lost during commit",
                   "look whether the transaction's changes are there before running it again");
}

void Commit::add_items(JournalItems& items) const {
  for (const RecordLock& record : records_) {
    items.update(record.access->lookup.record(), record.ring_slot, record.displaced_body(),
                 record.access->image_body(), form());
  }
  chains_.log(items);
}

layout::EntryHead Commit::journal_head() const {
  return {.through = slot_->through(), .regions = {&journal_parts_.front().host, 1}};
}

txn::JournalPlace Commit::take_place(std::uint32_t length_bytes, std::byte* pad) {
  const txn::JournalPlace place = slot_->journal_place(stamp_.counter, journal_parts_.front(), length_bytes);
  if (place.pad_bytes != 0) {
    const auto bytes = layout::journal_pad(place.pad_bytes, place.pad);
    std::memcpy(pad, bytes.data(), bytes.size());
    batches_.write(place.pad_address, pad, bytes.size());
  }
  return place;
}

void Commit::write_entry(const txn::JournalPlace& place, const std::byte* entry, std::uint32_t length_bytes) {
  for (std::uint32_t written = 0; written < length_bytes; written += fabric::kMaxOperation_bytes) {
    batches_.write(place.address + written, entry + written,
                   std::min(fabric::kMaxOperation_bytes, length_bytes - written));
  }
}

reactor::Task<Status> Commit::log_in_ring() {
  const std::uint64_t bound_bytes = kFrame_bytes + items_bound_bytes_;
  journal_ = fabric::LocalBuffer(worker_.cluster.pool(), bound_bytes + layout::kJournalPad_bytes);
  JournalWriter writer({journal_.data(), bound_bytes}, stamp_, lock_stamp_, journal_head());
  add_items(writer);
  const txn::JournalPlace place = take_place(writer.length_bytes(), journal_.data() + bound_bytes);
  write_entry(place, journal_.data(), writer.finish(place.entry));
  co_return co_await batches_.run(counters_, layout::Stage::log);
}

// The items may be longer than registered memory lends: they are written in pieces. The entry goes with the
// last piece.
reactor::Task<Status> Commit::log_in_room() {
  std::vector<std::byte> items(items_bound_bytes_);
  JournalItems writer(items);
  add_items(writer);
  items.resize(writer.used_bytes());
  journal_ = fabric::LocalBuffer(worker_.cluster.pool(), kEntryWithRoom_bytes + layout::kJournalPad_bytes);
  const fabric::LocalBuffer piece(worker_.cluster.pool(),
                                  std::min<std::uint64_t>(items.size(), fabric::kMaxOperation_bytes));
  std::uint64_t written = 0;
  while (true) {
    const std::uint64_t length = std::min<std::uint64_t>(items.size() - written, fabric::kMaxOperation_bytes);
    std::memcpy(piece.data(), items.data() + written, length);
    batches_.write(room_ + written, piece.data(), length);
    written += length;
    if (written == items.size()) break;
    const Status status = co_await batches_.run(counters_, layout::Stage::log);
    if (!status.ok()) co_return status;
  }
  const txn::JournalPlace place = take_place(kEntryWithRoom_bytes, journal_.data() + kEntryWithRoom_bytes);
  JournalWriter entry({journal_.data(), kEntryWithRoom_bytes}, stamp_, lock_stamp_, journal_head());
  entry.room(room_, static_cast<std::uint32_t>(items.size()),
             layout::journal_room_checksum(items, place.entry));
  write_entry(place, journal_.data(), entry.finish(place.entry));
  co_return co_await batches_.run(counters_, layout::Stage::log);
}

void Commit::add_installs() {
  for (const RecordLock& record : records_) {
    const layout::RecordLayout& layout = record.access->table->record;
    const GlobalAddress address = record.access->lookup.record();
    const std::byte* image = record.access->image.data();
    if (layout.ring_slots != 0) {
      batches_.write(address + layout.ring_payload_offset(record.ring_slot), record.displaced_image().data(),
                     record.image_bytes);
      batches_.write(address + layout.ring_header_offset(record.ring_slot),
                     image + layout::overflow_head_offset(layout), 8);
    }
    install_body(record);
    batches_.write(address, image, 8);
  }
  chains_.install(stamp_);
  if (locking() != nullptr) locking()->add_unlocks(batches_);
}

void Commit::after_install() {
  if (locking() == nullptr) return;
  locking()->after_install();
  locking()->after_unlock();
}

bool Commit::install_passively(bool piggybacks) {
  const txn::Optimisations& optimisations = worker_.cluster.optimisations();
  if (!optimisations.passive_acknowledgement || !optimisations.outstanding_requests ||
      transaction_.control().waits_for_publish() || in_room_ || !batches_.only_writes() ||
      !worker_.passive_installs.takes(batches_.written_bytes())) {
    return false;
  }
  txn::PassiveInstall install{.batches = std::move(batches_),
                              .slot = slot_,
                              .counter = stamp_.counter,
                              .piggybacks = piggybacks,
                              .generation = transaction_.give_generation(),
                              .deleted = {}};
  for (const RecordLock& record : records_) {
    if (record.access->write == WriteKind::erase)
      install.deleted.emplace_back(record.access->table->id, record.access->lookup.record());
  }
  worker_.passive_installs.begin(std::move(install), counters_);
  return true;
}

reactor::Task<Status> Commit::install() {
  add_installs();
  // A call is not ordered behind WRITEs of the vector that are under way; nor are operations that are posted
  // one by one.
  const layout::ServerId publishing = slot_->publishing_server();
  const bool piggybacks = batches_.only(publishing) && slot_->may_piggyback(stamp_.counter) &&
                          !worker_.cluster.stages().two_sided(layout::Stage::install) &&
                          worker_.cluster.optimisations().outstanding_requests;
  if (piggybacks) {
    publish_word_ = fabric::LocalBuffer(worker_.cluster.pool(), 8);
    slot_->piggyback(stamp_.counter, batches_.at(publishing), publish_word_.data());
  }
  passive_ = install_passively(piggybacks);
  if (passive_) {
    after_install();
    co_return Status();
  }
  Status status = co_await batches_.run(counters_, layout::Stage::install);
  if (!status.ok()) co_return status;
  after_install();
  status = co_await publish(piggybacks);
  if (status.ok() && in_room_) co_await slot_->return_room(room_);
  co_return transaction_.control().waits_for_publish() ? status : Status();
}

reactor::Task<Status> Commit::publish(bool piggybacks) {
  if (piggybacks) {
    slot_->piggyback_completed(stamp_.counter);
    co_return Status();
  }
  ++counters_.writes;
  counters_.write_bytes += 8;
  if (!transaction_.control().waits_for_publish() && !in_room_) {
    worker_.slot_keeper.finish_later(slot_, stamp_.counter);
    co_return Status();
  }
  const txn::StageTimer timer(worker_.cluster.stage_times(), worker_.executor, counters_);
  ++counters_.round_trips;
  const Status status = co_await slot_->finish(stamp_.counter);
  timer.end(txn::Wait::publish);
  co_return status;
}

// The WRITEs of the body: the parts in which it differs from the current one.
void Commit::install_body(const RecordLock& record) {
  const GlobalAddress body = record.access->lookup.record() + 8;
  const std::span<std::byte> image = record.access->image_body();
  if (form() == layout::ImageForm::whole) return batches_.write(body, image.data(), image.size());
  layout::ChangedRuns runs(image, record.displaced_body(), 0, kWriteGap_bytes);
  for (layout::ChangedRun run; runs.next(run);) {
    batches_.write(body + run.begin, image.data() + run.begin, run.end - run.begin);
  }
}

reactor::Task<Status> Commit::release(Status reason) {
  for (RecordLock& record : records_) {
    if (!record.taken) continue;
    layout::store_word(record.buffer.data(), record.expected.value());
    batches_.write(record.access->lookup.record(), record.buffer.data(), 8);
  }
  chains_.release(stamp_);
  if (locking() != nullptr) locking()->add_unlocks(batches_);
  if (!batches_.empty()) {
    const Status status = co_await batches_.run(counters_, layout::Stage::release);
    if (!status.ok()) {
      slot_->fail();
      co_return lost_connection();
    }
  }
  if (worker_.cluster.failed()) {
    slot_->fail();
    co_return reason;
  }
  if (locking() != nullptr) locking()->after_unlock();
  chains_.give_back_space();
  if (!room_.null()) co_await slot_->return_room(room_);
  slot_->finish_aborted(stamp_.counter, journal_parts_);
  co_return reason;
}

void Commit::after_commit() {
  for (const RecordLock& record : records_) {
    const Access& access = *record.access;
    const layout::RecordLayout& layout = access.table->record;
    std::uint32_t unmoved = 1;
    for (std::uint32_t i = 0; i < layout.ring_slots; ++i) {
      if (!record.ring_moved(i)) ++unmoved;
    }
    if (layout.moves_versions() && 2 * unmoved > layout.ring_slots) {
      const bool urgent = 4 * unmoved > 3 * layout.ring_slots;
      worker_.hints.ring_fills(access.table->id, access.lookup.record(), urgent);
    }
    if (!passive_ && access.write == WriteKind::erase)
      worker_.hints.deleted(access.table->id, access.lookup.record());
  }
  chains_.remember_locations();
  indexes_.confirm();
}

}  // namespace namdb::protocol
