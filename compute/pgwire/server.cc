#include "compute/pgwire/server.h"

#include <algorithm>
#include <utility>

namespace namdb::pgwire {

using reactor::Task;

namespace {

// Connections that have not started may be as many as are accepted, and at least so many.
constexpr std::size_t kUnstarted = 64;
constexpr std::uint64_t kAcceptPause_ns = 50 * kMillisecond_ns;  // when the process is out of descriptors

}  // namespace

Server::Server(txn::Engine& engine, const procedure::ProcedureRegistry& procedures, ProcessState& process,
               sql::WallClock wall_clock_us, Post post, sql::PlanningQueue* planning)
    : executor_(engine.executor()),
      statistics_(process.statistics()),
      ids_(engine, wall_clock_us),
      sequences_(engine),
      locks_(engine),
      environment_{engine,
                   procedures,
                   statistics_,
                   std::move(wall_clock_us),
                   &process.client_memory(),
                   &plans_,
                   &process,
                   planning,
                   &ids_,
                   &sequences_,
                   &routines_,
                   &locks_},
      process_(process),
      post_(std::move(post)),
      refusals_(executor_, [&process](const std::string& line) { process.log(line); }),
      changed_(executor_) {}

Server::~Server() {
  NAMDB_CHECK(connections_.empty());
}

Task<void> Server::serve(reactor::StreamListener& listener) {
  if (stopping_) co_return;
  listeners_.push_back(&listener);
  for (;;) {
    Result<std::unique_ptr<reactor::ByteStream>> stream = co_await listener.accept();
    if (stream.ok()) {
      adopt(std::move(stream).value());
    } else if (stream.status().code() == ErrorCode::limit_exceeded && !stopping_) {
      co_await executor_.sleep_for(kAcceptPause_ns);
    } else {
      break;
    }
  }
  std::erase(listeners_, &listener);
}

void Server::adopt(std::unique_ptr<reactor::ByteStream> stream) {
  if (stopping_) return;
  std::function<void()> wake = [this] {
    if (!post_) return end_terminated();
    post_([this] { end_terminated(); });
  };
  connections_.push_front(
      std::make_unique<Connection>(std::move(stream), environment_, process_, std::move(wake), refusals_));
  if (draining_) (void)connections_.front()->request_drain();  // it has not started
  executor_.spawn(gate_, run_connection(connections_.begin()));
  drop_silent();
  if (!watching_) {
    watching_ = true;
    executor_.spawn(gate_, watch_startups());
  }
}

void Server::drain() {
  draining_ = true;
  for (const auto& connection : connections_) {
    if (connection->request_drain()) executor_.spawn(gate_, connection->end_if_waiting());
  }
}

void Server::drop_silent() {
  const std::size_t most = std::max<std::size_t>(process_.options().max_connections, kUnstarted);
  if (connections_.size() <= most) return;
  std::size_t unstarted = 0;
  Connection* oldest = nullptr;
  for (const auto& connection : connections_) {
    if (connection->started() || connection->closed()) continue;
    ++unstarted;
    oldest = connection.get();
  }
  if (unstarted > most) oldest->close();
}

void Server::end_terminated() {
  if (stopping_) return;
  for (const auto& connection : connections_) {
    if (connection->request_end()) executor_.spawn(gate_, connection->end_if_waiting());
  }
}

Task<void> Server::run_connection(Connections::iterator connection) {
  co_await (*connection)->run();
  connections_.erase(connection);
  changed_.notify_all();
}

Task<void> Server::watch_startups() {
  const std::uint64_t timeout_ns = process_.options().startup_timeout_ns;
  while (!stopping_) {
    std::uint64_t next_ns = ~std::uint64_t{0};
    for (const auto& connection : connections_) {
      if (connection->started()) continue;
      const std::uint64_t deadline_ns = connection->accepted_ns() + timeout_ns;
      if (deadline_ns <= executor_.now_ns()) {
        connection->close();
      } else {
        next_ns = std::min(next_ns, deadline_ns);
      }
    }
    if (next_ns == ~std::uint64_t{0}) break;
    co_await changed_.wait_until(next_ns);
  }
  watching_ = false;
}

Task<void> Server::wait_until_none(std::uint64_t deadline_ns) {
  while (!connections_.empty() && executor_.now_ns() < deadline_ns) co_await changed_.wait_until(deadline_ns);
}

Task<void> Server::stop() {
  stopping_ = true;
  for (reactor::StreamListener* listener : listeners_) listener->close();
  changed_.notify_all();
  for (const auto& connection : connections_) {
    if (connection->request_stop(Connection::Stop::at_sync))
      executor_.spawn(gate_, connection->end_for_shutdown());
  }
  // Idle connections end as soon as their last message has left, others after their statements. A connection
  // that still runs then gets an error, and a client that does not read is cut off.
  co_await wait_until_none(executor_.now_ns() + process_.options().shutdown_grace_ns);
  for (const auto& connection : connections_) {
    if (connection->request_stop(Connection::Stop::now))
      executor_.spawn(gate_, connection->end_for_shutdown());
  }
  co_await wait_until_none(executor_.now_ns() + process_.options().shutdown_write_ns);
  for (const auto& connection : connections_) connection->close();
  co_await gate_.close();
  co_await refusals_.close();
  co_await ids_.close();
  co_await locks_.close();
}

}  // namespace namdb::pgwire
