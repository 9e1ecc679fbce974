#include "compute/worker/supervisor.h"

#include <string>
#include <utility>
#include <vector>

#include "compute/worker/connection.h"
#include "compute/worker/heartbeat.h"
#include "compute/worker/silence_watch.h"

namespace namdb::compute {

void Supervisor::start() {
  running_ = true;
  upkeep_.executor.spawn(upkeep_.tasks, run());
  if (upkeep_.options.memory_timeout_ns != 0) upkeep_.executor.spawn(upkeep_.tasks, watch_silence());
}

reactor::Task<void> Supervisor::watch_silence() {
  const std::uint64_t interval_ns = SilenceWatch::interval_ns(upkeep_.options.memory_timeout_ns);
  while (running_) {
    co_await upkeep_.wake_ups.silence_watch_until(upkeep_.executor.now_ns() + interval_ns);
    if (!upkeep_.current.none()) upkeep_.current.attachment().silence_watch->check();
    upkeep_.earlier.check_silence();
    upkeep_.current.learn_copies();
  }
}

reactor::Task<Status> Supervisor::maintain(std::shared_ptr<Connection> connection) {
  connection->running.expire_idle(upkeep_.executor.fresh_now_ns(), connection->cluster.max_transaction_ns());
  upkeep_.current.learn_copies();
  const std::shared_ptr<Heartbeat> heartbeat = upkeep_.current.attachment().heartbeat;
  Status status = co_await heartbeat->beat();
  if (!status.ok()) co_return status;
  status = co_await heartbeat->discard_orphans();
  if (!status.ok()) co_return status;
  co_await connection->space.return_idle();
  index_balance_.run_if_due(connection, connection->indexes.trees(), upkeep_.tasks);
  co_return Status();
}

reactor::Task<void> Supervisor::look_beside() {
  static_cast<void>(co_await upkeep_.finder.find(nullptr));
}

reactor::Task<void> Supervisor::reconnect() {
  const WorkerOptions& options = upkeep_.options;
  if (attempts_++ != 0 && (options.memory_servers.size() > 1 || options.ask_store))
    upkeep_.executor.spawn(upkeep_.tasks, look_beside());
  auto connection = co_await upkeep_.connector.connect();
  if (!connection.ok()) {
    upkeep_.current.could_not_connect(connection.status());
    co_return;
  }
  const Status whole = (*connection)->cluster.whole();
  upkeep_.current.use(std::move(*connection));
  attempts_ = 0;
  upkeep_.log("connected to the memory servers again");
  if (!whole.ok()) upkeep_.log(whole.message());
}

bool Supervisor::carry_on(const Connection& connection, const Status& heartbeat) {
  // Memory servers that open the database again wait for workers to leave.
  const bool opens = !heartbeat.ok() && heartbeat.code() == ErrorCode::cannot_connect_now;
  if (connection.cluster.failed() || (opens && !connection.cluster.bears_loss())) return false;
  if (opens && !upkeep_.current.end_awaited()) {
    upkeep_.current.await_end();
    upkeep_.wake_ups.wake_search();
  }
  successor_.begin();
  return true;
}

reactor::Task<void> Supervisor::run() {
  const reactor::Executor& executor = upkeep_.executor;
  CurrentConnection& current = upkeep_.current;
  std::uint64_t lost_ns = executor.now_ns();
  while (!upkeep_.wake_ups.stopping()) {
    const std::uint64_t pause_ns =
        current.none() ? upkeep_.attempt_pause_ns(lost_ns)
                       : current.attachment().heartbeat->pause_ns(upkeep_.options.heartbeat_ns);
    if (!upkeep_.wake_ups.take_hastened())
      co_await upkeep_.wake_ups.supervision_until(executor.now_ns() + upkeep_.earlier.pause_ns(pause_ns));
    if (upkeep_.wake_ups.stopping()) break;
    co_await upkeep_.earlier.maintain();
    const std::shared_ptr<Connection> connection = current.get();
    if (connection == nullptr) {
      const std::vector<std::string> addresses = upkeep_.finder.addresses();
      co_await reconnect();
      if (addresses != upkeep_.finder.addresses()) lost_ns = executor.now_ns();
      continue;
    }
    lost_ns = executor.now_ns();
    const Status status = co_await maintain(connection);
    report_.post(current.report());
    if (connection != current.get() || carry_on(*connection, status)) continue;
    const Status why = status.ok() ? connection->cluster.loss() : status;
    upkeep_.log("lost the connection to a memory server: " + why.to_string() +
                "; running transactions are failed, connecting again");
    co_await current.lose(!status.ok() && status.code() == ErrorCode::cannot_connect_now);
  }
  running_ = false;
  upkeep_.wake_ups.wake_silence_watch();
}

}  // namespace namdb::compute
