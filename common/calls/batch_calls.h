// A stage of a transaction as one two-sided call (RCC §4, DrTM+H §3): the operations that it would post
// one-sided to a memory server, done there in the same order, many records in one message. Which stages run
// so is one setting of the database (stages.h): lock, install and release of one word, also after its owner
// died, share one atomicity domain either way, because the memory server does them through its loopback
// channel.
//
// BATCH_CALL (method 28):
//   request  operations, each {kind (8 bits) | length in bytes (24 bits, at the low end)}, {offset}, and then
//              read                nothing
//              write               the bytes
//              compare_and_swap    {expected}, {desired}
//   reply    in order, of each read the bytes, of each compare_and_swap the word that was there
// All fields are 64-bit words; offsets and lengths are multiples of 8. Requests are outside input: one that
// reaches beyond the region, or would make too long a reply, is refused as a whole.
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
  enum class Kind : std::uint8_t { read = 1, write = 2, compare_and_swap = 3 };
  Kind kind = Kind::read;
  std::uint32_t length_bytes = 0;  // of what is read or written; a compare_and_swap has 8
  std::uint64_t offset = 0;
  std::string_view bytes;  // write
  std::uint64_t expected = 0;
  std::uint64_t desired = 0;

  std::uint32_t reply_bytes() const { return kind == Kind::write ? 0 : length_bytes; }
  std::size_t request_bytes() const {
    return 16 + (kind == Kind::write ? length_bytes : kind == Kind::read ? 0 : 16);
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

// The operations of a request, whose bytes they borrow; nullopt if it is malformed, if one leaves the region,
// or if the reply would be longer than that.
std::optional<std::vector<BatchOperation>> decode_batch(std::string_view request, const RegionLength& region,
                                                        std::uint64_t max_reply_bytes);

}  // namespace namdb::calls
