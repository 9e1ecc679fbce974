#include "memory/journals/stream.h"

#include <algorithm>
#include <array>
#include <utility>

#include "common/base/check.h"
#include "common/layout/words.h"

namespace namdb::memory {

using layout::JournalEntry;
using layout::JournalWriter;
using layout::kJournalAlign_bytes;

// A head can be read at every position: the rest of a lap is never shorter.
static_assert(JournalWriter::kLeast_bytes == kJournalAlign_bytes &&
              layout::kJournalPad_bytes <= kJournalAlign_bytes);
static_assert(BuddyAllocator::kSmallest_bytes % kJournalAlign_bytes == 0);

JournalStream::JournalStream(Region& region, const Block& ring, layout::StreamPlace begin,
                             fabric::PeerId owner, std::string compute_id, std::uint64_t& charged_bytes)
    : region_(region),
      ring_(ring),
      slot_(begin.slot),
      host_(begin.host),
      owner_(owner),
      compute_id_(std::move(compute_id)),
      charged_bytes_(charged_bytes),
      certified_(begin.position) {
  charged_bytes_ += ring.bytes;
}

JournalStream::~JournalStream() {
  for (const auto& [offset, room] : rooms_) release({offset, room.bytes, true});
  release(ring_);
}

void JournalStream::release(const Block& block) {
  region_.blocks().free(block.offset, block.bytes);
  charged_bytes_ -= block.bytes;
}

std::uint64_t JournalStream::durable() const {
  return durable_entries_ == entries_.size() ? certified_ : entries_[durable_entries_].begin;
}

std::uint64_t JournalStream::freed() const {
  return entries_.empty() ? certified_ : entries_.front().begin;
}

bool JournalStream::may_have_next() const {
  if (!broken_.ok() || certified_ + kJournalAlign_bytes > limit()) return false;
  const std::uint64_t magic = region_.load(offset(certified_)) >> 32;
  if (magic == layout::kJournalPadMagic) return true;
  // An earlier lap has another position.
  return magic == layout::kJournalMagic && region_.load(offset(certified_) + 24) == certified_;
}

std::optional<JournalEntry> JournalStream::entry_at(std::uint64_t position,
                                                    std::vector<std::byte>& bytes) const {
  std::array<std::byte, JournalWriter::kLeast_bytes> head;
  region_.read(offset(position), head);
  const std::uint64_t length = layout::journal_entry_bytes(head);
  if (length == 0 || layout::journal_entry_place(head, host_) != place(position)) return std::nullopt;
  // Neither of the two bounds the other: a lap may end before the limit, and behind it.
  if (length > rest_of_lap(position) || position + layout::journal_stream_bytes(length) > limit())
    return std::nullopt;
  const std::size_t begin = bytes.size();
  bytes.resize(begin + length);
  const std::span<std::byte> copy = std::span(bytes).subspan(begin);
  region_.read(offset(position), copy);
  auto entry = layout::read_journal_entry(copy, place(position));
  // The copy may have another head than the one that was checked.
  if (entry && entry->length_bytes == length) return entry;
  bytes.resize(begin);
  return std::nullopt;
}

void JournalStream::pass_pads() {
  while (certified_ + kJournalAlign_bytes <= limit()) {
    std::array<std::byte, layout::kJournalPad_bytes> head;
    region_.read(offset(certified_), head);
    const auto length = layout::read_journal_pad(head, place(certified_));
    if (!length || *length > rest_of_lap(certified_) || certified_ + *length > limit()) return;
    certified_ += *length;
    // Else pads alone could go on for ever: freed() follows the cursor where nothing is kept.
    if (certified_ % ring_.bytes == 0) return;
  }
}

std::optional<JournalEntry> JournalStream::next(std::vector<std::byte>& bytes) {
  if (!broken_.ok()) return std::nullopt;
  pass_pads();
  return entry_at(certified_, bytes);
}

std::optional<JournalEntry> JournalStream::next_of_abandoned(std::vector<std::byte>& bytes) {
  NAMDB_CHECK(abandoned_);
  if (!broken_.ok()) return std::nullopt;
  const std::uint64_t end = limit();
  for (std::uint64_t position = certified_; position + kJournalAlign_bytes <= end;
       position += kJournalAlign_bytes) {
    auto entry = entry_at(position, bytes);
    if (!entry) continue;
    certified_ = position;
    return entry;
  }
  return std::nullopt;
}

bool JournalStream::take_room(const JournalEntry& entry) {
  const auto room = rooms_.find(entry.room->address.offset());
  const bool lent = entry.room->address.server() == host_ && room != rooms_.end() && !room->second.taken &&
                    entry.room->length_bytes <= room->second.bytes;
  if (!lent) {
    break_off(Status(
        ErrorCode::protocol_violation,
        "an entry in the journal of slot " + std::to_string(slot_) + " names a room that it does not have"));
    return false;
  }
  room->second.taken = true;
  return true;
}

void JournalStream::drop_room(const JournalEntry& entry) {
  if (entry.room) rooms_.at(entry.room->address.offset()).taken = false;
}

void JournalStream::accept(JournalEntry entry, std::uint64_t log_begin, std::uint64_t log_end,
                           ExtentNumbers extents) {
  NAMDB_CHECK(entry.position == certified_);
  KeptEntry kept;
  kept.stamp = entry.stamp;
  kept.begin = entry.position;
  kept.end = entry.end();
  kept.log_begin = log_begin;
  kept.log_end = log_end;
  kept.configuration = entry.configuration;
  kept.regions = std::move(entry.regions);
  kept.extents = std::move(extents);
  if (entry.room) kept.room = entry.room->address.offset();
  certified_ = kept.end;
  through_ = std::max(through_, entry.through);
  entries_.push_back(std::move(kept));
  log_is_durable(log_durable_);
}

void JournalStream::learn_through(std::uint32_t counter) {
  through_ = std::max(through_, counter);
  free_front();
}

void JournalStream::decide(std::uint32_t counter, Verdict verdict) {
  verdicts_.emplace(counter, verdict);
  free_front();
}

void JournalStream::log_is_durable(std::uint64_t log_position) {
  log_durable_ = std::max(log_durable_, log_position);
  while (durable_entries_ < entries_.size() && entries_[durable_entries_].log_end <= log_durable_)
    ++durable_entries_;
  free_front();
}

void JournalStream::free_front() {
  while (durable_entries_ != 0 && decided(entries_.front())) {
    if (const auto room = rooms_.find(entries_.front().room); room != rooms_.end()) {
      release({room->first, room->second.bytes, true});
      rooms_.erase(room);
    }
    entries_.pop_front();
    --durable_entries_;
  }
}

std::uint64_t JournalStream::log_end_before(std::uint64_t position) const {
  const auto behind = std::ranges::lower_bound(entries_, position, {}, &KeptEntry::begin);
  return behind == entries_.begin() ? 0 : std::prev(behind)->log_end;
}

std::optional<std::uint64_t> JournalStream::oldest_undecided_log_begin() const {
  const auto oldest =
      std::ranges::find_if(entries_, [this](const KeptEntry& entry) { return !decided(entry); });
  if (oldest == entries_.end()) return std::nullopt;
  return oldest->log_begin;
}

std::uint64_t JournalStream::held_bytes() const {
  std::uint64_t bytes = ring_.bytes;
  for (const auto& [offset, room] : rooms_) bytes += room.bytes;
  return bytes;
}

std::map<std::uint64_t, std::uint64_t> JournalStream::rooms() const {
  std::map<std::uint64_t, std::uint64_t> bytes;
  for (const auto& [offset, room] : rooms_) bytes[offset] = room.bytes;
  return bytes;
}

void JournalStream::add_room(const Block& room) {
  rooms_[room.offset] = {room.bytes};
  charged_bytes_ += room.bytes;
}

bool JournalStream::give_back_room(std::uint64_t offset) {
  const auto room = rooms_.find(offset);
  if (room == rooms_.end() || room->second.taken) return false;
  release({offset, room->second.bytes, true});
  rooms_.erase(room);
  return true;
}

std::optional<EntryCopy> JournalStream::read_again(const KeptEntry& kept) const {
  std::vector<std::byte> bytes;
  auto entry = entry_at(kept.begin, bytes);
  if (!entry || entry->stamp != kept.stamp || entry->end() != kept.end) return std::nullopt;
  const std::uint64_t room = entry->room ? entry->room->address.offset() : 0;
  if (room != kept.room) return std::nullopt;
  if (!entry->room) return EntryCopy{std::move(bytes), std::move(*entry)};
  const std::size_t begin = bytes.size();
  const auto lent = rooms_.find(room);
  if (lent == rooms_.end() || entry->room->length_bytes > lent->second.bytes) return std::nullopt;
  bytes.resize(begin + entry->room->length_bytes);
  const std::span<std::byte> copy = std::span(bytes).subspan(begin);
  region_.read(room, copy);
  if (!layout::read_journal_room(copy, place(kept.begin), *entry)) return std::nullopt;
  return EntryCopy{std::move(bytes), std::move(*entry)};
}

}  // namespace namdb::memory
