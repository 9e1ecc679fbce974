// Changes of roles and rights: one step of the catalog each, which concerns memory server 0 alone.
#pragma once

#include "common/base/error.h"
#include "common/reactor/task.h"
#include "compute/api/engine.h"
#include "compute/txn/worker_state.h"

namespace namdb::schema {

class RoleChanges {
 public:
  // `state` is a connection's, and outlives this.
  explicit RoleChanges(txn::WorkerState& state) : state_(state) {}

  // As in Engine.
  reactor::Task<Status> make(txn::RoleChange change);

 private:
  txn::WorkerState& state_;
};

}  // namespace namdb::schema
