// Locks that transactions wait for at the memory server (WAITDIE's waiting list, RCC §4.3): the event loop
// looks at the lock words of who waits, so that nobody asks again and again over the network.
//
// LOCK (method 31):
//   request  of each record {offset of its header word}, {the lock word that was seen}, {the own lock word}
//   reply    of each the word that was found: if it is not locked, it is now the own lock word's; else who
//            holds the record
// All fields are 64-bit words. A record is waited for while it is locked as it was seen, and a moment at
// most; then, if it is free, it is locked by CAS, for the oldest of those who wait for it here. Whether to
// wait for another holder the transaction decides anew. Once one is not got, the others are not waited for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/calls/stage_calls.h"
#include "common/layout/stamp.h"

namespace namdb::layout {

inline constexpr std::uint16_t kLockMethod = 31;

struct LockRequest {
  std::uint64_t offset = 0;
  HeaderWord seen;
  HeaderWord own;

  static constexpr std::size_t kEncoded_bytes = 24;
};

void append(std::string& request, const LockRequest& lock);
// nullopt if it is none, names words outside the region, or others than locks.
std::optional<std::vector<LockRequest>> decode_lock(std::string_view request, const RegionLength& region,
                                                    std::uint64_t max_reply_bytes);

}  // namespace namdb::layout
