#include "compute/worker/earlier_connections.h"

#include <algorithm>
#include <utility>

#include "compute/worker/connection.h"
#include "compute/worker/heartbeat.h"
#include "compute/worker/silence_watch.h"

namespace namdb::compute {
namespace {

// While the end of a connection is awaited, heartbeats are so many times as frequent.
constexpr std::uint64_t kHaste = 16;

// Behind disconnect(). Sessions may keep transactions that have ended or will fail, and the connection with
// them: nothing of theirs is under way from now on.
void give_up_rest(Connection& connection) {
  connection.cluster.give_up(Status(ErrorCode::connection_failure, "the connection has ended"));
}

}  // namespace

reactor::Task<void> end_connection(std::shared_ptr<Connection> connection, bool cleanly) {
  // Memory servers on disk open again once every worker has left; a transaction may stay for long.
  if (!cleanly && connection->cluster.flushed())
    connection->cluster.give_up(Status(ErrorCode::connection_failure, "the connection was lost"));
  co_await connection->disconnect(cleanly);
  give_up_rest(*connection);
}

void EarlierConnections::add(Attachment earlier, std::uint64_t longest_ns) {
  all_.push_back(std::make_shared<Earlier>(Earlier{
      std::move(earlier), executor_.now_ns(), executor_.now_ns() + longest_ns, longest_ns <= kMoment_ns}));
}

void EarlierConnections::hasten() {
  for (const std::shared_ptr<Earlier>& earlier : all_) {
    if (earlier->attachment.connection->cluster.has_lost()) await_end(*earlier);
  }
}

void EarlierConnections::await_end(Earlier& earlier) const {
  earlier.awaited = true;
  earlier.end_by_ns = std::min(earlier.end_by_ns, earlier.since_ns + kMoment_ns);
}

reactor::Task<void> EarlierConnections::maintain() {
  const std::list<std::shared_ptr<Earlier>> now = all_;
  for (const std::shared_ptr<Earlier>& earlier : now) co_await maintain_one(earlier);
}

reactor::Task<void> EarlierConnections::maintain_one(std::shared_ptr<Earlier> earlier) {
  const std::shared_ptr<Connection> connection = earlier->attachment.connection;
  connection->running.expire_idle(executor_.fresh_now_ns(), connection->cluster.max_transaction_ns());
  const auto is_over = [this, &earlier, &connection] {
    return connection->cluster.failed() || executor_.now_ns() >= earlier->end_by_ns;
  };
  bool fails = is_over();
  if (!fails && connection->running.any()) {
    const Status status = co_await earlier->attachment.heartbeat->beat();
    if (!status.ok() && status.code() == ErrorCode::cannot_connect_now) await_end(*earlier);
    fails = is_over();
  }
  if (!fails && connection->running.any()) co_return;
  all_.remove(earlier);
  if (fails) {
    co_await end_connection(connection, false);
    co_return;
  }
  // Commits that were answered before they were installed are whole then, where that is possible.
  co_await connection->settle();
  co_await connection->disconnect(!connection->cluster.has_lost());
  give_up_rest(*connection);
}

std::uint64_t EarlierConnections::pause_ns(std::uint64_t interval_ns) const {
  std::uint64_t least_ns = interval_ns;
  for (const std::shared_ptr<Earlier>& earlier : all_) {
    least_ns = std::min(least_ns, earlier->attachment.heartbeat->pause_ns(interval_ns));
    if (earlier->awaited) least_ns = std::min(least_ns, interval_ns / kHaste);
  }
  return least_ns;
}

void EarlierConnections::check_silence() {
  for (const std::shared_ptr<Earlier>& earlier : all_) earlier->attachment.silence_watch->check();
}

reactor::Task<void> EarlierConnections::close() {
  while (!all_.empty()) {
    const std::shared_ptr<Earlier> earlier = all_.front();
    all_.pop_front();
    const std::shared_ptr<Connection> connection = earlier->attachment.connection;
    co_await end_connection(connection, !connection->running.any() && !connection->cluster.has_lost());
  }
}

}  // namespace namdb::compute
