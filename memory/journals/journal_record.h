// A journal entry as it stands in the log (RecordKind::entry): where it was in its stream, and its bytes.
//
//   0   slot (high 32 bits), low 32 bits of the region's epoch: a server that starts anew has new streams
//   8   position in the slot's stream on this host
//   16  the entry as in the ring, of its own length (common/layout/journal.h)
//   ..  where its items stand in a room: the room's bytes, as many as the entry says
//
// The log certifies its records. The entry's own seal is checked once more when it is read back.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "common/layout/journal.h"

namespace namdb::memory {

inline constexpr std::size_t kJournalRecordHead_bytes = 16;

std::array<std::byte, kJournalRecordHead_bytes> journal_record_head(layout::StreamPlace place,
                                                                    std::uint64_t region_epoch);

struct JournalRecord {
  std::uint32_t epoch = 0;     // low bits of the region's
  layout::JournalEntry entry;  // with its items, whose spans point into the record
};

// nullopt where the record is not a complete entry of this host.
std::optional<JournalRecord> read_journal_record(std::span<const std::byte> record, layout::ServerId host);

}  // namespace namdb::memory
