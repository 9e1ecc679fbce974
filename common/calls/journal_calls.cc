#include "common/calls/journal_calls.h"

#include "common/calls/slot_words.h"
#include "common/calls/word_stream.h"
#include "common/layout/journal.h"

namespace namdb::calls {
namespace {

constexpr std::uint64_t kLogFull = 1;
// No stream gets that far.
constexpr std::uint64_t kPositionEnd = std::uint64_t{1} << 62;

bool take_position(std::string_view& in, std::uint64_t& position) {
  return take_word(in, position) && position % layout::kJournalAlign_bytes == 0 && position < kPositionEnd;
}

}  // namespace

std::string encode(const OpenJournalRequest& request) {
  std::string bytes;
  append_word(bytes, request.slot);
  return bytes;
}

std::string encode(const OpenJournalReply& reply) {
  std::string bytes;
  append_word(bytes, reply.ring_offset);
  append_word(bytes, reply.ring_bytes);
  append_word(bytes, reply.position);
  return bytes;
}

std::string encode(const FlushRequest& request) {
  std::string bytes;
  append_word(bytes, request.slot);
  append_word(bytes, request.position);
  append_word(bytes, request.through);
  return bytes;
}

std::string encode(const FlushReply& reply) {
  std::string bytes;
  append_word(bytes, reply.durable_position);
  append_word(bytes, reply.freed_position);
  append_word(bytes, reply.log_full ? kLogFull : 0);
  return bytes;
}

std::string encode(const CloseJournalRequest& request) {
  std::string bytes;
  append_word(bytes, request.slot);
  append_word(bytes, request.through);
  return bytes;
}

std::optional<OpenJournalRequest> decode_open_journal(std::string_view request) {
  OpenJournalRequest open;
  if (!take_slot(request, open.slot) || !request.empty()) return std::nullopt;
  return open;
}

std::optional<FlushRequest> decode_flush(std::string_view request) {
  FlushRequest flush;
  const bool whole = take_slot(request, flush.slot) && take_position(request, flush.position) &&
                     take_counter(request, flush.through);
  if (!whole || !request.empty()) return std::nullopt;
  return flush;
}

std::optional<CloseJournalRequest> decode_close_journal(std::string_view request) {
  CloseJournalRequest close;
  if (!take_slot(request, close.slot) || !take_counter(request, close.through) || !request.empty())
    return std::nullopt;
  return close;
}

std::optional<OpenJournalReply> decode_open_journal_reply(std::string_view reply,
                                                          std::uint64_t region_bytes) {
  OpenJournalReply open;
  const bool whole = take_word(reply, open.ring_offset) && take_word(reply, open.ring_bytes) &&
                     take_position(reply, open.position);
  if (!whole || !reply.empty()) return std::nullopt;
  const bool within = open.ring_bytes <= region_bytes && open.ring_offset <= region_bytes - open.ring_bytes;
  const bool aligned = open.ring_offset % layout::kJournalAlign_bytes == 0 &&
                       open.ring_bytes % layout::kJournalAlign_bytes == 0;
  if (!within || !aligned || open.ring_offset == 0 || open.ring_bytes == 0) return std::nullopt;
  return open;
}

std::optional<FlushReply> decode_flush_reply(std::string_view reply) {
  FlushReply flush;
  std::uint64_t flags = 0;
  const bool whole = take_position(reply, flush.durable_position) &&
                     take_position(reply, flush.freed_position) && take_word(reply, flags);
  if (!whole || !reply.empty() || flags > kLogFull || flush.freed_position > flush.durable_position)
    return std::nullopt;
  flush.log_full = flags == kLogFull;
  return flush;
}

}  // namespace namdb::calls
