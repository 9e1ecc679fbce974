// Looks for a better connection, in the background, when a worker's connection lacks a memory server, when
// its end is awaited, or when a region has moved. The new connection takes the place of the first, which
// becomes one of the earlier connections (earlier_connections.h). The search runs beside the heartbeats,
// since a memory server that is away may delay an attempt.
//
// Belongs to the worker's executor.
#pragma once

#include <memory>

#include "common/reactor/task.h"
#include "compute/worker/upkeep.h"

namespace namdb::compute {

class SuccessorSearch {
 public:
  // Outlives this.
  explicit SuccessorSearch(const Upkeep& upkeep) : upkeep_(upkeep) {}

  // Begins, where a successor is needed and it does not look for one already.
  void begin();

 private:
  bool needed() const;
  reactor::Task<void> run();
  // True: another connection has taken the place of that one.
  reactor::Task<bool> attempt(std::shared_ptr<Connection> earlier);
  reactor::Task<bool> take_over(std::shared_ptr<Connection> earlier, std::shared_ptr<Connection> next);

  const Upkeep& upkeep_;
  bool running_ = false;
};

}  // namespace namdb::compute
