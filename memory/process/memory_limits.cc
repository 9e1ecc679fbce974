#include "memory/process/memory_limits.h"

#include <algorithm>
#include <fstream>

namespace namdb::memory {
namespace {

// The files of one version of control groups.
struct Version {
  std::string mount;  // below the root
  const char* limit;
  const char* used;
};

std::uint64_t memory_info_bytes(const std::string& root, const std::string& name) {
  std::ifstream file(root + "/proc/meminfo");
  std::string key;
  std::uint64_t kibibytes = 0;
  std::string unit;
  while (file >> key >> kibibytes) {
    std::getline(file, unit);
    if (key == name + ":") return kibibytes << 10;
  }
  return kUnlimited;
}

void narrow(MemoryLimits& limits, const std::string& folder, const Version& version) {
  const std::uint64_t limit = read_number(folder + "/" + version.limit);
  if (limit >= kUnlimited >> 1) return;  // version 1 has a large number for none
  const std::uint64_t used = read_number(folder + "/" + version.used);
  limits.total_bytes = std::min(limits.total_bytes, limit);
  if (used != kUnlimited) limits.free_bytes = std::min(limits.free_bytes, limit - std::min(limit, used));
}

// From the group up to where groups are mounted. In a container without a namespace of its own for groups the
// path is the host's and is not there; the mount's root is then the container's own group.
void narrow_along(MemoryLimits& limits, const std::string& root, std::string path, const Version& version) {
  while (true) {
    while (path.ends_with('/')) path.pop_back();
    narrow(limits, root + version.mount + path, version);
    if (path.empty()) return;
    path.resize(path.rfind('/'));
  }
}

bool names(const std::string& controllers, const std::string& wanted) {
  return ("," + controllers + ",").find("," + wanted + ",") != std::string::npos;
}

}  // namespace

std::uint64_t read_number(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  return file >> number ? number : kUnlimited;
}

MemoryLimits memory_limits(const std::string& root) {
  MemoryLimits limits{memory_info_bytes(root, "MemTotal"), memory_info_bytes(root, "MemAvailable")};
  const Version second{"/sys/fs/cgroup", "memory.max", "memory.current"};
  const Version first{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"};
  // The mounts' roots count even where the process is told of no group.
  narrow_along(limits, root, "", second);
  narrow_along(limits, root, "", first);
  // Each line is ID:CONTROLLERS:PATH; version 2 names no controllers.
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t controllers = line.find(':');
    if (controllers == std::string::npos) continue;
    const std::size_t path = line.find(":/", controllers + 1);
    if (path == std::string::npos) continue;
    const std::string named = line.substr(controllers + 1, path - controllers - 1);
    if (named.empty()) narrow_along(limits, root, line.substr(path + 1), second);
    if (names(named, "memory")) narrow_along(limits, root, line.substr(path + 1), first);
  }
  return limits;
}

}  // namespace namdb::memory
