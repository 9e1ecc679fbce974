// Calls of the decider to a host of journals (memory/coordinator/decider.h). It settles the entries of an
// execution slot whose owner died or left it. Memory server 0 is the only caller. All fields are
// little-endian 64-bit words.
//
// LOOK (method 52):
//   request  {slot}
//   reply    {through}, {final counter, or ~0 while there is none}, {n}, n void counters, {n},
//            n committed counters, {n}, n entries {counter | configuration << 32}, {number of regions},
//            region ids, 16 bits each and padded to 8 bytes with 0
//   All that the host has of the slot. The owner is fenced at this host before: a part that is not there now
//   never comes. A host with a log answers once all of it is on disk. The entries are those above `through`
//   that are complete; the host may have dropped void and committed ones. Counters ascend in each list.
// VOID (method 53):
//   request  {slot}, void counters, at least one
//   reply    empty, once that is recorded
//   The entries of these counters are undone. Nothing of them was installed, and nothing ever is.
// VERDICT (method 54):
//   request  {slot}, {final counter, or ~0 for none yet}, committed counters
//   reply    empty, once the host's parts of these commits are installed and that is recorded
//   With a final counter: every host of the slot has recorded the outcome of each of its entries. So this
//   host may forget them. It keeps the final counter, and answers LOOK with it.
// "Recorded" is on disk where the host keeps a log. Each of these calls may come again, and changes nothing
// then.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/layout/global_address.h"

namespace namdb::calls {

inline constexpr std::uint16_t kLookMethod = 52;
inline constexpr std::uint16_t kVoidMethod = 53;
inline constexpr std::uint16_t kVerdictMethod = 54;

struct LookRequest {
  std::uint32_t slot = 0;
};

// A complete entry of the host's stream.
struct SeenEntry {
  std::uint32_t counter = 0;
  std::uint32_t configuration = 0;
  std::vector<layout::ServerId> regions;  // to which the commit writes: ascending, at least one

  friend bool operator==(const SeenEntry&, const SeenEntry&) = default;
};

struct LookReply {
  std::uint32_t through = 0;  // every counter up to it is finished
  std::optional<std::uint32_t> final_counter;
  std::vector<std::uint32_t> voids;
  std::vector<std::uint32_t> commits;
  std::vector<SeenEntry> entries;

  friend bool operator==(const LookReply&, const LookReply&) = default;
};

struct VoidRequest {
  std::uint32_t slot = 0;
  std::vector<std::uint32_t> counters;  // ascending, at least one
};

struct VerdictRequest {
  std::uint32_t slot = 0;
  std::optional<std::uint32_t> final_counter;
  std::vector<std::uint32_t> commits;  // ascending; none of them above the final counter
};

std::string encode(const LookRequest& request);
std::string encode(const LookReply& reply);
std::string encode(const VoidRequest& request);
std::string encode(const VerdictRequest& request);

// nullopt for bytes that encode() never gives.
std::optional<LookRequest> decode_look(std::string_view request);
std::optional<LookReply> decode_look_reply(std::string_view reply);
std::optional<VoidRequest> decode_void(std::string_view request);
std::optional<VerdictRequest> decode_verdict(std::string_view request);

}  // namespace namdb::calls
