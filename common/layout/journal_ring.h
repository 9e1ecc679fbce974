// A slot's journal ring, read as a whole by a reader that knows no position of its stream.
//
// Each entry says its position, and its seal proves it (journal.h). Position p stands at p mod the ring's
// length only, so the entry with the highest position is the newest that is complete. The owner has
// overwritten all that lies more than a ring's length before that entry's end, and nothing that may be
// unfinished. So every complete entry of an unfinished commit is found.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/layout/journal.h"

namespace namdb::layout {

// The complete entries that the owner of the ring has not overwritten, in the stream's order. Bytes that look
// like an entry in the midst of another are none. The entries' spans point into `ring`, the whole ring.
std::vector<JournalEntry> read_journal_ring(std::span<const std::byte> ring, std::uint32_t slot,
                                            ServerId host);

}  // namespace namdb::layout
