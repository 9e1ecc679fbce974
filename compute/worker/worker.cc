#include "compute/worker/worker.h"

#include <utility>

#include "compute/api/table_change.h"
#include "compute/cluster/tool_hello.h"
#include "compute/recovery/outcome_finder.h"
#include "compute/worker/connection.h"
#include "compute/worker/disconnected_transaction.h"

namespace namdb::compute {

namespace {

txn::RetryOptions retries(const WorkerOptions& options) {
  txn::RetryOptions retry = options.retry;
  if (!options.optimisations.adaptive_backoff) retry.max_backoff_ns = retry.first_backoff_ns;
  return retry;
}

}  // namespace

Worker::Worker(reactor::Executor& executor, fabric::ClientFabric& fabric, storage::LocationCache& locations,
               WorkerOptions options, MakeComputeId make_compute_id, LogLine log)
    : executor_(executor),
      options_(std::move(options)),
      make_compute_id_(std::move(make_compute_id)),
      log_(std::move(log)),
      wake_ups_(executor),
      backoff_(retries(options_)),
      patient_(executor, fabric),
      finder_(executor, patient_, options_.memory_servers,
              {.hello = [this] { return txn::tool_hello(make_compute_id_(), options_.name); },
               .moved =
                   [this] {
                     earlier_.hasten();
                     wake_ups_.hurry();
                     // The supervisor may wait for the host that has lost its region.
                     successor_.begin();
                   },
               .ask_store = options_.ask_store,
               .log = log_}),
      outcomes_(std::make_unique<txn::OutcomeFinder>(
          executor, [this] { return current_.cluster(); }, options_.outcome_patience_ns)),
      current_({options_, log_, locations, finder_, tasks_, answers_}),
      earlier_(executor),
      parts_{executor, patient_, locations, options_, log_, backoff_, damaged_reads_, wake_ups_, *outcomes_},
      connector_(parts_, finder_, current_, make_compute_id_),
      report_(executor, fabric, options_),
      upkeep_{executor, options_, log_,     locations,  wake_ups_,
              finder_,  current_, earlier_, connector_, tasks_},
      successor_(upkeep_),
      supervisor_(upkeep_, successor_, report_),
      catalog_(current_),
      schema_(current_, catalog_),
      slots_(current_) {}

Worker::~Worker() = default;

reactor::Task<Status> Worker::start() {
  auto connection = co_await connector_.connect();
  if (!connection.ok()) {
    co_await finder_.settle();
    co_await patient_.settle();
    co_return connection.status();
  }
  current_.use(std::move(*connection));
  report_.post(current_.report());
  supervisor_.start();
  co_return Status();
}

reactor::Task<void> Worker::stop() {
  outcomes_->stop();
  wake_ups_.stop();
  co_await tasks_.close();
  co_await earlier_.close();
  co_await current_.leave();
  co_await answers_.close();
  co_await finder_.settle();
  co_await patient_.settle();
}

std::unique_ptr<txn::Session> Worker::open_session() {
  return std::make_unique<protocol::SessionState>();
}

std::unique_ptr<txn::Transaction> Worker::begin(txn::Session& session) {
  if (current_.none()) return std::make_unique<DisconnectedTransaction>(current_.not_connected());
  backoff_.begins();
  return current_.get()->begin(static_cast<protocol::SessionState&>(session));
}

reactor::Task<void> Worker::backoff(std::uint32_t attempt) {
  return back_off(executor_, backoff_, attempt);
}

txn::Placement Worker::placement() const {
  return {static_cast<std::uint32_t>(options_.memory_servers.size()), options_.beside};
}

reactor::Task<Result<storage::TableRef>> Worker::table(std::string name) {
  return catalog_.table(std::move(name));
}

reactor::Task<Result<std::vector<storage::TableRef>>> Worker::tables() {
  return catalog_.tables();
}

reactor::Task<Result<storage::RoutineRef>> Worker::routine(std::string name) {
  return catalog_.routine(std::move(name));
}

reactor::Task<Result<std::vector<storage::RoutineRef>>> Worker::routines() {
  return catalog_.routines();
}

reactor::Task<Result<storage::RolesRef>> Worker::roles() {
  return catalog_.roles();
}

reactor::Task<Status> Worker::settle_catalog() {
  return schema_.settle();
}

reactor::Task<Status> Worker::create_table(txn::TableDefinition definition) {
  return schema_.create_table(std::move(definition));
}

reactor::Task<Status> Worker::drop_table(std::string name) {
  return schema_.drop_table(std::move(name));
}

reactor::Task<Status> Worker::alter_table(txn::TableAlteration alteration) {
  return schema_.alter_table(std::move(alteration));
}

reactor::Task<Status> Worker::replace_table(txn::TableReplacement replacement) {
  return schema_.replace_table(std::move(replacement));
}

reactor::Task<Status> Worker::create_index(txn::IndexDefinition definition) {
  return schema_.create_index(std::move(definition));
}

reactor::Task<Status> Worker::rebuild_index(std::string name) {
  return schema_.rebuild_index(std::move(name));
}

reactor::Task<Status> Worker::drop_index(std::string name, bool constraint) {
  return schema_.drop_index(std::move(name), constraint);
}

reactor::Task<Status> Worker::create_routine(txn::RoutineDefinition definition) {
  return schema_.create_routine(std::move(definition));
}

reactor::Task<Status> Worker::drop_routine(std::string name, std::uint64_t version) {
  return schema_.drop_routine(std::move(name), version);
}

reactor::Task<Status> Worker::change_roles(txn::RoleChange change) {
  return schema_.change_roles(std::move(change));
}

reactor::Task<Result<std::uint32_t>> Worker::commit_slot() {
  return slots_.of_commits();
}

reactor::Task<Result<bool>> Worker::slot_ended(std::uint32_t slot) {
  return slots_.has_ended(slot);
}

reactor::Task<Result<std::shared_ptr<const txn::SlotLease>>> Worker::lease_slot() {
  return slots_.lease();
}

}  // namespace namdb::compute
