// Timestamps of transactions that choose theirs when they begin (RCC §4.4): 64 bits, nanoseconds of memory
// server 0's clock as this compute server estimates it. Clocks that differ cost aborts and older reads, never
// correctness. They are synchronised with every heartbeat, and on demand when a transaction meets a newer
// timestamp.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/base/clock.h"

namespace namdb::txn {

class TimestampClock {
 public:
  explicit TimestampClock(const Clock& clock) : clock_(clock) {}

  // Newer than any that this gave or met before.
  std::uint64_t next() {
    last_ = std::max(last_ + 1, clock_.now_ns() + offset_ns_);
    return last_;
  }
  // The estimated lead of memory server 0's clock over this one, in ns, modulo 2^64.
  std::uint64_t offset_ns() const { return offset_ns_; }
  void meet(std::uint64_t timestamp) { last_ = std::max(last_, timestamp); }
  // Memory server 0's clock said `server_ns` at some moment from `sent_ns` of this one's until now.
  void follow(std::uint64_t server_ns, std::uint64_t sent_ns) {
    const std::uint64_t now_ns = clock_.now_ns();
    offset_ns_ = server_ns + (now_ns - sent_ns) / 2 - now_ns;  // modulo 2^64
  }

 private:
  const Clock& clock_;
  std::uint64_t offset_ns_ = 0;
  std::uint64_t last_ = 0;
};

}  // namespace namdb::txn
