#include "common/layout/journal.h"

#include <algorithm>
#include <cstring>

#include "common/base/check.h"
#include "common/base/checksum.h"
#include "common/layout/bucket.h"
#include "common/layout/record.h"

namespace namdb::layout {
namespace {

constexpr std::uint8_t kRoomKind = 3;

// kind 8 bits | ring slot or number of writes 24 bits | image or room bytes, or number of new records 32 bits
std::uint64_t item_word(std::uint8_t kind, std::uint32_t number, std::uint32_t low) {
  return (std::uint64_t{kind} << 56) | (std::uint64_t{number & 0xffffff} << 32) | low;
}
std::uint64_t item_word(JournalItem::Kind kind, std::uint32_t number, std::uint32_t low) {
  return item_word(static_cast<std::uint8_t>(kind), number, low);
}

std::uint64_t magic_word(std::uint32_t magic, std::uint64_t length_bytes) {
  return (std::uint64_t{magic} << 32) | static_cast<std::uint32_t>(length_bytes);
}

// Takes words and byte runs off a span; stays put and fails when too little is left.
class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes) : bytes_(bytes) {}
  bool word(std::uint64_t& value) {
    if (bytes_.size() < 8) return false;
    value = load_word(bytes_.data());
    bytes_ = bytes_.subspan(8);
    return true;
  }
  bool run(std::uint64_t length_bytes, std::span<const std::byte>& out) {
    if (length_bytes % 8 != 0 || length_bytes > bytes_.size()) return false;
    out = bytes_.first(length_bytes);
    bytes_ = bytes_.subspan(length_bytes);
    return true;
  }
  bool empty() const { return bytes_.empty(); }

 private:
  std::span<const std::byte> bytes_;
};

bool read_item(Cursor& cursor, JournalItem& item) {
  std::uint64_t head = 0;
  std::uint64_t lock = 0;
  if (!cursor.word(head) || !cursor.word(lock)) return false;
  item.lock = GlobalAddress(lock);
  const auto number = static_cast<std::uint32_t>(head >> 32) & 0xffffff;
  switch (static_cast<JournalItem::Kind>(head >> 56)) {
    case JournalItem::Kind::update: {
      std::uint64_t displaced = 0;
      item.kind = JournalItem::Kind::update;
      item.ring_slot = number;
      if (!cursor.word(displaced)) return false;
      item.displaced = HeaderWord(displaced);
      return number < kMaxRingSlots && cursor.run(head & 0xffffffff, item.image) &&
             item.image.size() >= kBodyPrefix_bytes;
    }
    case JournalItem::Kind::chain:
      item.kind = JournalItem::Kind::chain;
      item.new_records = static_cast<std::uint32_t>(head);
      if (item.new_records > number) return false;
      for (std::uint32_t i = 0; i < number; ++i) {
        std::uint64_t length = 0;
        std::uint64_t address = 0;
        JournalWrite write;
        if (!cursor.word(length) || !cursor.word(address)) return false;
        if (i < item.new_records && !cursor.word(write.grant)) return false;
        if (!cursor.run(length, write.bytes)) return false;
        write.address = GlobalAddress(address);
        item.writes.push_back(write);
      }
      return true;
    default:
      return false;
  }
}

// An entry with a room has no other item.
bool read_room(Cursor cursor, JournalEntry& entry) {
  std::uint64_t head = 0;
  std::uint64_t address = 0;
  std::uint64_t checksum = 0;
  if (!cursor.word(head) || head >> 32 != std::uint64_t{kRoomKind} << 24) return false;
  if (!cursor.word(address) || !cursor.word(checksum) || !cursor.empty()) return false;
  entry.room = {GlobalAddress(address), static_cast<std::uint32_t>(head), checksum};
  return true;
}

}  // namespace

// Positions are far below 2^48, and slot and host have 45 bits together: an odd factor keeps them apart.
std::uint64_t StreamPlace::seed() const {
  return position ^ (((std::uint64_t{slot} << 16) | host) * 0x9e3779b97f4a7c15ULL);
}

std::optional<JournalItem::Name> JournalItem::name_of(const JournalWrite& new_record) const {
  if (new_record.bytes.size() < 8 + kBodyPrefix_bytes) return std::nullopt;
  const std::uint32_t incarnation = decode_body_header(new_record.bytes.data() + 8).incarnation;
  const std::uint64_t word = BucketEntry::make(0, new_record.address.offset(), incarnation).location;
  for (std::size_t i = new_records; i < writes.size(); ++i) {
    for (std::size_t at = 0; at < writes[i].bytes.size(); at += 8) {
      if (load_word(writes[i].bytes.data() + at) == word) return Name{writes[i].address + at, word};
    }
  }
  return std::nullopt;
}

