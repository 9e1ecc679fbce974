// The life of the daemon's process while its folder's region is elsewhere: it waits for a region, or had one.
#pragma once

#include <optional>

#include "common/base/error.h"
#include "memory/daemon/process.h"

namespace namdb::memory {

// Until a region has come, or the process is to end. nullopt: the region is here; otherwise the exit code.
std::optional<int> host_nothing(const Process& process);

// The folder of a region that has come gets its identity.
Status adopt_folder(const Flags& flags, const PlaceRecord& record);

}  // namespace namdb::memory
