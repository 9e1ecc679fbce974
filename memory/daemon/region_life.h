// The life of the daemon's process while its folder's region is here: it opens the database, and serves it.
#pragma once

#include <optional>

#include "memory/daemon/process.h"

namespace namdb::memory {

// Until the process is to end, or has given the region up. nullopt: the region was given up; otherwise the
// exit code.
std::optional<int> host_region(const Process& process);

}  // namespace namdb::memory
