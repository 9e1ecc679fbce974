#include "compute/worker/current_connection.h"

#include <utility>

#include "compute/worker/connection.h"
#include "compute/worker/heartbeat.h"
#include "compute/worker/silence_watch.h"

namespace namdb::compute {

std::shared_ptr<txn::Cluster> CurrentConnection::cluster() const {
  if (none()) return nullptr;
  return {now_.connection, &now_.connection->cluster};
}

Result<std::shared_ptr<Connection>> CurrentConnection::whole() const {
  if (none()) return not_connected();
  Status status = now_.connection->cluster.whole();
  if (!status.ok()) return status;
  return now_.connection;
}

Status CurrentConnection::not_connected() const {
  return Status(opens_ ? ErrorCode::cannot_connect_now : ErrorCode::connection_failure,
                "there is no connection to the memory servers: " + reason_,
                "the compute server connects again by itself; look at its log");
}

void CurrentConnection::use(std::shared_ptr<Connection> connection) {
  static_cast<void>(roles());  // keeps those that are known now
  const txn::Cluster& cluster = connection->cluster;
  for (const layout::ServerId server : epochs_.restarted(cluster)) {
    parts_.log("memory server " + std::to_string(server) + " has restarted" +
               (cluster.flushed() ? ", and has opened its data" : " and is empty"));
  }
  serializable_ = cluster.protocol().serializable;
  flushed_ = cluster.flushed();
  parts_.finder.know_database(cluster.database_id());
  ++count_;
  now_ = {connection, std::make_shared<Heartbeat>(connection, parts_.tasks, parts_.answers),
          std::make_shared<SilenceWatch>(connection, parts_.answers, parts_.options.memory_timeout_ns)};
  learn_copies();
  end_awaited_ = false;
}

reactor::Task<void> CurrentConnection::drop(bool cleanly) {
  static_cast<void>(roles());  // keeps those that are known now
  const std::shared_ptr<Connection> last = std::move(now_.connection);
  now_ = {};
  co_await end_connection(last, cleanly);
}

reactor::Task<void> CurrentConnection::lose(bool opens) {
  reason_ = "the connection was lost";
  opens_ = opens;
  // Addresses of another epoch must not be used; those of this one are found again soon.
  parts_.locations.clear();
  return drop(false);
}

reactor::Task<void> CurrentConnection::leave() {
  if (none()) co_return;
  co_await drop(!now_.connection->cluster.has_lost() && !now_.heartbeat->awaits_answer());
}

void CurrentConnection::could_not_connect(const Status& why) {
  const std::string reason = why.to_string();
  if (reason != reason_) parts_.log("cannot connect to the memory servers: " + reason);
  reason_ = reason;
  opens_ = why.code() == ErrorCode::cannot_connect_now;
}

void CurrentConnection::learn_copies() {
  if (none() || !now_.connection->leases.needed()) return;
  parts_.finder.keep_up(cluster(), now_.connection->leases.awaited(), parts_.answers);
}

const storage::RolesRef& CurrentConnection::roles() const {
  if (!none() && now_.connection->catalog.version() != 0) roles_ = now_.connection->catalog.roles();
  return roles_;
}

ConnectionReport::Now CurrentConnection::report() const {
  return {none() ? nullptr : &now_.connection->cluster, count_, reason_};
}

}  // namespace namdb::compute
