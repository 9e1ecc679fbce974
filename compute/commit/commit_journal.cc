#include "compute/commit/commit_journal.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "compute/cluster/stage_times.h"
#include "compute/txn/errors.h"

namespace namdb::protocol {

using layout::GlobalAddress;
using layout::JournalWriter;
using layout::ServerId;

void JournalBytes::add(ServerId host, std::uint64_t bytes) {
  const auto place = std::ranges::lower_bound(hosts_, host, {}, &txn::HostBytes::host);
  if (place != hosts_.end() && place->host == host) {
    place->bytes += bytes;
  } else {
    hosts_.insert(place, txn::HostBytes{host, bytes});
  }
}

std::uint64_t JournalBytes::of(ServerId host) const {
  const auto place = std::ranges::lower_bound(hosts_, host, {}, &txn::HostBytes::host);
  return place != hosts_.end() && place->host == host ? place->bytes : 0;
}

std::uint32_t CommitJournal::frame_bytes() const {
  return JournalWriter::frame_bytes(regions_.size());
}

bool CommitJournal::in_room() const {
  return std::ranges::any_of(parts_, [](const Part& part) { return part.in_room; });
}

Status CommitJournal::check_size(std::uint64_t items_bytes) const {
  if (items_bytes <= slot_->max_room_bytes()) return Status();
  return Status(ErrorCode::limit_exceeded,
                "the transaction's journal entry would have " + std::to_string(items_bytes) +
                    " bytes; it can have at most " + std::to_string(slot_->max_room_bytes()),
                "commit in smaller parts");
}

reactor::Task<Result<std::uint32_t>> CommitJournal::begin(std::shared_ptr<txn::ExecutionSlot> slot) {
  slot_ = std::move(slot);
  const JournalBytes bound = contents_.journal_bound();
  bool open = true;
  for (const txn::HostBytes& part : bound.all()) {
    parts_.push_back({.host = part.host, .bound_bytes = part.bytes});
    regions_.push_back(part.host);
    open = open && slot_->journals().open_at(part.host);
  }
  if (!open) {
    slot_->add_holder();  // the slot must not be closed meanwhile
    std::vector<ServerId> hosts(regions_.begin(), regions_.end());
    Status status = co_await slot_->journals().open(std::move(hosts));
    slot_->drop_holder();
    if (!status.ok()) co_return Result<std::uint32_t>(std::move(status));
  }
  Status status = plan();
  if (!status.ok()) co_return Result<std::uint32_t>(std::move(status));
  const std::span<const txn::HostBytes> credit(credit_);
  if (const auto counter = slot_->begin_commit_now(credit)) co_return *counter;
  co_return co_await slot_->begin_commit(credit);
}

Status CommitJournal::plan() {
  for (Part& part : parts_) {
    part.entry_bytes = frame_bytes() + part.bound_bytes;
    part.in_room = !slot_->journals().fits_ring(part.host, part.entry_bytes);
    if (part.in_room) {
      Status status = check_size(contents_.journal_least().of(part.host));
      if (!status.ok()) return status;
      part.entry_bytes = frame_bytes() + JournalWriter::kRoom_bytes;
    }
    credit_.push_back({part.host, layout::journal_stream_bytes(part.entry_bytes)});
  }
  return Status();
}

// The locks are held meanwhile, but for no longer than a call each: where the region is full, it is refused
// at once.
reactor::Task<Status> CommitJournal::borrow_rooms() {
  const JournalBytes bytes = contents_.journal_bytes();
  for (Part& part : parts_) {
    if (!part.in_room) continue;
    part.bound_bytes = bytes.of(part.host);
    Status status = check_size(part.bound_bytes);
    if (!status.ok()) co_return status;
    auto room = co_await slot_->borrow_room(part.host, part.bound_bytes);
    if (worker_.cluster.failed()) co_return lost_connection(room.status());
    if (!room.ok()) co_return room.status();
    part.room = *room;
  }
  co_return Status();
}

void CommitJournal::add_pieces(Part& part, RoomItems& items, bool last) {
  part.pieces = last ? items.take_rest() : items.take_full();
  for (const RoomItems::Piece& piece : part.pieces) {
    NAMDB_CHECK(part.written_bytes + piece.length_bytes <= part.bound_bytes);
    part.checksum.add({piece.buffer.data(), piece.length_bytes});
    batches_.write(part.room + part.written_bytes, piece.buffer.data(), piece.length_bytes);
    part.written_bytes += piece.length_bytes;
  }
}

// The items may be longer than registered memory lends: they are written piece by piece. The entry goes with
// the last one.
reactor::Task<Status> CommitJournal::write_room(Part* part) {
  RoomItems items(worker_.cluster.pool());
  for (RowParts rows = contents_.journal_parts(); rows.next();) {
    contents_.add_items(part->host, rows, items);
    if (!rows.more()) {
      add_pieces(*part, items, true);
      break;
    }
    if (items.has_enough()) {
      add_pieces(*part, items, false);
      const Status status = co_await batches_.run(counters_, Stage::log);
      if (!status.ok()) co_return status;
    }
    // Over shared memory nothing suspends: others have their turn between two pieces.
    co_await worker_.executor.yield();
  }
  co_return Status();
}

void CommitJournal::add_write(GlobalAddress to, const std::byte* from, std::uint32_t length_bytes) {
  for (std::uint32_t written = 0; written < length_bytes; written += fabric::kMaxOperation_bytes) {
    batches_.write(to + written, from + written,
                   std::min(fabric::kMaxOperation_bytes, length_bytes - written));
  }
}

void CommitJournal::add_entry(Part& part, std::size_t index, layout::Stamp stamp, layout::Stamp lock) {
  part.entry = fabric::LocalBuffer(worker_.cluster.pool(), part.entry_bytes + layout::kJournalPad_bytes);
  std::byte* const pad = part.entry.data() + part.entry_bytes;
  const layout::EntryHead head{.through = slot_->through(), .regions = regions_};
  JournalWriter writer({part.entry.data(), part.entry_bytes}, stamp, lock, head);
  std::uint32_t length_bytes = frame_bytes() + JournalWriter::kRoom_bytes;
  if (!part.in_room) {
    for (RowParts rows = contents_.journal_parts(); rows.next();)
      contents_.add_items(part.host, rows, writer);
    length_bytes = writer.length_bytes();
  }
  const txn::JournalPlace place = slot_->journals().place(stamp.counter, credit_[index], length_bytes);
  if (place.pad_bytes != 0) {
    const auto bytes = layout::journal_pad(place.pad_bytes, place.pad);
    std::memcpy(pad, bytes.data(), bytes.size());
    batches_.write(place.pad_address, pad, bytes.size());
  }
  if (part.in_room) {
    writer.room(part.room, static_cast<std::uint32_t>(part.written_bytes), part.checksum.at(place.entry));
  }
  part.end = place.entry.position + layout::journal_stream_bytes(length_bytes);
  part.address = place.address;
  part.length_bytes = writer.finish(place.entry);
  add_write(part.address, part.entry.data(), part.length_bytes);
}

bool CommitJournal::can_be_installed() const {
  return std::ranges::all_of(parts_, [](const Part& part) {
    return !part.in_room && part.entry_bytes <= txn::BatchSet::kMostInstalled_bytes;
  });
}

void CommitJournal::add_installs() const {
  for (const Part& part : parts_) batches_.install(part.address, part.length_bytes);
}

void CommitJournal::add_entries(layout::Stamp stamp, layout::Stamp lock) {
  for (std::size_t i = 0; i < parts_.size(); ++i) add_entry(parts_[i], i, stamp, lock);
}

reactor::Task<Status> CommitJournal::log(layout::Stamp stamp, layout::Stamp lock) {
  for (Part& part : parts_) {
    if (!part.in_room) continue;
    const Status status = co_await write_room(&part);
    if (!status.ok()) co_return status;
  }
  add_entries(stamp, lock);
  if (worker_.cluster.flushed()) co_return co_await write_and_flush();
  co_return co_await batches_.run(counters_, Stage::log);
}

void CommitJournal::post_flushes() {
  for (const Part& part : parts_) slot_->journals().flush(part.host, part.end, counters_);
}

reactor::Task<Status> CommitJournal::write_and_flush() {
  txn::StageTimes* const times = worker_.cluster.stage_times();
  const bool together = worker_.cluster.optimisations().outstanding_requests;
  Status status;
  if (together && !worker_.cluster.stages().two_sided(Stage::log)) {
    const txn::StageTimer timer(times, worker_.executor, counters_);
    batches_.post(counters_);
    ++counters_.round_trips;
    post_flushes();
    status = co_await batches_.run(counters_);  // what is posted
    timer.end(Stage::log);
  } else {
    // The calls of a two-sided stage are posted by run(), in the same turn.
    if (together) post_flushes();
    status = co_await batches_.run(counters_, Stage::log);
  }
  co_return status;
}

reactor::Task<Status> CommitJournal::await_durable() {
  const txn::StageTimer timer(worker_.cluster.stage_times(), worker_.executor, counters_);
  if (!worker_.cluster.optimisations().outstanding_requests) {
    post_flushes();
    ++counters_.round_trips;
  }
  Status status;
  for (const Part& part : parts_) {
    status = co_await slot_->journals().await_durable({part.host, part.end});
    if (!status.ok()) break;
  }
  timer.end(txn::Wait::flush);
  co_return status;
}

reactor::PooledVector<txn::JournalEnd> CommitJournal::ends() const {
  reactor::PooledVector<txn::JournalEnd> ends;
  for (const Part& part : parts_) ends.push_back({part.host, part.end});
  return ends;
}

reactor::Task<void> CommitJournal::finish() {
  for (const Part& part : parts_) {
    if (part.in_room) co_await slot_->journals().tell_finished(part.host);
  }
}

reactor::Task<void> CommitJournal::abort(std::uint32_t counter) {
  for (const Part& part : parts_) {
    if (!part.room.null()) co_await slot_->return_room(part.room);
  }
  slot_->finish_aborted(counter, credit_);
}

}  // namespace namdb::protocol
