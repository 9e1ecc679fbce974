// The memory that this process can have: the machine's, narrowed by every control group that the process is
// in, of version 1 and 2, and by the groups around those. A page beyond a group's limit is not refused: it
// ends the process. So the server asks for no more than the groups grant.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace namdb::memory {

inline constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

// The number at the start of a file of the kernel; the greatest number (unlimited) if there is no number, or
// "max".
std::uint64_t read_number(const std::string& path);

struct MemoryLimits {
  std::uint64_t total_bytes;
  std::uint64_t free_bytes;
};

// As the files below `root` say, which is empty but in tests: proc/meminfo, proc/self/cgroup, sys/fs/cgroup.
MemoryLimits memory_limits(const std::string& root = "");

}  // namespace namdb::memory
