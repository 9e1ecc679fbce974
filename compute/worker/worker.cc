#include "compute/worker/worker.h"

#include <algorithm>
#include <utility>

#include "compute/cluster/tool_hello.h"
#include "compute/recovery/outcome_finder.h"
#include "compute/worker/connection.h"
#include "compute/worker/disconnected_transaction.h"
#include "compute/worker/heartbeat.h"
#include "compute/worker/silence_watch.h"

namespace namdb::compute {

namespace {

txn::RetryOptions retries(const WorkerOptions& options) {
  txn::RetryOptions retry = options.retry;
  if (!options.optimisations.adaptive_backoff) retry.max_backoff_ns = retry.first_backoff_ns;
  return retry;
}

// Of the time that it has looked already, a pause is such a part.
constexpr std::uint64_t kPauses = 16;

}  // namespace

Worker::Worker(reactor::Executor& executor, fabric::ClientFabric& fabric, storage::LocationCache& locations,
               WorkerOptions options, MakeComputeId make_compute_id, LogLine log)
    : executor_(executor),
      locations_(locations),
      options_(std::move(options)),
      make_compute_id_(std::move(make_compute_id)),
      log_(std::move(log)),
      patient_(executor, fabric),
      finder_(executor, patient_, options_.memory_servers,
              {.hello = [this] { return txn::tool_hello(make_compute_id_(), options_.name); },
               .moved = [this] { moved(); },
               .ask_store = options_.ask_store,
               .log = log_}),
      backoff_(retries(options_)),
      outcomes_(std::make_unique<txn::OutcomeFinder>(
          executor,
          [this] {
            return connection_ == nullptr ? std::shared_ptr<txn::Cluster>()
                                          : std::shared_ptr<txn::Cluster>(connection_, &connection_->cluster);
          },
          options_.outcome_patience_ns)),
      earlier_(executor),
      wake_(executor),
      hurry_(executor),
      seek_(executor),
      index_balance_({.least_bytes = options_.balance_bytes, .interval_ns = options_.balance_interval_ns},
                     log_),
      report_(executor, fabric, options_) {}

Worker::~Worker() = default;

Status Worker::not_connected() const {
  return Status(opens_ ? ErrorCode::cannot_connect_now : ErrorCode::connection_failure,
                "there is no connection to the memory servers: " + reason_,
                "the compute server connects again by itself; look at its log");
}

bool Worker::may_have_moved(const Result<std::shared_ptr<Connection>>& attempt) const {
  if (attempt.ok()) return (*attempt)->cluster.away_count() != 0;
  // A level that keeps nothing has no region that moves.
  if (connections_ != 0 && !flushed_) return false;
  switch (attempt.status().code()) {
    case ErrorCode::cannot_connect_now:
      return true;
    case ErrorCode::connection_failure:
    case ErrorCode::admin_shutdown:
      // The only host, which does not answer, is not asked once more, and there is nobody else.
      return options_.memory_servers.size() > 1 || options_.ask_store || finder_.has_moved() ||
             finder_.knows_copies();
    default:
      return false;
  }
}

reactor::Task<Result<std::shared_ptr<Connection>>> Worker::connect() {
  const std::vector<std::string> tried = finder_.addresses();
  auto connection = co_await connect_once();
  if (stopping_ || !may_have_moved(connection)) co_return connection;
  std::shared_ptr<txn::Cluster> living;
  if (connection.ok()) living = std::shared_ptr<txn::Cluster>(*connection, &(*connection)->cluster);
  static_cast<void>(co_await finder_.find(std::move(living)));
  if (stopping_ || finder_.addresses() == tried) co_return connection;
  if (connection.ok()) co_await end_connection(std::move(*connection), false);
  connection = co_await connect_once();
  co_return connection;
}

reactor::Task<Result<std::shared_ptr<Connection>>> Worker::connect_once() {
  txn::ClusterOptions options{finder_.addresses(), options_.name,          make_compute_id_(),
                              options_.worker,     options_.optimisations, options_.stage_times,
                              [this] { hurry(); }};
  const WorkerParts parts{executor_, patient_,       locations_, options_,   log_,
                          backoff_,  damaged_reads_, stopping_,  *outcomes_, [this] { hasten(); }};
  auto connection = std::make_shared<Connection>(parts, std::move(options));
  const Status status = co_await connection->connect();
  if (!status.ok()) {
    co_await connection->disconnect(false);
    co_return status;
  }
  co_return connection;
}

void Worker::use(std::shared_ptr<Connection> connection) {
  static_cast<void>(cached_roles());
  log_restarts(connection->cluster);
  serializable_ = connection->cluster.protocol().serializable;
  flushed_ = connection->cluster.flushed();
  finder_.know_database(connection->cluster.database_id());
  ++connections_;
  heartbeat_ = std::make_shared<Heartbeat>(connection, gate_, answers_);
  silence_watch_ = std::make_shared<SilenceWatch>(connection, answers_, options_.memory_timeout_ns);
  learn_copies(connection);
  connection_ = std::move(connection);
  awaited_ = false;
  attempts_ = 0;
}

void Worker::log_restarts(const txn::Cluster& cluster) {
  for (const layout::ServerId server : epochs_.restarted(cluster)) {
    log_("memory server " + std::to_string(server) + " has restarted" +
         (cluster.flushed() ? ", and has opened its data" : " and is empty"));
  }
}

reactor::Task<Status> Worker::start() {
  auto connection = co_await connect();
  if (!connection.ok()) {
    co_await finder_.settle();
    co_await patient_.settle();
    co_return connection.status();
  }
  use(std::move(*connection));
  report_.post(now());
  supervised_ = true;
  executor_.spawn(gate_, supervise());
  if (options_.memory_timeout_ns != 0) executor_.spawn(gate_, watch());
  co_return Status();
}

reactor::Task<void> Worker::stop() {
  stopping_ = true;
  outcomes_->stop();
  wake_.notify_all();
  hurry();
  co_await gate_.close();
  co_await earlier_.close();
  if (connection_ != nullptr)
    co_await drop_connection(!connection_->cluster.has_lost() && !heartbeat_->awaits_answer());
  co_await answers_.close();
  co_await finder_.settle();
  co_await patient_.settle();
}

reactor::Task<void> Worker::drop_connection(bool cleanly) {
  static_cast<void>(cached_roles());  // keeps those that are known now
  const std::shared_ptr<Connection> connection = std::exchange(connection_, nullptr);
  heartbeat_ = nullptr;
  silence_watch_ = nullptr;
  co_await end_connection(connection, cleanly);
}

std::uint64_t Worker::attempt_pause_ns(std::uint64_t began_ns) const {
  return std::clamp((executor_.now_ns() - began_ns) / kPauses, options_.first_reconnect_ns,
                    options_.max_reconnect_ns);
}

void Worker::hasten() {
  hastened_ = true;
  hurry_.notify_all();
}

void Worker::hurry() {
  hurry_.notify_all();
  seek_.notify_all();
}

void Worker::moved() {
  earlier_.hasten();
  hurry();
  // supervise() may wait for the host that has lost its region.
  seek_successor();
}

bool Worker::seeks_successor() const {
  if (stopping_ || connection_ == nullptr) return false;
  return awaited_ || !connection_->cluster.whole().ok() || finder_.reaches_old(connection_->cluster);
}

void Worker::seek_successor() {
  if (succeeding_ || !seeks_successor()) return;
  succeeding_ = true;
  executor_.spawn(gate_, succeed());
}

// Beside the heartbeats: a memory server that is away may keep this waiting.
reactor::Task<void> Worker::succeed() {
  std::uint64_t began_ns = executor_.now_ns();
  while (seeks_successor()) {
    const std::vector<std::string> addresses = finder_.addresses();
    const std::shared_ptr<Connection> earlier = connection_;
    const bool awaited = awaited_;
    const bool taken = co_await succeed_once(earlier);
    if (!taken && awaited_ && connection_ == earlier) {
      if (!awaited) continue;  // since a moment ago
      log_("memory servers open the database again; running transactions are failed, connecting again");
      reason_ = "the connection was lost";
      opens_ = true;
      locations_.clear();
      co_await drop_connection(false);
      break;
    }
    // A place that is new is worth as much haste as a loss.
    if (taken || addresses != finder_.addresses()) began_ns = executor_.now_ns();
    if (seeks_successor()) co_await seek_.wait_until(executor_.now_ns() + attempt_pause_ns(began_ns));
  }
  succeeding_ = false;
}

reactor::Task<bool> Worker::succeed_once(std::shared_ptr<Connection> earlier) {
  const std::shared_ptr<txn::Cluster> cluster(earlier, &earlier->cluster);
  static_cast<void>(co_await finder_.find(cluster));
  const bool left = finder_.leave_old(*cluster);
  if (left) hurry_.notify_all();
  bool worth_it = left || awaited_ || cluster->has_lost();
  if (!worth_it) {
    std::vector<std::string> addresses = finder_.addresses();
    worth_it = co_await cluster->away_returns(std::move(addresses));
  }
  if (!worth_it || stopping_) co_return false;
  auto next = co_await connect();
  if (!next.ok()) co_return false;
  co_return co_await take_over(earlier, std::move(*next));
}

reactor::Task<bool> Worker::take_over(std::shared_ptr<Connection> earlier, std::shared_ptr<Connection> next) {
  const bool lost = earlier->cluster.has_lost();
  const bool better = awaited_ || lost || next->cluster.away_count() < earlier->cluster.away_count();
  if (!better || connection_ != earlier || stopping_) {
    co_await end_connection(std::move(next), false);
    co_return false;
  }
  const Status whole = next->cluster.whole();
  log_(whole.ok() ? "connected to all memory servers again" : whole.message());
  // Places on a server that was lost must not be used when it is another process.
  locations_.clear();
  // A server may have been lost for a moment only: then its clients wait for what is decided once the earlier
  // connection has ended.
  const bool waited_for = awaited_ || (lost && whole.ok());
  earlier->is_one_of_several = next->is_one_of_several = true;
  earlier_.add({earlier, heartbeat_, silence_watch_},
               waited_for ? EarlierConnections::kMoment_ns : earlier->cluster.max_transaction_ns());
  use(std::move(next));
  hurry_.notify_all();
  co_return true;
}

reactor::Task<void> Worker::watch() {
  while (supervised_) {
    co_await wake_.wait_until(executor_.now_ns() + SilenceWatch::interval_ns(options_.memory_timeout_ns));
    if (silence_watch_ != nullptr) silence_watch_->check();
    earlier_.check_silence();
    if (connection_ != nullptr) learn_copies(connection_);
  }
}

reactor::Task<Status> Worker::maintain(std::shared_ptr<Connection> connection) {
  connection->running.expire_idle(executor_.fresh_now_ns(), connection->cluster.max_transaction_ns());
  learn_copies(connection);
  const std::shared_ptr<Heartbeat> heartbeat = heartbeat_;
  Status status = co_await heartbeat->beat();
  if (!status.ok()) co_return status;
  status = co_await heartbeat->discard_orphans();
  if (!status.ok()) co_return status;
  co_await connection->space.return_idle();
  index_balance_.run_if_due(connection, connection->indexes.trees(), gate_);
  co_return Status();
}

void Worker::learn_copies(const std::shared_ptr<Connection>& connection) {
  if (!connection->leases.needed()) return;
  finder_.keep_up(std::shared_ptr<txn::Cluster>(connection, &connection->cluster),
                  connection->leases.awaited(), answers_);
}

// Beside an attempt that may hang.
reactor::Task<void> Worker::look_beside() {
  static_cast<void>(co_await finder_.find(nullptr));
}

reactor::Task<void> Worker::reconnect() {
  if (attempts_++ != 0 && (options_.memory_servers.size() > 1 || options_.ask_store))
    executor_.spawn(gate_, look_beside());
  auto connection = co_await connect();
  if (connection.ok()) {
    const Status whole = (*connection)->cluster.whole();
    use(std::move(*connection));
    log_("connected to the memory servers again");
    if (!whole.ok()) log_(whole.message());
    co_return;
  }
  const std::string reason = connection.status().to_string();
  if (reason != reason_) log_("cannot connect to the memory servers: " + reason);
  reason_ = reason;
  opens_ = connection.status().code() == ErrorCode::cannot_connect_now;
}

reactor::Task<void> Worker::supervise() {
  std::uint64_t lost_ns = executor_.now_ns();
  while (!stopping_) {
    const std::uint64_t pause_ns =
        heartbeat_ == nullptr ? attempt_pause_ns(lost_ns) : heartbeat_->pause_ns(options_.heartbeat_ns);
    if (!std::exchange(hastened_, false))
      co_await hurry_.wait_until(executor_.now_ns() + earlier_.pause_ns(pause_ns));
    if (stopping_) break;
    co_await earlier_.maintain();
    const std::shared_ptr<Connection> connection = connection_;
    if (connection == nullptr) {
      const std::vector<std::string> addresses = finder_.addresses();
      co_await reconnect();
      if (addresses != finder_.addresses()) lost_ns = executor_.now_ns();
      continue;
    }
    lost_ns = executor_.now_ns();
    const Status status = co_await maintain(connection);
    report_.post(now());
    if (connection != connection_) continue;
    // Memory servers that open the database again wait for workers to leave.
    const bool opens = !status.ok() && status.code() == ErrorCode::cannot_connect_now;
    if (!connection->cluster.failed() && (!opens || connection->cluster.bears_loss())) {
      if (opens && !std::exchange(awaited_, true)) seek_.notify_all();
      seek_successor();
      continue;
    }
    const Status why = status.ok() ? connection->cluster.loss() : status;
    log_("lost the connection to a memory server: " + why.to_string() +
         "; running transactions are failed, connecting again");
    reason_ = "the connection was lost";
    opens_ = opens;
    // Addresses of another epoch must not be used; those of this one are found again soon.
    locations_.clear();
    co_await drop_connection(false);
  }
  supervised_ = false;
  wake_.notify_all();
}

ConnectionReport::Now Worker::now() const {
  return {connection_ == nullptr ? nullptr : &connection_->cluster, connections_, reason_};
}

std::vector<fabric::ConnectionFacts> Worker::fabric_facts() {
  return report_.all(now());
}

txn::Placement Worker::placement() const {
  return {static_cast<std::uint32_t>(options_.memory_servers.size()), options_.beside};
}

std::unique_ptr<txn::Session> Worker::open_session() {
  return std::make_unique<protocol::SessionState>();
}

std::unique_ptr<txn::Transaction> Worker::begin(txn::Session& session) {
  if (connection_ == nullptr) return std::make_unique<DisconnectedTransaction>(not_connected());
  backoff_.begins();
  return connection_->begin(static_cast<protocol::SessionState&>(session));
}

reactor::Task<void> Worker::backoff(std::uint32_t attempt) {
  return back_off(executor_, backoff_, attempt);
}

std::uint64_t Worker::damaged_reads() const {
  return damaged_reads_;
}

}  // namespace namdb::compute
