// Keeps a worker connected until it stops. Sends heartbeats over its connection, and does the work that is
// due with each. Connects anew when the connection is lost, again and again until that succeeds. Gives up
// memory servers that do not answer. Earlier connections (earlier_connections.h) are kept up with the current
// one.
//
// Belongs to the worker's executor.
#pragma once

#include <cstdint>
#include <memory>

#include "common/base/error.h"
#include "common/reactor/task.h"
#include "compute/schema/index_balance.h"
#include "compute/worker/connection_report.h"
#include "compute/worker/successor_search.h"
#include "compute/worker/upkeep.h"

namespace namdb::compute {

class Supervisor {
 public:
  // All outlive this.
  Supervisor(const Upkeep& upkeep, SuccessorSearch& successor, ConnectionReport& report)
      : upkeep_(upkeep),
        successor_(successor),
        report_(report),
        index_balance_(
            {.least_bytes = upkeep.options.balance_bytes, .interval_ns = upkeep.options.balance_interval_ns},
            upkeep.log) {}

  // Once, when there is a connection. Its tasks end when the worker stops.
  void start();

 private:
  reactor::Task<void> run();
  // The heartbeat, and what else is due at each. An error means a lost connection.
  reactor::Task<Status> maintain(std::shared_ptr<Connection> connection);
  // After a heartbeat that ended so. False: the connection is lost. True: it goes on, and a successor is
  // looked for where one is needed.
  bool carry_on(const Connection& connection, const Status& heartbeat);
  reactor::Task<void> reconnect();
  // Beside an attempt that may hang.
  reactor::Task<void> look_beside();
  reactor::Task<void> watch_silence();

  const Upkeep& upkeep_;
  SuccessorSearch& successor_;
  ConnectionReport& report_;
  schema::IndexBalance index_balance_;
  std::uint64_t attempts_ = 0;  // since the last connection
  bool running_ = false;
};

}  // namespace namdb::compute
