// The folder of the database in DIR/data, which the daemon opens before it has a region.
#pragma once

#include <memory>

#include "common/base/error.h"
#include "memory/daemon/process.h"
#include "memory/log/log.h"
#include "memory/process/database_folder.h"
#include "memory/process/flags.h"

namespace namdb::memory {

// The folder, which fits the level of durability; null at level `memory`. A new one of another server than 0
// waits for server 0, whose database it gets. Error admin_shutdown: a signal came meanwhile.
Result<std::unique_ptr<DatabaseFolder>> open_folder(reactor::Reactor& reactor,
                                                    const fabric::Transport& transport, const Flags& flags);

LogOptions log_options(const Flags& flags);

}  // namespace namdb::memory
