// The state that a memory server derives from its rows and the catalog before it opens after a restart. In
// order: tables (table_rebuild.h), floors of timestamps, and B+-trees (index_rebuild.h), whose keys servers
// exchange (index_loads.h). The words of the timestamp vector come with the control state
// (Slots::import_state). docs/internals/control-state.md has a picture.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/layout/global_address.h"
#include "common/reactor/task.h"
#include "memory/index/indexes.h"
#include "memory/recovery/index_loads.h"
#include "memory/recovery/table_rebuild.h"
#include "memory/region/tables.h"
#include "proto/control.pb.h"

namespace namdb::memory {

// New timestamps begin this much after the newest version's timestamp.
inline constexpr std::uint64_t kTimestampSlack_ns = 1;

// INDEX_LOAD to another memory server. May be empty where there is only one.
using SendIndexLoad = std::function<reactor::Task<Status>(layout::ServerId server, std::string request)>;

struct DerivedState {
  std::uint64_t rows = 0;
  std::uint64_t largest_timestamp = 0;  // of any row's version here
};

// Rebuilds the tables that are restored and not ready. Errors: corrupt_data, out_of_memory, admin_shutdown.
// The server does not open then.
reactor::Task<Result<DerivedState>> rebuild_tables(Recovery recovery, Tables& tables);

// Servers that open. The others are open, and have their parts of indexes.
using OpeningServers = std::set<layout::ServerId>;

// For each of these indexes, which are ready in the catalog: sends the keys of the rows here to the opening
// servers with a part of the index. If this server opens, too, makes its own part, unless that exists. The
// tables are ready. Errors: corrupt_data, out_of_memory, admin_shutdown; those of `send` and of the loads.
reactor::Task<Status> rebuild_indexes(Recovery recovery, Tables& tables, Indexes& indexes,
                                      std::vector<control::IndexDescriptor> descriptors, IndexLoads& loads,
                                      SendIndexLoad send, OpeningServers opening);

// From now on no commit has this timestamp or an older one here, and rows that are not there count as deleted
// at it: leases and older deletions are forgotten.
void raise_timestamp_floors(Region& region, std::uint64_t timestamp);

// The largest timestamp of any version or floor of an open server, while no worker is connected. 0: there is
// none.
reactor::Task<std::uint64_t> largest_timestamp(Recovery recovery, Tables& tables);

// A server that opens alone, or with all others: tables, floors, and indexes. `timestamp_slack` is added to
// the largest timestamp: no clock of the database was further ahead. Errors as above.
reactor::Task<Result<DerivedState>> rebuild_derived(Recovery recovery, Tables& tables, Indexes& indexes,
                                                    std::vector<control::IndexDescriptor> descriptors,
                                                    IndexLoads& loads, SendIndexLoad send,
                                                    std::uint64_t timestamp_slack);

}  // namespace namdb::memory
