// Where a worker's connection lacks a memory server, or its end is awaited, or a region is elsewhere: looks
// for another connection that does better, in the background, until there is one. It then takes the place of
// the first, which becomes one of the earlier ones (earlier_connections.h). Beside the heartbeats, since a
// memory server that is away may keep an attempt waiting.
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
