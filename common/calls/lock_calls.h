// Locks that transactions wait for at the memory server (WAITDIE's waiting list, RCC §4.3). The server's
// event loop reads the lock words for them, so that they need not poll over the network.
//
// LOCK (method 31):
//   request  of each record {offset of its header word}, {the lock word that was seen}, {the own lock word}
//   reply    of each the word that was found: if it is not locked, the record now has the own lock word;
//            else it is the lock word of the record's holder
// All fields are 64-bit words. The server waits for a record while its lock word is the one that was seen,
// but only for a moment. Then, if it is free, the server locks it by CAS for the oldest of the transactions
// that wait for it here. The transaction decides anew whether to wait for another holder. Once one lock is
// not acquired, the server does not wait for the rest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/calls/batch_calls.h"
#include "common/layout/stamp.h"

namespace namdb::calls {

inline constexpr std::uint16_t kLockMethod = 31;

struct LockRequest {
  std::uint64_t offset = 0;
  layout::HeaderWord seen;
  layout::HeaderWord own;

  static constexpr std::size_t kEncoded_bytes = 24;
};

void append(std::string& request, const LockRequest& lock);
// nullopt if the request is malformed, names words outside the region, or has words that are not locks.
std::optional<std::vector<LockRequest>> decode_lock(std::string_view request, const RegionLength& region,
                                                    std::uint64_t max_reply_bytes);

}  // namespace namdb::calls
