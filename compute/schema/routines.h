// Creating and dropping routines: one step of the catalog each, which concerns memory server 0 alone.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/error.h"
#include "common/reactor/task.h"
#include "compute/api/engine.h"
#include "compute/txn/worker_state.h"

namespace namdb::schema {

class Routines {
 public:
  // `state` is a connection's, and outlives this.
  explicit Routines(txn::WorkerState& state) : state_(state) {}

  // As in Engine.
  reactor::Task<Status> create(txn::RoutineDefinition definition);
  reactor::Task<Status> drop(std::string name, std::uint64_t version);

 private:
  txn::WorkerState& state_;
};

}  // namespace namdb::schema
