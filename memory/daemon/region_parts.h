// The memory of a region, and the memory server over it, as the daemon makes both.
#pragma once

#include <memory>

#include "common/base/error.h"
#include "common/reactor/reactor.h"
#include "memory/process/flags.h"
#include "memory/process/region_memory.h"
#include "memory/server/server.h"

namespace namdb::memory {

struct RegionParts {
  std::unique_ptr<RegionMemory> memory;
  std::unique_ptr<MemoryServer> server;
};

// As the flags say, whose options learn about the pages. `missing` may be empty (RegionMemory::create). Error
// configuration.
Result<RegionParts> make_region(reactor::Reactor& reactor, Flags& flags, Missing missing);

// For `missing`: the process ends with a failure, as by SIGTERM.
void end_without_memory(const Status& why);
bool ended_without_memory();

}  // namespace namdb::memory