JournalWriter::JournalWriter(std::span<std::byte> buffer, Stamp stamp, Stamp lock, const EntryHead& head)
    : JournalItems(buffer), lock_counter_(lock == stamp ? 0 : lock.counter) {
  NAMDB_CHECK(lock == stamp || (lock.slot == stamp.slot && lock.counter != 0));
  NAMDB_CHECK(!head.regions.empty() && head.regions.size() <= 0xffff);
  word(0);  // magic and length, known at the end
  word(HeaderWord(stamp).value());
  word(0);  // lock counter and number of items, known at the end
  word(0);  // position, known at the end
  word((std::uint64_t{head.configuration} << 32) | (std::uint64_t{head.flags} << 16) | head.regions.size());
  word(std::uint64_t{head.through} << 32);
  for (std::size_t i = 0; i < head.regions.size(); i += 4) {
    std::uint64_t ids = 0;
    for (std::size_t k = i; k < std::min(i + 4, head.regions.size()); ++k)
      ids |= std::uint64_t{head.regions[k]} << (16 * (k - i));
    word(ids);
  }
}

void JournalItems::pass_limit(std::size_t /*length_bytes*/) {
  NAMDB_CHECK(!"journal items are longer than their buffer");
}

void JournalItems::word(std::uint64_t value) {
  need(8);
  store_word(buffer_.data() + used_, value);
  used_ += 8;
}

void JournalItems::bytes(std::span<const std::byte> source) {
  NAMDB_CHECK(source.size() % 8 == 0);
  need(source.size());
  if (!source.empty()) std::memcpy(buffer_.data() + used_, source.data(), source.size());
  used_ += source.size();
}

void JournalItems::update(GlobalAddress record, std::uint32_t ring_slot, std::span<const std::byte> displaced,
                          std::span<const std::byte> new_body, ImageForm form) {
  ++items_;
  constexpr std::size_t kHead_bytes = 24;
  // Behind this there is room for all of it: nothing may move before its length is there.
  need(update_bytes(new_body.size()));
  std::byte* const head = buffer_.data() + used_;
  const std::uint32_t length =
      encode_image(new_body, displaced, record, buffer_.subspan(used_ + kHead_bytes), form);
  store_word(head, item_word(JournalItem::Kind::update, ring_slot, length));
  store_word(head + 8, record.value);
  store_word(head + 16, decode_body_header(displaced.data()).header_word().value());
  used_ += kHead_bytes + length;
}

void JournalItems::chain(GlobalAddress lock, std::uint32_t new_records, std::uint32_t writes) {
  ++items_;
  word(item_word(JournalItem::Kind::chain, writes, new_records));
  word(lock.value);
}

void JournalItems::chain_record(GlobalAddress address, std::uint64_t grant,
                                std::span<const std::byte> source) {
  word(source.size());
  word(address.value);
  word(grant);
  bytes(source);
}

void JournalItems::chain_write(GlobalAddress address, std::span<const std::byte> source) {
  word(source.size());
  word(address.value);
  bytes(source);
}

void JournalWriter::room(GlobalAddress address, std::uint32_t length_bytes, std::uint64_t checksum) {
  NAMDB_CHECK(items_ == 0);
  ++items_;
  word(item_word(kRoomKind, 0, length_bytes));
  word(address.value);
  word(checksum);
}

std::uint32_t JournalWriter::finish(StreamPlace place) {
  NAMDB_CHECK(used_ + 8 <= buffer_.size() && place.position % kJournalAlign_bytes == 0);
  store_word(buffer_.data(), magic_word(kJournalMagic, used_ + 8));
  store_word(buffer_.data() + 16, (std::uint64_t{lock_counter_} << 32) | items_);
  store_word(buffer_.data() + 24, place.position);
  word(checksum64(buffer_.first(used_), place.seed()));
  return used_bytes();
}

void JournalRoomChecksum::add(std::span<const std::byte> piece) {
  last_ = checksum64(piece, last_);
}

std::uint64_t JournalRoomChecksum::at(StreamPlace place) const {
  return checksum64(std::as_bytes(std::span(&last_, 1)), place.seed());
}

std::uint64_t journal_room_checksum(std::span<const std::byte> items, StreamPlace place) {
  JournalRoomChecksum checksum;
  for (; !items.empty(); items = items.subspan(std::min(items.size(), JournalRoomChecksum::kPiece_bytes)))
    checksum.add(items.first(std::min(items.size(), JournalRoomChecksum::kPiece_bytes)));
  return checksum.at(place);
}

