#include "common/calls/decider_calls.h"

#include <algorithm>
#include <functional>

#include "common/calls/slot_words.h"
#include "common/calls/word_stream.h"

namespace namdb::calls {
namespace {

constexpr std::uint64_t kNoCounter = ~std::uint64_t{0};
constexpr std::uint64_t kSeenRegionsInWord = 4;

void append_counters(std::string& out, const std::vector<std::uint32_t>& counters) {
  for (const std::uint32_t counter : counters) append_word(out, counter);
}

bool take_final_counter(std::string_view& in, std::optional<std::uint32_t>& counter) {
  std::uint64_t word = 0;
  if (!take_word(in, word) || (word > ~std::uint32_t{0} && word != kNoCounter)) return false;
  if (word != kNoCounter) counter = static_cast<std::uint32_t>(word);
  return true;
}

// So many, each more than the one before.
bool take_counters(std::string_view& in, std::uint64_t count, std::vector<std::uint32_t>& counters) {
  if (count > in.size() / 8) return false;
  counters.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint32_t counter = 0;
    if (!take_counter(in, counter) || (i > 0 && counter <= counters.back())) return false;
    counters.push_back(counter);
  }
  return true;
}

bool take_counter_list(std::string_view& in, std::vector<std::uint32_t>& counters) {
  std::uint64_t count = 0;
  return take_word(in, count) && take_counters(in, count, counters);
}

void append_seen_entry(std::string& out, const SeenEntry& entry) {
  append_word(out, (std::uint64_t{entry.configuration} << 32) | entry.counter);
  append_word(out, entry.regions.size());
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < entry.regions.size(); ++i) {
    word |= std::uint64_t{entry.regions[i]} << (16 * (i % kSeenRegionsInWord));
    if (i % kSeenRegionsInWord != kSeenRegionsInWord - 1 && i + 1 != entry.regions.size()) continue;
    append_word(out, word);
    word = 0;
  }
}

bool take_seen_entry(std::string_view& in, SeenEntry& entry) {
  std::uint64_t head = 0;
  std::uint64_t count = 0;
  if (!take_word(in, head) || !take_word(in, count) || count == 0 || count > 0x10000) return false;
  entry.counter = static_cast<std::uint32_t>(head);
  entry.configuration = static_cast<std::uint32_t>(head >> 32);
  std::uint64_t word = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i % kSeenRegionsInWord == 0 && !take_word(in, word)) return false;
    entry.regions.push_back(static_cast<layout::ServerId>(word));
    word >>= 16;
  }
  return word == 0 && std::ranges::is_sorted(entry.regions, std::less_equal{});
}

}  // namespace

std::string encode(const LookRequest& request) {
  std::string bytes;
  append_word(bytes, request.slot);
  return bytes;
}

std::string encode(const LookReply& reply) {
  std::string bytes;
  append_word(bytes, reply.through);
  append_word(bytes, reply.final_counter ? *reply.final_counter : kNoCounter);
  append_word(bytes, reply.voids.size());
  append_counters(bytes, reply.voids);
  append_word(bytes, reply.commits.size());
  append_counters(bytes, reply.commits);
  append_word(bytes, reply.entries.size());
  for (const SeenEntry& entry : reply.entries) append_seen_entry(bytes, entry);
  return bytes;
}

std::string encode(const VoidRequest& request) {
  std::string bytes;
  append_word(bytes, request.slot);
  append_counters(bytes, request.counters);
  return bytes;
}

std::string encode(const VerdictRequest& request) {
  std::string bytes;
  append_word(bytes, request.slot);
  append_word(bytes, request.final_counter ? *request.final_counter : kNoCounter);
  append_counters(bytes, request.commits);
  return bytes;
}

std::optional<LookRequest> decode_look(std::string_view request) {
  LookRequest look;
  if (!take_slot(request, look.slot) || !request.empty()) return std::nullopt;
  return look;
}

std::optional<LookReply> decode_look_reply(std::string_view in) {
  LookReply reply;
  std::uint64_t entries = 0;
  if (!take_counter(in, reply.through) || !take_final_counter(in, reply.final_counter) ||
      !take_counter_list(in, reply.voids) || !take_counter_list(in, reply.commits) ||
      !take_word(in, entries)) {
    return std::nullopt;
  }
  for (std::uint64_t i = 0; i < entries; ++i) {
    SeenEntry entry;
    if (!take_seen_entry(in, entry)) return std::nullopt;
    if (i > 0 && entry.counter <= reply.entries.back().counter) return std::nullopt;
    reply.entries.push_back(std::move(entry));
  }
  if (!in.empty()) return std::nullopt;
  return reply;
}

std::optional<VoidRequest> decode_void(std::string_view in) {
  VoidRequest request;
  if (!take_slot(in, request.slot) || in.empty() || in.size() % 8 != 0) return std::nullopt;
  if (!take_counters(in, in.size() / 8, request.counters)) return std::nullopt;
  return request;
}

std::optional<VerdictRequest> decode_verdict(std::string_view in) {
  VerdictRequest request;
  if (!take_slot(in, request.slot) || !take_final_counter(in, request.final_counter)) return std::nullopt;
  if (in.size() % 8 != 0 || !take_counters(in, in.size() / 8, request.commits)) return std::nullopt;
  if (request.commits.empty() && !request.final_counter) return std::nullopt;
  if (request.final_counter && !request.commits.empty() && request.commits.back() > *request.final_counter)
    return std::nullopt;
  return request;
}

}  // namespace namdb::calls
