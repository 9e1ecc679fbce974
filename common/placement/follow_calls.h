// Calls of the copies of a region (memory/placement): hosts that have the log of its primary on their disks,
// too, block by block. The primary is the host that serves the region. Requests and replies are outside
// input, and made of fields (common/calls/fields.h).
//
// FOLLOW (method 95), from a copy, at the primary:
//   The request says up to where the copy's log is durable, and so acknowledges all before. It is answered
//   when there is something behind, or after a while; at once if the log is not the primary's.
//   reply    blocks      the next blocks of the log, whole, as they are on disk; perhaps none
//            ends_differ the copy has blocks that the primary has not: it is to ask again with its `recent`
//                        ones
//            cut         the last of them that the primary has, too
//            start_over  the primary has not what the copy lacks: it begins anew, with an empty folder
//   A copy without a log asks for one from `from` on.
//   Errors: cannot_connect_now: the region is not here, or not yet.
// COPY (method 97), from tools, at a host that has no region: it is to follow that region's primary.
//   Answered at once; MOVE without `from` says how far it is.
// LEAVE (method 98), from tools, at any host:
//   A copy stops to follow. A primary gives its region to a copy in sync: to that at `to`, or if that is
//   empty to the one that has most. Answered when it is done. The host has no region then, and gets none
//   before it is told to. Error object_not_in_prerequisite_state: there is no copy to give it to; or this is
//   the only copy in sync, and `force` is not set.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/clock.h"
#include "common/placement/configuration.h"

namespace namdb::placement {

inline constexpr std::uint16_t kFollowMethod = 95;
inline constexpr std::uint16_t kCopyMethod = 97;
inline constexpr std::uint16_t kLeaveMethod = 98;

// After it last posted FOLLOW, a copy waits for this time, and then for all leases of workers (LEASE,
// common/calls/hot_calls.h), before it opens the region.
inline constexpr std::uint64_t kLease_ns = 600 * kMillisecond_ns;
inline constexpr std::uint64_t kLeaseSlack_ns = 100 * kMillisecond_ns;

// As LogTail (memory/log/log_format.h).
struct LogPlace {
  std::uint64_t segment = 0;
  std::uint64_t offset = 0;
  std::uint64_t position = 0;
  std::uint64_t sequence = 0;
  std::uint64_t previous = 0;
  friend bool operator==(const LogPlace&, const LogPlace&) = default;
};
// A block, by its number in the log.
struct BlockMark {
  std::uint64_t sequence = 0;
  std::uint64_t checksum = 0;
  friend bool operator==(const BlockMark&, const BlockMark&) = default;
};
inline constexpr std::size_t kMaxMarks = 2048;

struct FollowRequest {
  std::uint64_t database_id = 0;  // 0: not known yet
  std::uint16_t server_id = 0;    // of the region
  std::string address;            // of the copy
  bool has_log = false;
  bool leaves = false;            // it is to be in sync no more
  bool whole = false;             // the folder has all that the region needs, up to the end of the log
  LogPlace end;                   // of its log
  std::uint64_t from = 0;         // without a log: the position that is needed
  std::vector<BlockMark> recent;  // ascending; empty unless asked for
};
enum class FollowAnswer : std::uint8_t { blocks = 1, ends_differ = 2, cut = 3, start_over = 4 };
struct FollowReply {
  FollowAnswer answer = FollowAnswer::blocks;
  std::uint64_t database_id = 0;
  std::uint64_t log_id = 0;
  std::uint64_t segment_bytes = 0;
  Place place;                   // of the region, as the primary knows it
  std::uint64_t position = 0;    // of the primary's log, its end
  std::uint64_t generation = 0;  // the newest whole checkpoint there
  LogPlace begin;                // blocks: of the first one
  BlockMark mark;                // cut
  std::string bytes;             // blocks
};
struct CopyRequest {
  std::uint16_t server_id = 0;
};
struct LeaveRequest {
  std::string to;
  bool force = false;
};

std::string encode(const FollowRequest& request);
std::string encode(const FollowReply& reply);
std::string encode(const CopyRequest& request);
std::string encode(const LeaveRequest& request);
std::optional<FollowRequest> decode_follow(std::string_view bytes);
std::optional<FollowReply> decode_follow_reply(std::string_view bytes);
std::optional<CopyRequest> decode_copy(std::string_view bytes);
std::optional<LeaveRequest> decode_leave(std::string_view bytes);

}  // namespace namdb::placement
