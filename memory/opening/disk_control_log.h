// The log on disk (memory/log) as control state sees it. Its records lie among those of journals.
//
// A record is *under way* until its flush() has returned: the control state has it only then, in the same
// step (ControlChanges). A checkpoint that is made meanwhile has a state without it, so redo begins there at
// the latest.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "memory/coordinator/control_log.h"
#include "memory/log/log.h"

namespace namdb::memory {

class DiskControlLog final : public ControlLog {
 public:
  // The log outlives this.
  explicit DiskControlLog(Log& log) : log_(log) {}

  reactor::Task<Result<std::uint64_t>> append(ControlRecord kind, std::string bytes,
                                              Urgency urgency) override;
  reactor::Task<Status> flush(std::uint64_t position) override;
  // Where the oldest record under way begins.
  std::optional<LogPosition> oldest_under_way() const;

 private:
  Log& log_;
  std::map<LogPosition, LogPosition> under_way_;  // begins by ends
};

}  // namespace namdb::memory
