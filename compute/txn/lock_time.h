// When the rows are locked that a transaction writes, under protocols that leave the choice to the compute
// server: those that order transactions by timestamps (ProtocolTraits::timestamps). Others lock when their
// nature says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "common/protocols/protocol.h"

namespace namdb::txn {

// `commit`: all rows that are written, at the commit. `fetch`: rows that are found by key and may be written,
// as they are read; the others at the commit. Compute servers of one database may differ.
enum class LockTime : std::uint8_t { automatic, commit, fetch };

constexpr bool locks_at_fetch(LockTime time) {
  return time == LockTime::fetch;
}

// By the names of the options.
inline LockTime lock_time_of(std::string_view name) {
  if (name == "commit") return LockTime::commit;
  return name == "fetch" ? LockTime::fetch : LockTime::automatic;
}

inline std::string_view name_of(LockTime time) {
  if (time == LockTime::commit) return "commit";
  return time == LockTime::fetch ? "fetch" : "auto";
}

// Error configuration: a time is given, and the protocol leaves no choice.
inline Status check_lock_time(LockTime time, const protocol::ProtocolTraits& protocol) {
  if (time == LockTime::automatic || protocol.timestamps) return {};
  std::string those;
  for (const protocol::ProtocolTraits& traits : protocol::protocol_traits()) {
    if (traits.timestamps) those += (those.empty() ? "" : " and ") + std::string(traits.name);
  }
  return Status(ErrorCode::configuration, "--lock-at " + std::string(name_of(time)) + ": protocol " +
                                              std::string(protocol.name) + " leaves no choice; " + those +
                                              " do");
}

}  // namespace namdb::txn
