#include "common/layout/journal.h"

#include <cstring>

#include "common/base/check.h"
#include "common/base/checksum.h"
#include "common/layout/bucket.h"
#include "common/layout/record.h"

namespace namdb::layout {
namespace {

// kind 8 bits | ring slot or number of writes 24 bits | image bytes or number of new records 32 bits
std::uint64_t item_word(JournalItem::Kind kind, std::uint32_t number, std::uint32_t low) {
  return (std::uint64_t{static_cast<std::uint8_t>(kind)} << 56) | (std::uint64_t{number & 0xffffff} << 32) |
         low;
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
        if (!cursor.word(length) || !cursor.word(address) || !cursor.run(length, write.bytes)) return false;
        write.address = GlobalAddress(address);
        item.writes.push_back(write);
      }
      return true;
    default:
      return false;
  }
}

}  // namespace

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

JournalWriter::JournalWriter(std::span<std::byte> buffer, Stamp stamp, Stamp lock)
    : buffer_(buffer), lock_counter_(lock == stamp ? 0 : lock.counter) {
  NAMDB_CHECK(lock == stamp || (lock.slot == stamp.slot && lock.counter != 0));
  word(0);  // magic and length, known at the end
  word(HeaderWord(stamp).value());
  word(0);  // lock counter and number of items, known at the end
}

void JournalWriter::word(std::uint64_t value) {
  NAMDB_CHECK(used_ + 8 <= buffer_.size());
  store_word(buffer_.data() + used_, value);
  used_ += 8;
}

void JournalWriter::bytes(std::span<const std::byte> source) {
  NAMDB_CHECK(source.size() % 8 == 0 && used_ + source.size() <= buffer_.size());
  std::memcpy(buffer_.data() + used_, source.data(), source.size());
  used_ += source.size();
}

void JournalWriter::update(GlobalAddress record, std::uint32_t ring_slot,
                           std::span<const std::byte> displaced, std::span<const std::byte> new_body,
                           ImageForm form) {
  ++items_;
  const std::size_t head = used_;
  word(0);  // the image's length, known at the end
  word(record.value);
  word(decode_body_header(displaced.data()).header_word().value());
  const std::uint32_t length = encode_image(new_body, displaced, record, buffer_.subspan(used_), form);
  used_ += length;
  store_word(buffer_.data() + head, item_word(JournalItem::Kind::update, ring_slot, length));
}

void JournalWriter::chain(GlobalAddress lock, std::uint32_t new_records, std::uint32_t writes) {
  ++items_;
  word(item_word(JournalItem::Kind::chain, writes, new_records));
  word(lock.value);
}

void JournalWriter::chain_write(GlobalAddress address, std::span<const std::byte> source) {
  word(source.size());
  word(address.value);
  bytes(source);
}

std::uint32_t JournalWriter::finish(GlobalAddress entry) {
  NAMDB_CHECK(used_ + 8 <= buffer_.size());
  store_word(buffer_.data(), (std::uint64_t{kJournalMagic} << 32) | static_cast<std::uint32_t>(used_ + 8));
  store_word(buffer_.data() + 16, (std::uint64_t{lock_counter_} << 32) | items_);
  word(checksum64(buffer_.first(used_), entry.value));
  return static_cast<std::uint32_t>(used_);
}

std::uint64_t journal_entry_bytes(std::span<const std::byte> bytes) {
  if (bytes.size() < JournalWriter::kFrame_bytes) return 0;
  const std::uint64_t first = load_word(bytes.data());
  const std::uint64_t length = first & 0xffffffff;
  return first >> 32 == kJournalMagic && length >= JournalWriter::kFrame_bytes && length % 8 == 0 ? length
                                                                                                  : 0;
}

std::optional<JournalEntry> read_journal_entry(std::span<const std::byte> bytes, GlobalAddress address) {
  const std::uint64_t length = journal_entry_bytes(bytes);
  if (length == 0 || length > bytes.size()) return std::nullopt;
  const auto covered = bytes.first(length - 8);
  if (checksum64(covered, address.value) != load_word(bytes.data() + covered.size())) return std::nullopt;

  JournalEntry entry;
  entry.stamp = HeaderWord(load_word(bytes.data() + 8)).stamp();
  const std::uint64_t items = load_word(bytes.data() + 16) & 0xffffffff;
  const auto lock_counter = static_cast<std::uint32_t>(load_word(bytes.data() + 16) >> 32);
  entry.lock = {entry.stamp.slot, lock_counter == 0 ? entry.stamp.counter : lock_counter};
  Cursor cursor(covered.subspan(24));
  for (std::uint64_t i = 0; i < items; ++i) {
    JournalItem item;
    if (!read_item(cursor, item)) return std::nullopt;
    entry.items.push_back(std::move(item));
  }
  if (!cursor.empty()) return std::nullopt;
  return entry;
}

}  // namespace namdb::layout
