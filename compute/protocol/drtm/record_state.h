// The state of a record under DrTM: its writer, and the time until which readers count on it (its Figure 9);
// and the rules of each kind of access to it (its Figure 10). DrTM has one word. Here it is a view of two,
// which one READ brings: the header word before the body, and the read lease behind it
// (common/layout/record_trailer.h).
//
//   write lock, owner   the header word: locked, and by which slot. Unlocked it names the version, so that a
//                       CAS from it locks exactly what was read; INIT is any unlocked word
//   read lease          the moment when the lease ends, in memory server 0's time; 0: there never was one. It
//                       only grows, and is not given back
//
// Two words cannot be taken by one CAS. So a reader raises the lease and READs the header word behind that,
// and a writer locks the header word and READs the lease behind that: CASes and the READs behind them are in
// order on each of the two channels, so at least one of the two sees the other. Records keep the header words
// of all protocols, which deciding, growth and the collector know.
#pragma once

#include <cstdint>

#include "common/base/clock.h"
#include "common/layout/stamp.h"
#include "compute/cluster/soft_time.h"

namespace namdb::protocol::drtm {

// How long a reader asks for (DrTM §5.3): a transaction that has locked nothing may be one that only reads.
inline constexpr std::uint64_t kReadOnlyLease_ns = kMillisecond_ns;
inline constexpr std::uint64_t kLease_ns = 400 * kMicrosecond_ns;
// A lease that others have taken is shared if so much of it is left for certain; else it is extended.
inline constexpr std::uint64_t kLeastLeft_ns = 100 * kMicrosecond_ns;
// No lease is asked for while the bounds of the time are further apart: it would keep writers out for longer
// than it is good for.
inline constexpr std::uint64_t kWidestTime_ns = 3 * kMillisecond_ns;
// So no lease ends later than this after it was taken. One that seems to is of an earlier clock, and over.
inline constexpr std::uint64_t kLongestLease_ns = kReadOnlyLease_ns + kWidestTime_ns;

struct RecordState {
  layout::HeaderWord header;
  std::uint64_t lease_end_ns = 0;

  bool write_locked() const { return header.locked(); }
};

// EXPIRED(end_time): no reader counts on it any more.
inline bool expired(std::uint64_t lease_end_ns, const txn::TimeBounds& now) {
  return now.after(lease_end_ns) || lease_end_ns > now.latest_ns + kLongestLease_ns;
}
// VALID(end_time): a reader may count on it, if so much is left.
inline bool valid(std::uint64_t lease_end_ns, const txn::TimeBounds& now, std::uint64_t left_ns = 0) {
  return lease_end_ns > now.latest_ns + left_ns && lease_end_ns <= now.latest_ns + kLongestLease_ns;
}

// REMOTE_READ. `take`: by CAS from the lease that was seen.
enum class ReadAccess : std::uint8_t { take, share, locked };
inline ReadAccess read_access(const RecordState& state, const txn::TimeBounds& now) {
  if (state.write_locked()) return ReadAccess::locked;
  return valid(state.lease_end_ns, now, kLeastLeft_ns) ? ReadAccess::share : ReadAccess::take;
}

// REMOTE_WRITE. `leased`: no sooner than the lease has ended.
enum class WriteAccess : std::uint8_t { take, leased, locked };
inline WriteAccess write_access(const RecordState& state, const txn::TimeBounds& now) {
  if (state.write_locked()) return WriteAccess::locked;
  return expired(state.lease_end_ns, now) ? WriteAccess::take : WriteAccess::leased;
}

}  // namespace namdb::protocol::drtm
