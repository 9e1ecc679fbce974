// The log on disk (memory/log) as control state sees it. Its records lie among those of journals.
#pragma once

#include <cstdint>
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
  reactor::Task<Status> flush(std::uint64_t position) override { return log_.flush(position); }

 private:
  Log& log_;
};

}  // namespace namdb::memory
