// All that a memory server derives from its rows and the catalog before it opens after a restart, in order:
// tables (table_rebuild.h), floors of timestamps, B+-trees (index_rebuild.h) with the keys that go to other
// servers and come from them (index_loads.h). The words of the timestamp vector come with the control state
// (Slots::import_state). docs/internals/control-state.md has a picture.
#pragma once

#include <cstdint>
#include <functional>
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

// INDEX_LOAD to another memory server. May be empty where there is only one.
using SendIndexLoad = std::function<reactor::Task<Status>(layout::ServerId server, std::string request)>;

struct DerivedState {
  std::uint64_t rows = 0;
  std::uint64_t largest_timestamp = 0;  // of any row's version here
};

// Rebuilds the tables that are restored and not ready, and then those indexes, which are ready in the
// catalog, with their parts. `timestamp_slack` is added to the largest timestamp: no clock of the database
// was further ahead. Errors: corrupt_data, out_of_memory; those of `send`. The server does not open then.
reactor::Task<Result<DerivedState>> rebuild_derived(Recovery recovery, Tables& tables, Indexes& indexes,
                                                    std::vector<control::IndexDescriptor> descriptors,
                                                    IndexLoads& loads, SendIndexLoad send,
                                                    std::uint64_t timestamp_slack);

}  // namespace namdb::memory
