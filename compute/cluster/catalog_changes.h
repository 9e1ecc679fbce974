// The changes of the catalog since a worker read it: the replies of GET_CATALOG, put together.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "common/base/error.h"
#include "common/reactor/task.h"
#include "compute/cluster/cluster.h"
#include "proto/control.pb.h"

namespace namdb::txn {

struct CatalogChanges {
  bool whole = false;         // these are all entries that there are
  std::uint64_t version = 0;  // that the catalog has with them; 0: it is the one that is known
  std::uint64_t roles_version = 0;
  std::uint64_t position = 0;
  std::map<std::uint32_t, control::TableDescriptor> tables;  // by their ids, like all of these
  std::map<std::uint32_t, control::IndexDescriptor> indexes;
  std::map<std::uint32_t, control::RoutineDescriptor> routines;
  std::map<std::uint32_t, control::RoleDescriptor> roles;
  std::map<std::uint32_t, control::ObjectRights> rights;
  std::set<std::uint32_t> dropped;
};

// Asks memory server 0 until it has told all changes. The catalog is known as of that version, at that
// position of this connection; both 0: it is not known. `cluster` and `changes` outlive the task.
reactor::Task<Status> read_changes(Cluster* cluster, std::uint64_t version, std::uint64_t position,
                                   CatalogChanges* changes);

}  // namespace namdb::txn
