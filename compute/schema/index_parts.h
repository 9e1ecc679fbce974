// The parts of a secondary index on their memory servers: each has the keys from its split up to the next.
// `cluster` and `index`, the catalog's description, outlive the tasks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/reactor/task.h"
#include "compute/api/table.h"
#include "compute/cluster/cluster.h"
#include "proto/control_types.h"

namespace namdb::schema {

// Makes the parts, empty, and writes into `index` on which memory servers they are. `splits`: the first keys
// of all parts but the first, ascending.
reactor::Task<Status> prepare_parts(txn::Cluster& cluster, control::IndexDescriptor* index,
                                    std::vector<std::string> splits);
// Tells the memory servers that the parts have all their entries.
reactor::Task<Status> finish_parts(txn::Cluster& cluster, const control::IndexDescriptor* index);
// Frees the parts on one memory server, or on all, where there are some. May be repeated.
reactor::Task<Status> discard_part(txn::Cluster& cluster, layout::ServerId server, std::uint32_t index);
reactor::Task<Status> discard_parts(txn::Cluster& cluster, std::uint32_t index);

// The table's index with that id; null if it has none.
storage::IndexRef find_index(const storage::Table& table, std::uint32_t id);

}  // namespace namdb::schema
