// Lookups at the memory server (DrTM+H §6.1, RCC §5.2). A compute server that does not know a record's
// address sends one call instead of READs of the chain's buckets and then of the record, in dependent round
// trips. The answer has the bytes that those READs would have brought, with their addresses. The compute
// server checks these bytes in the same way, and remembers the addresses.
//
// FIND (method 30):
//   request  of each lookup {bucket offset}, {key hash}, {record bytes | wants the lease behind them << 32}
//   reply    of each lookup {buckets | has record << 32}; of each bucket {offset} and its bytes; of the
//            record {offset}, {lease} and its bytes
// All fields are 64-bit words. The buckets are those of the chain, from the requested one to the first that
// has an entry of that hash, and the record is that entry's. The memory server may stop earlier: at a bucket
// that is being written, at one that forwards to a larger array, after kMaxFoundBuckets, or when the reply is
// full. Then the compute server goes on from there. The lease is of a moment before the record was READ.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/calls/batch_calls.h"
#include "common/layout/bucket.h"

namespace namdb::calls {

inline constexpr std::uint16_t kFindMethod = 30;
inline constexpr std::uint32_t kMaxFoundBuckets = 8;

struct FindRequest {
  std::uint64_t bucket_offset = 0;
  std::uint64_t key_hash = 0;
  std::uint32_t record_bytes = 0;  // header word and body
  bool leases = false;

  static constexpr std::size_t kEncoded_bytes = 24;
};

void append(std::string& request, const FindRequest& lookup);
// nullopt if the request is malformed, or names addresses that cannot be in the region.
std::optional<std::vector<FindRequest>> decode_find(std::string_view request, const RegionLength& region);

// One lookup's part of a reply, read piece by piece. Borrows the bytes.
class FoundPieces {
 public:
  FoundPieces() = default;
  // From the beginning of `reply`, which then begins with the next one's; nullopt if it is not readable.
  static std::optional<FoundPieces> take(std::string_view& reply, std::uint64_t record_bytes);

  // The next bucket, if it is the one at that offset: its kBucket_bytes bytes, else empty.
  std::string_view take_bucket(std::uint64_t offset);
  // The record, if it is the one at that offset: the lease word and its bytes, else empty.
  std::string_view take_record(std::uint64_t offset);

 private:
  std::uint32_t buckets_ = 0;
  std::string_view bytes_;   // of buckets
  std::string_view record_;  // with its offset; empty: none
};

// The memory server's side: writes the reply to one lookup.
class FoundWriter {
 public:
  static constexpr std::size_t kPiece_bytes = 8 + layout::kBucket_bytes;
  void add_bucket(std::uint64_t offset, const std::byte* bucket);
  void add_record(std::uint64_t offset, std::uint64_t lease, const std::byte* record,
                  std::size_t length_bytes);
  void finish(std::string& reply) const;

 private:
  std::uint32_t buckets_ = 0;
  bool has_record_ = false;
  std::string pieces_;
};

}  // namespace namdb::calls
