#include "compute/worker/worker.h"

#include <algorithm>
#include <utility>

#include "common/calls/protocol_version.h"
#include "common/placement/ask.h"
#include "compute/recovery/outcome_finder.h"
#include "compute/recovery/slot_states.h"
#include "compute/worker/connection.h"
#include "compute/worker/disconnected_transaction.h"
#include "compute/worker/heartbeat.h"
#include "compute/worker/silence_watch.h"
#include "proto/control.pb.h"

namespace namdb::compute {

using storage::RoutineRef;
using storage::TableRef;

namespace {

struct WorkerSession : protocol::SessionState {
  std::uint64_t epochs = 0;  // of the memory servers with the timestamp vector
};

txn::RetryOptions retries(const WorkerOptions& options) {
  txn::RetryOptions retry = options.retry;
  if (!options.optimisations.adaptive_backoff) retry.max_backoff_ns = retry.first_backoff_ns;
  return retry;
}

// A memory server that was not found may be elsewhere.
bool may_have_moved(const Status& why) {
  return why.code() == ErrorCode::connection_failure || why.code() == ErrorCode::cannot_connect_now ||
         why.code() == ErrorCode::admin_shutdown;
}

}  // namespace

Worker::Worker(reactor::Executor& executor, fabric::ClientFabric& fabric, storage::LocationCache& locations,
               WorkerOptions options, MakeComputeId make_compute_id, LogLine log)
    : executor_(executor),
      fabric_(fabric),
      locations_(locations),
      options_(std::move(options)),
      configured_(options_.memory_servers),
      places_(configured_),
      make_compute_id_(std::move(make_compute_id)),
      log_(std::move(log)),
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
      index_balance_({.least_bytes = options_.balance_bytes, .interval_ns = options_.balance_interval_ns},
                     log_),
      report_(executor, fabric, options_) {}

Worker::~Worker() = default;

Status Worker::not_connected() const {
  return Status(opens_ ? ErrorCode::cannot_connect_now : ErrorCode::connection_failure,
                "there is no connection to the memory servers: " + reason_,
                "the compute server connects again by itself; look at its log");
}

reactor::Task<Result<std::shared_ptr<Connection>>> Worker::connect() {
  auto connection = co_await connect_once();
  if (connection.ok() || stopping_ || !may_have_moved(connection.status())) co_return connection;
  // A level that keeps nothing has no region that moves.
  if (connections_ != 0 && !flushed_) co_return connection;
  // One host that does not answer is not asked once more, and there is nobody else.
  const bool answers = connection.status().code() == ErrorCode::cannot_connect_now;
  if (!answers && configured_.size() == 1 && options_.memory_servers == configured_) co_return connection;
  const bool moved = co_await find_moved();
  if (moved && !stopping_) connection = co_await connect_once();
  co_return connection;
}

reactor::Task<bool> Worker::find_moved() {
  const placement::MakeHello hello = [this] {
    const txn::ComputeId id = make_compute_id_();
    control::Hello tool;
    tool.set_protocol_version(calls::kProtocolVersion);
    tool.set_compute_id(id.data(), id.size());
    tool.set_name(options_.name);
    tool.set_tool(true);
    return tool.SerializeAsString();
  };
  std::vector<std::string> hosts = options_.memory_servers;
  hosts.insert(hosts.end(), configured_.begin(), configured_.end());
  const bool learned = co_await placement::ask(&executor_, &fabric_, hello, std::move(hosts), &places_);
  for (std::size_t i = 0; learned && i < options_.memory_servers.size(); ++i) {
    const placement::Place& place = places_.place(i);
    if (place.number == 0 || place.address == options_.memory_servers[i]) continue;
    log_("memory server " + std::to_string(i) + " is at " + place.address + " now, not at " +
         options_.memory_servers[i]);
    options_.memory_servers[i] = place.address;
  }
  co_return learned;
}

reactor::Task<Result<std::shared_ptr<Connection>>> Worker::connect_once() {
  txn::ClusterOptions options{options_.memory_servers,
                              options_.name,
                              make_compute_id_(),
                              options_.worker,
                              options_.optimisations,
                              options_.stage_times,
                              [this] { hurry_.notify_all(); }};
  const WorkerParts parts{executor_, fabric_,        locations_, options_,  log_,
                          backoff_,  damaged_reads_, stopping_,  *outcomes_};
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
  connected_number_ = places_.number();
  ++connections_;
  heartbeat_ = std::make_shared<Heartbeat>(connection, gate_);
  silence_watch_ = std::make_shared<SilenceWatch>(connection, gate_, options_.memory_timeout_ns);
  connection_ = std::move(connection);
  awaited_ = false;
}

void Worker::log_restarts(const txn::Cluster& cluster) {
  std::vector<std::uint64_t> epochs;
  for (std::size_t i = 0; i < cluster.server_count(); ++i) {
    const auto server = static_cast<layout::ServerId>(i);
    if (cluster.away(server)) {
      epochs.push_back(epochs_.empty() ? 0 : epochs_[i]);
      continue;
    }
    epochs.push_back(cluster.region_map(server).epoch);
    if (!epochs_.empty() && epochs_[i] != 0 && epochs_[i] != epochs[i]) {
      log_("memory server " + std::to_string(i) + " has restarted" +
           (cluster.flushed() ? ", and has opened its data" : " and is empty"));
    }
  }
  epochs_ = std::move(epochs);
}

reactor::Task<Status> Worker::start() {
  auto connection = co_await connect();
  if (!connection.ok()) co_return connection.status();
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
  hurry_.notify_all();
  co_await gate_.close();
  co_await earlier_.close();
  if (connection_ != nullptr) co_await drop_connection(!connection_->cluster.has_lost());
}

reactor::Task<void> Worker::drop_connection(bool cleanly) {
  static_cast<void>(cached_roles());  // keeps those that are known now
  const std::shared_ptr<Connection> connection = std::exchange(connection_, nullptr);
  heartbeat_ = nullptr;
  silence_watch_ = nullptr;
  co_await end_connection(connection, cleanly);
}

void Worker::seek_successor() {
  if (stopping_ || succeeding_) return;
  const bool early = executor_.now_ns() < succession_due_ns_;
  if (!awaited_ && (early || connection_->cluster.whole().ok())) return;
  succeeding_ = true;
  executor_.spawn(gate_, succeed(connection_));
}

// Beside the heartbeats: a memory server that is away may keep this waiting.
reactor::Task<void> Worker::succeed(std::shared_ptr<Connection> earlier) {
  bool taken = false;
  bool worth_it = awaited_ || earlier->cluster.has_lost();
  if (!worth_it) worth_it = co_await earlier->cluster.away_returns();
  if (!worth_it) static_cast<void>(co_await find_moved());
  // That connection looks for what is away where it was.
  worth_it = worth_it || places_.number() != connected_number_;
  if (worth_it) {
    auto next = co_await connect();
    if (next.ok()) taken = co_await take_over(earlier, std::move(*next));
  }
  if (!taken && awaited_ && connection_ == earlier) {
    log_("memory servers open the database again; running transactions are failed, connecting again");
    reason_ = "the connection was lost";
    opens_ = true;
    locations_.clear();
    co_await drop_connection(false);
  }
  succession_pause_ns_ =
      taken ? options_.first_reconnect_ns
            : std::clamp(2 * succession_pause_ns_, options_.first_reconnect_ns, options_.max_reconnect_ns);
  succession_due_ns_ = executor_.now_ns() + succession_pause_ns_;
  succeeding_ = false;
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
  }
}

