// A worker's part of the engine that reads the catalog: tables, routines and roles, as the copy of its
// current connection has them (compute/cluster/catalog_cache.h), or a copy that is read now. The contracts of
// the functions are those of compute/api/engine.h. Belongs to the worker's executor.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/reactor/task.h"
#include "compute/api/role.h"
#include "compute/api/routine.h"
#include "compute/api/table.h"
#include "compute/worker/current_connection.h"

namespace namdb::compute {

class WorkerCatalog {
 public:
  // Outlives this.
  explicit WorkerCatalog(const CurrentConnection& current) : current_(current) {}

  std::uint64_t version() const;
  storage::TableRef cached_table(std::string_view name) const;
  std::vector<storage::TableRef> cached_tables() const;
  bool has_foreign_keys() const;
  storage::RoutineRef cached_routine(std::string_view name) const;

  reactor::Task<Result<storage::TableRef>> table(std::string name) const;
  reactor::Task<Result<std::vector<storage::TableRef>>> tables() const;
  reactor::Task<Result<storage::RoutineRef>> routine(std::string name) const;
  reactor::Task<Result<std::vector<storage::RoutineRef>>> routines() const;
  reactor::Task<Result<storage::RolesRef>> roles() const;

 private:
  // The connection, with a copy of the catalog that was read now.
  reactor::Task<Result<std::shared_ptr<Connection>>> refreshed() const;

  const CurrentConnection& current_;
};

}  // namespace namdb::compute
