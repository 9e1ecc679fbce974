// The epoch by which workers acknowledge that their transactions need no older version any more.
#pragma once

#include <cstdint>

namespace namdb::memory {

// Numbers the moments at which workers' snapshots are old enough; see HeartbeatReply.version_epoch.
class VersionEpoch {
 public:
  std::uint64_t current() const { return current_; }
  // The epoch that workers must acknowledge for everything that was true until now.
  std::uint64_t raise() { return ++current_; }

 private:
  std::uint64_t current_ = 1;
};

}  // namespace namdb::memory