reactor::Task<void> Worker::balance(std::shared_ptr<Connection> connection) {
  co_await index_balance_.run(*connection, connection->indexes.trees());
}

reactor::Task<Status> Worker::maintain(std::shared_ptr<Connection> connection) {
  connection->running.expire_idle(executor_.fresh_now_ns(), connection->cluster.max_transaction_ns());
  const std::shared_ptr<Heartbeat> heartbeat = heartbeat_;
  Status status = co_await heartbeat->beat();
  if (!status.ok()) co_return status;
  status = co_await connection->orphans.discard();
  if (!status.ok()) co_return status;
  co_await connection->space.return_idle();
  if (index_balance_.begin(*connection)) executor_.spawn(gate_, balance(connection));
  co_return Status();
}

reactor::Task<bool> Worker::reconnect() {
  auto connection = co_await connect();
  if (connection.ok()) {
    const Status whole = (*connection)->cluster.whole();
    use(std::move(*connection));
    log_("connected to the memory servers again");
    if (!whole.ok()) log_(whole.message());
    co_return true;
  }
  const std::string reason = connection.status().to_string();
  if (reason != reason_) log_("cannot connect to the memory servers: " + reason);
  reason_ = reason;
  opens_ = connection.status().code() == ErrorCode::cannot_connect_now;
  co_return false;
}

