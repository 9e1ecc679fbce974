// Calls about journals: the streams of execution slots on a memory server, their *host*
// (common/layout/journal.h, memory/journals/journals.h). All fields are little-endian 64-bit words. A
// position is one in the slot's stream on that host, a multiple of 64.
//
// OPEN_JOURNAL (method 49), by the slot's owner, on the channel by which it will WRITE entries:
//   request  {slot}
//   reply    {offset of the ring in the region}, {bytes of the ring}, {position at which the stream goes on}
//   The ring is zero, and the slot's until CLOSE_JOURNAL. On the channel that has it open already: the same
//   again.
// FLUSH (method 50), by the slot's owner, on that channel:
//   request  {slot}, {position}, {through}
//   reply    {durable position}, {freed position}, {flags: 1 = the log has no room for more}
//   `through`: all counters up to it are finished. Waits until every entry that ends at or before `position`
//   is durable: in the log on disk, or complete in the ring where the server keeps no log. FLUSH and WRITEs
//   are not ordered, so the server reads the ring again and again, for a moment. If an entry has not come by
//   then, the reply's durable position is before `position`, and the caller asks again. Every place before
//   the freed position may be written again. With the flag no commit should begin: its entry might find no
//   room.
// CLOSE_JOURNAL (method 51), by the slot's owner, on that channel:
//   request  {slot}, {through}
//   reply    empty
//   All WRITEs to the ring have completed, and all entries have counters of at most `through`, which are
//   finished. Once that is recorded the ring and the rooms of the stream are free.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace namdb::calls {

inline constexpr std::uint16_t kOpenJournalMethod = 49;
inline constexpr std::uint16_t kFlushMethod = 50;
inline constexpr std::uint16_t kCloseJournalMethod = 51;

struct OpenJournalRequest {
  std::uint32_t slot = 0;
};

struct OpenJournalReply {
  std::uint64_t ring_offset = 0;
  std::uint64_t ring_bytes = 0;
  std::uint64_t position = 0;
};

struct FlushRequest {
  std::uint32_t slot = 0;
  std::uint64_t position = 0;
  std::uint32_t through = 0;
};

struct FlushReply {
  std::uint64_t durable_position = 0;
  std::uint64_t freed_position = 0;
  bool log_full = false;
};

struct CloseJournalRequest {
  std::uint32_t slot = 0;
  std::uint32_t through = 0;
};

std::string encode(const OpenJournalRequest& request);
std::string encode(const OpenJournalReply& reply);
std::string encode(const FlushRequest& request);
std::string encode(const FlushReply& reply);
std::string encode(const CloseJournalRequest& request);

// Requests: nullopt where one is malformed, names no slot that can be leased, or a position that cannot be.
std::optional<OpenJournalRequest> decode_open_journal(std::string_view request);
std::optional<FlushRequest> decode_flush(std::string_view request);
std::optional<CloseJournalRequest> decode_close_journal(std::string_view request);
// Replies: nullopt where one is malformed. `region_bytes`: of the region's limit.
std::optional<OpenJournalReply> decode_open_journal_reply(std::string_view reply, std::uint64_t region_bytes);
std::optional<FlushReply> decode_flush_reply(std::string_view reply);

}  // namespace namdb::calls
