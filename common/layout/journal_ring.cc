#include "common/layout/journal_ring.h"

#include <algorithm>

namespace namdb::layout {

std::vector<JournalEntry> read_journal_ring(std::span<const std::byte> ring, std::uint32_t slot,
                                            ServerId host) {
  std::vector<JournalEntry> entries;
  std::uint64_t end = 0;
  for (std::uint64_t at = 0; at < ring.size(); at += kJournalAlign_bytes) {
    const auto place = journal_entry_place(ring.subspan(at), host);
    if (!place || place->slot != slot || place->position % ring.size() != at) continue;
    auto entry = read_journal_entry(ring.subspan(at), *place);
    if (!entry) continue;
    end = std::max(end, entry->end());
    entries.push_back(std::move(*entry));
  }
  std::ranges::sort(entries, {}, &JournalEntry::position);
  std::vector<JournalEntry> latest;
  for (JournalEntry& entry : entries) {
    const bool overwritten = entry.position + ring.size() < end;
    const bool within = !latest.empty() && entry.position < latest.back().end();
    if (!overwritten && !within) latest.push_back(std::move(entry));
  }
  return latest;
}

}  // namespace namdb::layout
