// A stage of a transaction as one two-sided call (RCC §4, DrTM+H §3): its operations at a memory server, in
// order, many records in one message. Adjacent stages whose operations follow one another there are one call.
// One setting of the database says which stages run so (stages.h). Either way lock, install and release of
// one word, also after its owner died, share one atomicity domain: the memory server changes lock words
// through its loopback channel.
//
// BATCH_CALL (method 28):
//   request  operations, each a head {kind (3 bits, at the high end) | length in words, less one (16 bits) |
//            offset in words (45 bits)}, and then
//              read                nothing
//              write               the bytes
//              compare_and_swap    {expected}, {desired}
//              fenced_read         nothing. One word, READ before all that follow: as by a compare_and_swap
//                                  that changes nothing
//              install             nothing. Installs the items of the journal entry of that length that
//                                  stands there, and releases their locks, as their owner would
//                                  (memory/apply/applier.h). An operation before may have written the entry
//              lock                {table (32 bits, at the high end) | incarnation (16) | mask (16)}, {lock
//                                  word}. Locks the record there if it is of that table, is unlocked, and has
//                                  that incarnation in the bits of the mask. Then reads so many of its bytes,
//                                  from the header word on
//              lock_another        the same, with the lock word of the lock before it
//   reply    in order, of each read, fenced_read and lock the bytes, of each compare_and_swap the word that
//            was there. If the call locked the record, the header word in its bytes is the one that the lock
//            replaced, marked as `moved`; no header word in a region has that mark (stamp.h)
// Requests are outside input. A request is refused as a whole if it reaches beyond the region, would make too
// long a reply, or installs more bytes than a reply may have. An entry is installed only for the owner of its
// slot's journal, and only if it is complete and has its items in it; otherwise the call fails there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace namdb::calls {

inline constexpr std::uint16_t kBatchCallMethod = 28;

struct BatchOperation {
  enum class Kind : std::uint8_t {
    read = 1,
    write = 2,
    compare_and_swap = 3,
    fenced_read = 4,
    install = 5,
    lock = 6,
    lock_another = 7  // in requests only
  };
  // A longer operation has no place in a call.
  static constexpr std::uint32_t kMost_bytes = 8U << 16;
  Kind kind = Kind::read;
  // Of what is read, written or installed; a compare_and_swap and a fenced_read have 8. 8 to kMost_bytes.
  std::uint32_t length_bytes = 0;
  std::uint64_t offset = 0;
  std::string_view bytes;      // write
  std::uint64_t expected = 0;  // compare_and_swap; lock: the record_of() it
  std::uint64_t desired = 0;   // compare_and_swap; lock: the lock word

  static constexpr std::uint64_t record_of(std::uint32_t table, std::uint16_t incarnation,
                                           std::uint16_t mask) {
    return std::uint64_t{table} << 32 | std::uint64_t{incarnation} << 16 | mask;
  }
  std::uint32_t reply_bytes() const {
    return kind == Kind::write || kind == Kind::install ? 0 : length_bytes;
  }
  std::size_t request_bytes() const {
    const bool words = kind == Kind::compare_and_swap || kind == Kind::lock;
    return 8 + (kind == Kind::write ? length_bytes : words ? 16 : kind == Kind::lock_another ? 8 : 0);
  }
};

void append(std::string& request, const BatchOperation& operation);

// The region's length, and the limit up to which it may grow. Memory below the limit can be READ already
// (fabric.h, 9), and a compare_and_swap there finds zero, if it does not expect zero. (Leases are read so, at
// addresses that may be of a time when the region was longer.)
struct RegionLength {
  std::uint64_t region_bytes = 0;
  std::uint64_t limit_bytes = 0;
};

// The operations of a request, whose bytes they borrow. nullopt if the request is malformed, if an operation
// leaves the region, or if reply and installed entries together would be longer than the limit.
std::optional<std::vector<BatchOperation>> decode_batch(std::string_view request, const RegionLength& region,
                                                        std::uint64_t max_reply_bytes);

}  // namespace namdb::calls
