// A worker's part of the engine that changes the catalog: tables, indexes, routines and roles, over its
// current connection (compute/schema). The contracts of the functions are those of compute/api/engine.h.
// Changes of tables and indexes need all memory servers. Belongs to the worker's executor.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/base/error.h"
#include "common/reactor/task.h"
#include "compute/api/engine.h"
#include "compute/worker/current_connection.h"
#include "compute/worker/worker_catalog.h"

namespace namdb::compute {

class WorkerSchema {
 public:
  // Both outlive this.
  WorkerSchema(const CurrentConnection& current, const WorkerCatalog& catalog)
      : current_(current), catalog_(catalog) {}

  reactor::Task<Status> settle();
  reactor::Task<Status> create_table(txn::TableDefinition definition);
  reactor::Task<Status> drop_table(std::string name);
  reactor::Task<Status> alter_table(txn::TableAlteration alteration);
  reactor::Task<Status> replace_table(txn::TableReplacement replacement);
  reactor::Task<Status> create_index(txn::IndexDefinition definition);
  reactor::Task<Status> rebuild_index(std::string name);
  reactor::Task<Status> drop_index(std::string name, bool constraint);
  reactor::Task<Status> create_routine(txn::RoutineDefinition definition);
  reactor::Task<Status> drop_routine(std::string name, std::uint64_t version);
  reactor::Task<Status> change_roles(txn::RoleChange change);

 private:
  // Sessions know of a change that was made over that connection, also if another has taken its place.
  reactor::Task<Status> show_change(std::shared_ptr<Connection> changed);

  const CurrentConnection& current_;
  const WorkerCatalog& catalog_;
};

}  // namespace namdb::compute
