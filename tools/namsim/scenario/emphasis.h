// The emphasis of a run. It narrows a scenario's options to those under which one family of mistakes soon
// shows itself. It is drawn from the seed like every other option.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace namdb::sim {

enum class Emphasis : std::uint8_t {
  none,
  // Many compute servers, transactions that read two keys and write one, READs with whole commits between
  // their words.
  snapshots,
  // Short rings, readers that pause between their fetches, memory servers that are slow to answer calls.
  old_versions,
  // Rows that are not there at first: their first write inserts them. Only registers can be that.
  inserts,
  // Commits that take so long that a kill meets them half done.
  kills,
  // Slots end after three commits.
  short_slots,
  // Many clients of one compute server commit at the same time, on links of different speed.
  shared_slots,
  // E is shorter than some transactions; nothing is collected by acknowledgement.
  short_age,
};

inline constexpr std::array<std::string_view, 8> kEmphases{
    "none", "snapshots", "old-versions", "inserts", "kills", "short-slots", "shared-slots", "short-age"};

}  // namespace namdb::sim
