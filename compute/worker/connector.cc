#include "compute/worker/connector.h"

#include <string>
#include <utility>
#include <vector>

#include "compute/worker/connection.h"
#include "compute/worker/earlier_connections.h"

namespace namdb::compute {

bool Connector::may_have_moved(const Result<std::shared_ptr<Connection>>& attempt) const {
  if (attempt.ok()) return (*attempt)->cluster.away_count() != 0;
  // A level that keeps nothing has no region that moves.
  if (current_.count() != 0 && !current_.flushed()) return false;
  switch (attempt.status().code()) {
    case ErrorCode::cannot_connect_now:
      return true;
    case ErrorCode::connection_failure:
    case ErrorCode::admin_shutdown:
      // The only host, which does not answer, is not asked once more, and there is no other host.
      return parts_.options.memory_servers.size() > 1 || parts_.options.ask_store || finder_.has_moved() ||
             finder_.knows_copies();
    default:
      return false;
  }
}

reactor::Task<Result<std::shared_ptr<Connection>>> Connector::connect() {
  const std::vector<std::string> tried = finder_.addresses();
  auto connection = co_await connect_once();
  if (parts_.wake_ups.stopping() || !may_have_moved(connection)) co_return connection;
  std::shared_ptr<txn::Cluster> living;
  if (connection.ok()) living = std::shared_ptr<txn::Cluster>(*connection, &(*connection)->cluster);
  static_cast<void>(co_await finder_.find(std::move(living)));
  if (parts_.wake_ups.stopping() || finder_.addresses() == tried) co_return connection;
  if (connection.ok()) co_await end_connection(std::move(*connection), false);
  connection = co_await connect_once();
  co_return connection;
}

reactor::Task<Result<std::shared_ptr<Connection>>> Connector::connect_once() {
  const WorkerOptions& options = parts_.options;
  txn::ClusterOptions cluster{finder_.addresses(),
                              options.name,
                              make_compute_id_(),
                              options.worker,
                              options.optimisations,
                              options.stage_times,
                              [&wake_ups = parts_.wake_ups] { wake_ups.hurry(); }};
  auto connection = std::make_shared<Connection>(parts_, std::move(cluster));
  const Status status = co_await connection->connect();
  if (!status.ok()) {
    co_await connection->disconnect(false);
    co_return status;
  }
  co_return connection;
}

}  // namespace namdb::compute
