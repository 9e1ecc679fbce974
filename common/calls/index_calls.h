// The bytes of the calls about entries of secondary indexes. Numbers are little-endian, without gaps; a key
// is its length (16 bits) and its bytes. A list of items fills the rest of a request or reply.
//
// INDEX_WRITE (method 19): entries of a commit, or of an index build, on one memory server.
//   request  items {kind, and bit 7 if it goes ahead (8 bits) | index (32) | bytes of the declared columns,
//            0 = none are asked for (16) | key}
//   reply    for each item {sequence (64) | 1 when there are more candidates (8) | candidates (16) | keys}
//   add      the entry is there from now on, in doubt under that sequence
//   mark     the entry, if it is there, is in doubt from now on under that sequence
//   load     the entry is there from now on; in doubt only if it was
//   An add with declared bytes also asks for candidates: other entries whose keys begin with them.
//   An add or a mark that is ahead is sent together with the lock of its record. A worker that checked the
//   record now could find it unlocked, and would give a verdict that the commit makes untrue. So no worker is
//   asked to check the entry for 2 * kAheadOfLocks_ns, and a commit that has its locks only after
//   kAheadOfLocks_ns sends the item again, under them. Both are durations, and clocks differ in pace by less
//   than a factor of two.
// INDEX_SETTLE (method 20): verdicts on entries that were in doubt.
//   request  items {verdict (8) | index (32) | sequence (64) | key};   reply  empty
//   live     the record's version has this key: no doubt any more
//   dead     the record's version, published, does not have it: the entry goes once no snapshot needs it
//   open     there is no verdict yet: ask again later
//   A verdict counts only while the entry is in doubt under that very sequence.
// INDEX_DOUBTS (method 21): entries for the caller to check, for a while kept from other callers.
//   request  how many at most (32);   reply  items {index (32) | sequence (64) | key}
// INDEX_SEEK (method 22): keys of a range, in ascending or descending order.
//   request  index (32) | 1 = descending (8) | most keys (32) | low key | 1 = there is an end (8) | end
//   reply    1 = there are more (8) | the leaf's offset (64) | the page above it, 0 = none (64) | keys
//
// All requests are outside input. A key outside the part of the index that the memory server holds is
// answered with catalog_changed, an index that it does not have with undefined_object.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace namdb::calls {

inline constexpr std::uint16_t kIndexWriteMethod = 19;
inline constexpr std::uint16_t kIndexSettleMethod = 20;
inline constexpr std::uint16_t kIndexDoubtsMethod = 21;
inline constexpr std::uint16_t kIndexSeekMethod = 22;
inline constexpr std::uint64_t kAheadOfLocks_ns = 50'000'000;
// In the reply to one item.
inline constexpr std::size_t kMaxIndexCandidates = 64;

// Keys of decoded messages lie in the message's bytes.
struct IndexChange {
  enum class Kind : std::uint8_t { add = 1, mark = 2, load = 3 };
  Kind kind = Kind::add;
  std::uint32_t index = 0;
  std::uint16_t declared_bytes = 0;
  std::string_view key;
  bool ahead = false;
};

struct IndexChangeResult {
  std::uint64_t sequence = 0;  // 0: the entry is not in doubt
  bool more_candidates = false;
  std::vector<std::string_view> candidates;
};

struct IndexVerdict {
  enum class Kind : std::uint8_t { live = 1, dead = 2, open = 3 };
  Kind kind = Kind::open;
  std::uint32_t index = 0;
  std::uint64_t sequence = 0;
  std::string_view key;
};

struct IndexDoubt {
  std::uint32_t index = 0;
  std::uint64_t sequence = 0;
  std::string_view key;
};

struct IndexSeek {
  std::uint32_t index = 0;
  bool descending = false;
  std::uint32_t limit = 0;
  std::string_view low;
  std::optional<std::string_view> high;  // not part of the range
};

struct IndexSeekResult {
  bool more = false;
  std::uint64_t leaf_offset = 0;
  std::uint64_t parent_offset = 0;
  std::vector<std::string_view> keys;
};

// Append one item.
void append(std::string& bytes, const IndexChange& change);
void append(std::string& bytes, const IndexChangeResult& result);
void append(std::string& bytes, const IndexVerdict& verdict);
void append(std::string& bytes, const IndexDoubt& doubt);
// The whole message.
std::string encode(const IndexSeek& seek);
std::string encode(const IndexSeekResult& result);

// nullopt when the bytes are malformed.
std::optional<std::vector<IndexChange>> decode_index_changes(std::string_view bytes);
std::optional<std::vector<IndexChangeResult>> decode_index_results(std::string_view bytes);
std::optional<std::vector<IndexVerdict>> decode_index_verdicts(std::string_view bytes);
std::optional<std::vector<IndexDoubt>> decode_index_doubts(std::string_view bytes);
std::optional<IndexSeek> decode_index_seek(std::string_view bytes);
std::optional<IndexSeekResult> decode_index_seek_result(std::string_view bytes);

}  // namespace namdb::calls
