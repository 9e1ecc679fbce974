// The outcomes of commits whose owners lost their slots (server 0). The owners ask for them: a compute server
// that loses a connection in the middle of a commit does not know whether the decider commits or undoes it.
//
// A slot's outcomes are known once the decider has closed it, and are kept for kKept_ns. After a restart with
// the data on disk, the outcomes are known of the slots that were open when the server stopped: its log has
// every commit of theirs that was not finished. Of slots of earlier starts a checkpoint may have cut off
// entries, so only the outcomes that the log still has are known.
//
// Belongs to the executor's thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>

#include "common/base/clock.h"
#include "common/layout/stamp.h"
#include "memory/coordinator/decider.h"

namespace namdb::memory {

enum class CommitOutcome : std::uint8_t { unknown, committed, undone };

class Outcomes {
 public:
  static constexpr std::uint64_t kKept_ns = 3600 * kSecond_ns;

  // The slot is closed. `verdicts` are complete unless they say otherwise.
  void closed(std::uint32_t slot, Verdicts verdicts, std::uint64_t now_ns);
  // The server has opened its data, and has called closed() for each slot that its log names. Every commit of
  // the other slots that were open before was finished.
  void opened(std::uint64_t now_ns) { opened_ns_ = now_ns; }

  // Of a commit that had begun to log, of a slot that is closed. `cut_off`: the slot was open when the server
  // stopped.
  CommitOutcome of(layout::Stamp commit, bool cut_off, std::uint64_t now_ns) const;

 private:
  struct Closed {
    std::uint32_t slot = 0;
    std::uint64_t closed_ns = 0;
  };
  std::map<std::uint32_t, Verdicts> slots_;
  std::deque<Closed> oldest_;  // the slots, by time
  std::optional<std::uint64_t> opened_ns_;
};

}  // namespace namdb::memory
