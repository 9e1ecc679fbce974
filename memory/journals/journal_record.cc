#include "memory/journals/journal_record.h"

#include "common/layout/words.h"

namespace namdb::memory {

using layout::load_word;
using layout::store_word;

std::array<std::byte, kJournalRecordHead_bytes> journal_record_head(layout::StreamPlace place,
                                                                    std::uint64_t region_epoch) {
  std::array<std::byte, kJournalRecordHead_bytes> head{};
  store_word(head.data(), (std::uint64_t{place.slot} << 32) | static_cast<std::uint32_t>(region_epoch));
  store_word(head.data() + 8, place.position);
  return head;
}

std::optional<JournalRecord> read_journal_record(std::span<const std::byte> record, layout::ServerId host) {
  if (record.size() < kJournalRecordHead_bytes) return std::nullopt;
  const std::uint64_t first = load_word(record.data());
  const layout::StreamPlace place{static_cast<std::uint32_t>(first >> 32), host,
                                  load_word(record.data() + 8)};
  const std::span<const std::byte> bytes = record.subspan(kJournalRecordHead_bytes);
  auto entry = layout::read_journal_entry(bytes, place);
  if (!entry) return std::nullopt;
  const std::span<const std::byte> behind = bytes.subspan(entry->length_bytes);
  if (!entry->room) {
    if (!behind.empty()) return std::nullopt;
  } else if (behind.size() != entry->room->length_bytes || !read_journal_room(behind, place, *entry)) {
    return std::nullopt;
  }
  return JournalRecord{static_cast<std::uint32_t>(first), std::move(*entry)};
}

}  // namespace namdb::memory
