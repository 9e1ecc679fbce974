// Reads the configuration store's record of the region. A process with a store does so before it opens its
// folder.
#pragma once

#include <functional>
#include <optional>

#include "common/base/error.h"
#include "common/placement/configuration_store.h"
#include "common/reactor/task.h"
#include "memory/daemon/process.h"

namespace namdb::memory {

// Before each life. If another host is the primary, the record says behind it that this folder is a copy.
// nullopt: go on; otherwise the exit code. Waits for the store, until a signal comes.
std::optional<int> look_at_store(const Process& process);

// The database is there: the region becomes this host's if it has no primary yet. Error admin_shutdown: a
// signal came meanwhile. `generation`: of its newest checkpoint.
Result<placement::ConfigurationStore::Stored> claim_opened_region(const Process& process,
                                                                  std::uint64_t database_id,
                                                                  std::uint64_t generation);
// The same while the database opens and another task awaits signals: `stopping` is polled. The process
// outlives the task.
reactor::Task<Result<placement::ConfigurationStore::Stored>> claim_opening_region(
    const Process* process, std::uint64_t database_id, std::uint64_t generation,
    std::function<bool()> stopping);

// Another host is the primary, by this value. Error: the disk's.
Status become_copy(const Process& process, const placement::ConfigurationStore::Stored& stored);

}  // namespace namdb::memory
