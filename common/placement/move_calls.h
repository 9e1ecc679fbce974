// Calls about places of regions, and about their moves (memory/placement). But for the first one they come
// from tools and memory servers only; requests and replies are outside input, and made of fields
// (common/calls/fields.h).
//
// CONFIGURATION (method 90), from any peer, at any host, also one that has no region:
//   request  a configuration that the caller knows, or nothing
//   reply    the host's, behind learning the caller's
// FILES (method 91), at a host that has a region on disk:
//   the names and lengths of the files of its log or its checkpoints, by ascending name, and the log's
//   durable end. One answer has a part of them.
// READ_FILE (method 92), likewise:
//   reply    the bytes asked for, all of them. Pages: offset and length are multiples of 4096
// HAND_OVER (method 93), at the host that has the region, or had it:
//   The caller has a copy of all that is durable, up to `position`, and the log is paused there (CHECKPOINT's
//   PAUSE). Answered with the host's configuration once the region is the caller's: `address` is its place,
//   and no peer reaches the region at its old place any more. Errors: object_not_in_prerequisite_state: it is
//   not the caller's, and never will be by this claim; cannot_connect_now: not yet, ask again.
// MOVE (method 94), at any host:
//   With `from`, a host that waits for a region takes over the one that is there: as `address`, by which
//   others reach this host. Answered at once; without `from` nothing is changed. The reply says how far it
//   is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace namdb::placement {

inline constexpr std::uint16_t kConfigurationMethod = 90;
inline constexpr std::uint16_t kFilesMethod = 91;
inline constexpr std::uint16_t kReadFileMethod = 92;
inline constexpr std::uint16_t kHandOverMethod = 93;
inline constexpr std::uint16_t kMoveMethod = 94;

// A part of a database's folder.
enum class Part : std::uint8_t { log = 1, checkpoint = 2 };
// Its name there.
std::string_view name_of(Part part);

struct FilesRequest {
  Part part = Part::log;
  std::string after;  // names behind that one
};
struct FileFacts {
  std::string name;
  std::uint64_t length_bytes = 0;
};
struct FilesReply {
  std::uint64_t database_id = 0;
  std::uint16_t server_id = 0;
  // The durable end of the log: its position, and that it is in this segment at that byte.
  std::uint64_t position = 0;
  std::uint64_t segment = 0;
  std::uint64_t offset = 0;
  bool more = false;  // behind these files
  std::vector<FileFacts> files;
};
struct ReadFileRequest {
  Part part = Part::log;
  std::string name;
  std::uint64_t offset = 0;
  std::uint32_t length_bytes = 0;
};
struct HandOverRequest {
  std::uint64_t claim = 0;  // random, another one for each attempt; never 0
  std::uint64_t position = 0;
  std::string address;
};
struct MoveRequest {
  std::string from;
  std::string address;
};
enum class MoveState : std::uint8_t {
  waits = 1,     // the host has no region
  copies = 2,    // it copies one, which is still served where it was
  claims = 3,    // it has all, and asks the old host for the region
  here = 4,      // the host has a region
  departed = 5,  // it had one, which is elsewhere now
  follows = 6,   // it is a copy (follow_calls.h), which may lack something
  in_sync = 7,   // it is a copy that has all that a client was told of
};
struct MoveReply {
  MoveState state = MoveState::waits;
  std::uint16_t server_id = 0;
  std::string from;                // copies, claims; follows, in_sync: the primary
  std::uint64_t copied_bytes = 0;  // these of the copy that is made, or was made last
  std::uint64_t total_bytes = 0;
  std::uint64_t duration_ns = 0;
  std::uint64_t rounds = 0;
  std::string error;  // why the last move failed; empty: it did not
};

std::string encode(const FilesRequest& request);
std::string encode(const FilesReply& reply);
std::string encode(const ReadFileRequest& request);
std::string encode(const HandOverRequest& request);
std::string encode(const MoveRequest& request);
std::string encode(const MoveReply& reply);
std::optional<FilesRequest> decode_files(std::string_view bytes);
std::optional<FilesReply> decode_files_reply(std::string_view bytes);
std::optional<ReadFileRequest> decode_read_file(std::string_view bytes);
std::optional<HandOverRequest> decode_hand_over(std::string_view bytes);
std::optional<MoveRequest> decode_move(std::string_view bytes);
std::optional<MoveReply> decode_move_reply(std::string_view bytes);

}  // namespace namdb::placement