std::uint64_t journal_entry_bytes(std::span<const std::byte> bytes) {
  if (bytes.size() < JournalWriter::kLeast_bytes) return 0;
  const std::uint64_t first = load_word(bytes.data());
  const std::uint64_t length = first & 0xffffffff;
  const bool entry = first >> 32 == kJournalMagic && length >= JournalWriter::kLeast_bytes && length % 8 == 0;
  return entry ? length : 0;
}

std::optional<StreamPlace> journal_entry_place(std::span<const std::byte> bytes, ServerId host) {
  if (journal_entry_bytes(bytes) == 0) return std::nullopt;
  return StreamPlace{HeaderWord(load_word(bytes.data() + 8)).stamp().slot, host,
                     load_word(bytes.data() + 24)};
}

std::optional<JournalEntry> read_journal_entry(std::span<const std::byte> bytes, StreamPlace place) {
  const std::uint64_t length = journal_entry_bytes(bytes);
  if (length == 0 || length > bytes.size()) return std::nullopt;
  const auto covered = bytes.first(length - 8);
  if (journal_entry_place(bytes, place.host) != place ||
      checksum64(covered, place.seed()) != load_word(bytes.data() + covered.size())) {
    return std::nullopt;
  }
  JournalEntry entry;
  entry.position = place.position;
  entry.length_bytes = static_cast<std::uint32_t>(length);
  entry.stamp = HeaderWord(load_word(bytes.data() + 8)).stamp();
  const std::uint64_t counts = load_word(bytes.data() + 16);
  const auto lock_counter = static_cast<std::uint32_t>(counts >> 32);
  entry.lock = {entry.stamp.slot, lock_counter == 0 ? entry.stamp.counter : lock_counter};
  const std::uint64_t head = load_word(bytes.data() + 32);
  entry.configuration = static_cast<std::uint32_t>(head >> 32);
  entry.flags = static_cast<std::uint16_t>(head >> 16);
  entry.through = static_cast<std::uint32_t>(load_word(bytes.data() + 40) >> 32);
  const std::size_t regions = head & 0xffff;
  const std::size_t frame_bytes = JournalWriter::frame_bytes(regions);
  if (regions == 0 || frame_bytes > length) return std::nullopt;
  for (std::size_t i = 0; i < regions; ++i) {
    const std::uint64_t ids = load_word(bytes.data() + JournalWriter::kHead_bytes + i / 4 * 8);
    entry.regions.push_back(static_cast<ServerId>(ids >> (16 * (i % 4))));
  }
  Cursor cursor(covered.subspan(frame_bytes - 8));
  const std::uint64_t items = counts & 0xffffffff;
  if (items == 1 && read_room(cursor, entry)) return entry;
  for (std::uint64_t i = 0; i < items; ++i) {
    JournalItem item;
    if (!read_item(cursor, item)) return std::nullopt;
    entry.items.push_back(std::move(item));
  }
  if (!cursor.empty()) return std::nullopt;
  return entry;
}

bool read_journal_room(std::span<const std::byte> bytes, StreamPlace place, JournalEntry& entry) {
  entry.items.clear();
  if (!entry.room || entry.room->length_bytes > bytes.size()) return false;
  const auto items = bytes.first(entry.room->length_bytes);
  // The other one is of logs of format 1.
  if (journal_room_checksum(items, place) != entry.room->checksum &&
      checksum64(items, place.seed()) != entry.room->checksum)
    return false;
  Cursor cursor(items);
  while (!cursor.empty()) {
    JournalItem item;
    if (!read_item(cursor, item)) {
      entry.items.clear();
      return false;
    }
    entry.items.push_back(std::move(item));
  }
  return true;
}

std::array<std::byte, kJournalPad_bytes> journal_pad(std::uint32_t length_bytes, StreamPlace place) {
  NAMDB_CHECK(length_bytes != 0 && length_bytes % kJournalAlign_bytes == 0);
  std::array<std::byte, kJournalPad_bytes> pad{};
  store_word(pad.data(), magic_word(kJournalPadMagic, length_bytes));
  store_word(pad.data() + 8, checksum64(std::span(pad).first(8), place.seed()));
  return pad;
}

std::optional<std::uint32_t> read_journal_pad(std::span<const std::byte> bytes, StreamPlace place) {
  if (bytes.size() < kJournalPad_bytes) return std::nullopt;
  const std::uint64_t first = load_word(bytes.data());
  const auto length = static_cast<std::uint32_t>(first);
  if (first >> 32 != kJournalPadMagic || length == 0 || length % kJournalAlign_bytes != 0)
    return std::nullopt;
  if (checksum64(bytes.first(8), place.seed()) != load_word(bytes.data() + 8)) return std::nullopt;
  return length;
}

}  // namespace namdb::layout