reactor::Task<void> Worker::supervise() {
  std::uint64_t reconnect_ns = options_.first_reconnect_ns;
  while (!stopping_) {
    const std::uint64_t pause_ns =
        heartbeat_ == nullptr ? reconnect_ns : heartbeat_->pause_ns(options_.heartbeat_ns);
    co_await hurry_.wait_until(executor_.now_ns() + earlier_.pause_ns(pause_ns));
    if (stopping_) break;
    co_await earlier_.maintain();
    const std::shared_ptr<Connection> connection = connection_;
    if (connection == nullptr) {
      const bool connected = co_await reconnect();
      reconnect_ns =
          connected ? options_.first_reconnect_ns : std::min(reconnect_ns * 2, options_.max_reconnect_ns);
      continue;
    }
    const Status status = co_await maintain(connection);
    report_.post(now());
    if (connection != connection_) continue;
    // Memory servers that open the database again wait for workers to leave.
    const bool opens = !status.ok() && status.code() == ErrorCode::cannot_connect_now;
    if (!connection->cluster.failed() && (!opens || connection->cluster.bears_loss())) {
      awaited_ = awaited_ || opens;
      seek_successor();
      continue;
    }
    log_("lost the connection to a memory server: " + status.to_string() +
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
  return std::make_unique<WorkerSession>();
}

std::unique_ptr<txn::Transaction> Worker::begin(txn::Session& session) {
  if (connection_ == nullptr) return std::make_unique<DisconnectedTransaction>(not_connected());
  backoff_.begins();
  auto& state = static_cast<WorkerSession&>(session);
  const std::uint64_t epochs = connection_->cluster.vector_epochs();
  if (state.epochs != epochs) {
    state.newest_words.clear();
    state.epochs = epochs;
  }
  return connection_->begin(state);
}

TableRef Worker::cached_table(std::string_view name) {
  return connection_ == nullptr ? nullptr : connection_->catalog.find(name);
}

std::uint64_t Worker::catalog_version() const {
  // Versions of different connections must not be equal: the memory server may have restarted.
  return connection_ == nullptr ? 0 : (connections_ << 48) + connection_->catalog.version();
}

// The functions below await one of the connection's, and hold the connection meanwhile.

reactor::Task<Result<TableRef>> Worker::table(std::string name) {
  const std::shared_ptr<Connection> connection = connection_;
  if (connection == nullptr) co_return not_connected();
  TableRef table = connection->catalog.find(name);
  if (table == nullptr) {
    const Status status = co_await connection->catalog.refresh();
    if (!status.ok()) co_return status;
    table = connection->catalog.find(name);
  }
  if (table == nullptr)
    co_return Status(ErrorCode::undefined_table, "relation \"" + name + "\" does not exist");
  co_return table;
}

reactor::Task<Result<std::vector<TableRef>>> Worker::tables() {
  const std::shared_ptr<Connection> connection = connection_;
  if (connection == nullptr) co_return not_connected();
  const Status status = co_await connection->catalog.refresh();
  if (!status.ok()) co_return status;
  std::vector<TableRef> all = connection->catalog.all();
  // A table that is to take another one's place is hidden; that one is frozen meanwhile.
  if (connection->catalog.has_frozen())
    std::erase_if(all, [](const TableRef& table) { return table->replaces != 0; });
  co_return all;
}

Result<std::shared_ptr<Connection>> Worker::whole_connection() const {
  if (connection_ == nullptr) return not_connected();
  Status status = connection_->cluster.whole();
  if (!status.ok()) return status;
  return connection_;
}

reactor::Task<Status> Worker::create_table(txn::TableDefinition definition) {
  const auto connection = whole_connection();
  if (!connection.ok()) co_return connection.status();
  co_return co_await (*connection)->tables.create(std::move(definition));
}

reactor::Task<Status> Worker::drop_table(std::string name) {
  const auto connection = whole_connection();
  if (!connection.ok()) co_return connection.status();
  co_return co_await (*connection)->tables.drop(std::move(name));
}

reactor::Task<Status> Worker::create_index(txn::IndexDefinition definition) {
  const auto found = co_await table(definition.table);
  if (!found.ok()) co_return found.status();
  const auto connection = whole_connection();
  if (!connection.ok()) co_return connection.status();
  co_return co_await (*connection)->indexes.create(*found, std::move(definition));
}

reactor::Task<Status> Worker::rebuild_index(std::string name) {
  const auto connection = whole_connection();
  if (!connection.ok()) co_return connection.status();
  co_return co_await (*connection)->indexes.rebuild(std::move(name));
}

reactor::Task<Status> Worker::drop_index(std::string name, bool constraint) {
  const auto connection = whole_connection();
  if (!connection.ok()) co_return connection.status();
  co_return co_await (*connection)->indexes.drop(std::move(name), constraint);
}

reactor::Task<Status> Worker::alter_table(txn::TableAlteration alteration) {
  const auto connection = whole_connection();
  if (!connection.ok()) co_return connection.status();
  co_return co_await (*connection)->tables.alter(std::move(alteration));
}

reactor::Task<Status> Worker::replace_table(txn::TableReplacement replacement) {
  const auto connection = whole_connection();
  if (!connection.ok()) co_return connection.status();
  co_return co_await (*connection)->replacements.replace(std::move(replacement));
}

std::vector<TableRef> Worker::cached_tables() const {
  return connection_ == nullptr ? std::vector<TableRef>() : connection_->catalog.all();
}

bool Worker::has_foreign_keys() const {
  return connection_ != nullptr && connection_->catalog.has_foreign_keys();
}

reactor::Task<Status> Worker::settle_catalog() {
  const auto connection = whole_connection();
  if (!connection.ok()) co_return connection.status();
  co_return co_await (*connection)->replacements.settle();
}

RoutineRef Worker::cached_routine(std::string_view name) {
  return connection_ == nullptr ? nullptr : connection_->catalog.find_routine(name);
}

reactor::Task<Result<RoutineRef>> Worker::routine(std::string name) {
  const std::shared_ptr<Connection> connection = connection_;
  if (connection == nullptr) co_return not_connected();
  RoutineRef routine = connection->catalog.find_routine(name);
  if (routine == nullptr) {
    const Status status = co_await connection->catalog.refresh();
    if (!status.ok()) co_return status;
    routine = connection->catalog.find_routine(name);
  }
  co_return routine;
}

reactor::Task<Result<std::vector<RoutineRef>>> Worker::routines() {
  const std::shared_ptr<Connection> connection = connection_;
  if (connection == nullptr) co_return not_connected();
  const Status status = co_await connection->catalog.refresh();
  if (!status.ok()) co_return status;
  co_return connection->catalog.routines();
}

reactor::Task<Status> Worker::create_routine(txn::RoutineDefinition definition) {
  const std::shared_ptr<Connection> connection = connection_;
  if (connection == nullptr) co_return not_connected();
  Status status = co_await connection->routines.create(std::move(definition));
  if (status.ok()) status = co_await show_change(connection);
  co_return status;
}

reactor::Task<Status> Worker::drop_routine(std::string name, std::uint64_t version) {
  const std::shared_ptr<Connection> connection = connection_;
  if (connection == nullptr) co_return not_connected();
  Status status = co_await connection->routines.drop(std::move(name), version);
  if (status.ok()) status = co_await show_change(connection);
  co_return status;
}

storage::RolesRef Worker::cached_roles() const {
  // Without a connection those of the last one count: a session must not become a superuser's meanwhile.
  if (connection_ != nullptr && connection_->catalog.version() != 0)
    last_roles_ = connection_->catalog.roles();
  return last_roles_;
}

reactor::Task<Result<storage::RolesRef>> Worker::roles() {
  const std::shared_ptr<Connection> connection = connection_;
  if (connection == nullptr) co_return not_connected();
  const Status status = co_await connection->catalog.refresh();
  if (!status.ok()) co_return status;
  co_return connection->catalog.roles();
}

reactor::Task<Status> Worker::change_roles(txn::RoleChange change) {
  const std::shared_ptr<Connection> connection = connection_;
  if (connection == nullptr) co_return not_connected();
  Status status = co_await connection->role_changes.make(std::move(change));
  if (status.ok()) status = co_await show_change(connection);
  co_return status;
}

reactor::Task<Status> Worker::show_change(std::shared_ptr<Connection> changed) {
  while (connection_ != nullptr && connection_ != changed) {
    changed = connection_;
    Status status = co_await changed->catalog.refresh();
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

reactor::Task<Result<std::uint32_t>> Worker::commit_slot() {
  const std::shared_ptr<Connection> connection = connection_;
  if (connection == nullptr) co_return not_connected();
  const auto slot = co_await connection->slot_keeper.acquire();
  if (!slot.ok()) co_return slot.status();
  co_return (*slot)->slot();
}

reactor::Task<Result<bool>> Worker::slot_ended(std::uint32_t slot) {
  const std::shared_ptr<Connection> connection = connection_;
  if (connection == nullptr) co_return not_connected();
  control::ListSlotsRequest request;
  request.add_slots(slot);
  control::ListSlotsReply reply;
  const Status status = co_await connection->cluster.call(0, control::LIST_SLOTS, request, &reply);
  if (!status.ok()) co_return status;
  if (reply.slots_size() != 1) co_return Status(ErrorCode::protocol_violation, "a list of other slots");
  co_return txn::is_closed(reply.slots(0).state());
}

reactor::Task<void> Worker::backoff(std::uint32_t attempt) {
  return back_off(executor_, backoff_, attempt);
}

std::uint64_t Worker::damaged_reads() const {
  return damaged_reads_;
}

}  // namespace namdb::compute
