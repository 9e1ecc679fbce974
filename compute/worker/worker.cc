#include "compute/worker/worker.h"

#include <algorithm>
#include <utility>

#include "common/calls/hot_calls.h"
#include "common/layout/timestamp_vector.h"
#include "compute/index/index_janitor.h"
#include "compute/recovery/departed.h"
#include "compute/recovery/table_growth.h"
#include "compute/worker/worker_link.h"
#include "proto/control.pb.h"

namespace namdb::compute {

using storage::TableRef;

namespace {

// How often the other memory servers learn which commits are published: they free old versions by that.
constexpr std::uint64_t kVectorCopyInterval_ns = kSecond_ns;
// Heartbeats come so much faster while a memory server waits for an acknowledgement to free old versions and
// entries of indexes: until then readers pass them.
constexpr std::uint64_t kHurry = 8;
// How old what other workers say about their connections may be.
constexpr std::uint64_t kFactsInterval_ns = kSecond_ns;

// What begin() gives while there is no connection: every use is an error.
class DisconnectedTransaction : public txn::Transaction {
 public:
  explicit DisconnectedTransaction(Status reason) : reason_(std::move(reason)) {}
  txn::RowId get(const TableRef&, std::span<const std::byte>) override { return 0; }
  txn::RowId insert(const TableRef&, std::span<const std::byte>) override { return 0; }
  reactor::Task<Status> fetch() override { co_return reason_; }
  bool found(txn::RowId) const override { return false; }
  layout::RowView row(txn::RowId) const override { return {}; }
  layout::RowWriter update(txn::RowId) override { NAMDB_CHECK(!"update() needs found()"); }
  void erase(txn::RowId) override {}
  std::unique_ptr<txn::TableScan> scan(const TableRef&) override { return std::make_unique<Scan>(reason_); }
  std::unique_ptr<txn::TableScan> scan_index(const TableRef&, const storage::IndexRef&,
                                             txn::IndexRange) override {
    return std::make_unique<Scan>(reason_);
  }
  reactor::Task<Status> find(TableRef, storage::IndexRef, txn::IndexRange,
                             std::vector<txn::RowId>&) override {
    co_return reason_;
  }
  reactor::Task<Status> commit() override { co_return reason_; }
  void abort() override {}
  bool has_writes() const override { return false; }
  const fabric::OperationCounters& counters() const override { return counters_; }

 private:
  class Scan : public txn::TableScan {
   public:
    explicit Scan(Status reason) : reason_(std::move(reason)) {}
    reactor::Task<Status> next(std::vector<layout::Row>& rows) override {
      rows.clear();
      co_return reason_;
    }

   private:
    Status reason_;
  };
  Status reason_;
  fabric::OperationCounters counters_;
};

txn::RetryOptions retries(const WorkerOptions& options) {
  txn::RetryOptions retry = options.retry;
  if (!options.optimisations.adaptive_backoff) retry.max_backoff_ns = retry.first_backoff_ns;
  return retry;
}

}  // namespace

Worker::Worker(reactor::Executor& executor, fabric::ClientFabric& fabric, storage::LocationCache& locations,
               WorkerOptions options, MakeComputeId make_compute_id, LogLine log)
    : executor_(executor),
      fabric_(fabric),
      locations_(locations),
      options_(std::move(options)),
      make_compute_id_(std::move(make_compute_id)),
      log_(std::move(log)),
      backoff_(retries(options_)),
      wake_(executor) {}

Worker::~Worker() = default;

Status Worker::not_connected() const {
  return Status(ErrorCode::connection_failure, "there is no connection to the memory servers: " + reason_,
                "the compute server connects again by itself; look at its log");
}

reactor::Task<Result<std::shared_ptr<Worker::Link>>> Worker::connect() {
  txn::ClusterOptions options{options_.memory_servers, options_.name,          make_compute_id_(),
                              options_.worker,         options_.optimisations, options_.stage_times};
  auto link = std::make_shared<Link>(executor_, fabric_, locations_, options_, std::move(options), backoff_,
                                     damaged_reads_, log_);
  Status status = co_await link->cluster.connect();
  if (status.ok()) {
    link->make_control = protocol::find_control(link->cluster.protocol().name);
    NAMDB_CHECK(link->make_control != nullptr);
    serializable_ = link->cluster.protocol().serializable;
    if (options_.read_locks == txn::ReadLocks::shared && !link->cluster.shared_read_locks()) {
      status = Status(ErrorCode::configuration, "the database's readers cannot share locks",
                      "start all nam-memoryd with --read-locks shared, or this without it");
    }
  }
  if (status.ok()) status = co_await link->catalog.refresh();
  if (status.ok()) {
    // A slot that cannot be repaired locks what it locked and no more: that is no reason not to start.
    const Status repaired = co_await link->repair.repair_dead_slots();
    if (link->cluster.failed()) status = repaired;
  }
  if (!status.ok()) {
    co_await disconnect(link, false);
    co_return Result<std::shared_ptr<Link>>(std::move(status));
  }
  log_restarts(link->cluster);
  slots_repaired_ += link->repair.slots_repaired();
  ++connections_;
  co_return Result<std::shared_ptr<Link>>(std::move(link));
}

void Worker::log_restarts(const txn::Cluster& cluster) {
  std::vector<std::uint64_t> epochs;
  for (std::size_t i = 0; i < cluster.server_count(); ++i) {
    epochs.push_back(cluster.region_map(static_cast<layout::ServerId>(i)).epoch);
    if (!epochs_.empty() && epochs_[i] != epochs[i]) {
      log_("memory server " + std::to_string(i) + " has restarted and is empty");
    }
  }
  epochs_ = std::move(epochs);
}

reactor::Task<void> Worker::disconnect(std::shared_ptr<Link> link, bool orderly) {
  if (!orderly) link->slot_keeper.fail();
  co_await link->passive_installs.close();
  co_await link->lock_releaser.close();
  co_await link->fetcher.close();
  co_await link->hints.close();
  co_await link->verdicts.close();
  co_await link->repair.close();
  co_await link->slot_keeper.close();
  if (orderly) co_await txn::leave(link->cluster, link->space);
}

reactor::Task<Status> Worker::start() {
  auto link = co_await connect();
  if (!link.ok()) co_return link.status();
  link_ = std::move(link).value();
  post_facts();
  supervised_ = true;
  executor_.spawn(gate_, supervise());
  if (options_.memory_timeout_ns != 0) executor_.spawn(gate_, watch());
  co_return Status();
}

reactor::Task<void> Worker::stop() {
  stopping_ = true;
  wake_.notify_all();
  co_await gate_.close();
  if (link_ != nullptr) {
    const std::shared_ptr<Link> link = std::move(link_);
    link_ = nullptr;
    co_await disconnect(link, !link->cluster.failed());
  }
}

reactor::Task<Status> Worker::heartbeat(std::shared_ptr<Link> link, std::size_t server) {
  control::HeartbeatRequest request;
  link->registry.pass_time(executor_.now_ns());
  request.set_oldest_snapshot_ns(link->registry.oldest_ns());
  request.set_acknowledged_epoch(link->registry.acknowledged_epoch(server));
  request.set_acknowledged_catalog(link->registry.acknowledged_catalog(server));
  request.set_acknowledged_versions(link->registry.acknowledged_versions(server));
  const bool has_vector = server == 0 && link->cluster.vector_parts().count() == 1;
  if (!has_vector && !link->vector_copy.empty()) request.set_vector_copy(link->vector_copy);
  control::HeartbeatReply reply;
  const std::uint64_t sent_ns = executor_.fresh_now_ns();
  Status status =
      co_await link->cluster.call(static_cast<layout::ServerId>(server), control::HEARTBEAT, request, &reply);
  if (!status.ok()) co_return status;
  link->registry.learn(server, reply.reuse_epoch(), reply.catalog_version(), reply.version_epoch());
  if (server == 0) link->cluster.timestamps().follow(reply.clock_ns(), sent_ns);
  if (reply.version_epoch() != request.acknowledged_versions()) link->versions_wait = true;
  const auto id = static_cast<layout::ServerId>(server);
  txn::note_held_locks(link->cluster, link->repair, id, reply);
  if (reply.index_doubts() && !gate_.closing() && link->settling.insert(id).second) {
    executor_.spawn(gate_, settle_doubts(link, id));
  }
  std::vector<std::uint32_t> indexes(reply.indexes().begin(), reply.indexes().end());
  const std::uint64_t dead_slots = reply.dead_slots();
  link->orphans.learn(server, reply.peers_gone());
  status = co_await txn::settle_departed(link->cluster, id, reply);
  if (!status.ok()) co_return status;
  status = co_await txn::pass_on_growth(link->cluster, id, std::move(reply));
  if (status.ok()) status = co_await discard_unknown_indexes(link, id, std::move(indexes));
  if (!status.ok()) co_return status;
  if (server == 0 && dead_slots > 0) {
    const std::uint64_t before = link->repair.slots_repaired();
    static_cast<void>(co_await link->repair.repair_dead_slots());  // reports what it cannot repair
    slots_repaired_ += link->repair.slots_repaired() - before;
  }
  co_return Status();
}

reactor::Task<void> Worker::settle_doubts(std::shared_ptr<Link> link, layout::ServerId server) {
  bool more = true;
  while (more && !stopping_) {
    WorkerSession session;
    ConnectionTransaction transaction(link, session);
    // An error is that of a channel, or a conflict: the next heartbeat asks again.
    const auto settled = co_await protocol::settle_doubts(&transaction, server);
    more = settled.ok() && *settled;
  }
  link->settling.erase(server);
}

reactor::Task<void> Worker::copy_vector(std::shared_ptr<Link> link) {
  link->vector_copy.clear();
  const std::uint64_t now_ns = executor_.now_ns();
  if (link->vector_copied_ns != 0 && now_ns - link->vector_copied_ns < kVectorCopyInterval_ns) co_return;
  if (link->cluster.vector_parts().count() > 1) {
    co_await copy_parts(link);
    if (!link->vector_copy.empty()) link->vector_copied_ns = now_ns;
    co_return;
  }
  // Not READs: a torn copy could lack a slot that is alive.
  const auto copy = co_await link->cluster.call_bytes(0, calls::kSnapshotMethod, "");
  if (!copy.ok()) co_return;  // the next heartbeat tries again
  link->vector_copied_ns = now_ns;
  if (copy.value().size() > layout::kVectorWords_offset) {
    link->vector_copy = copy.value().substr(layout::kVectorWords_offset);
  }
}

reactor::Task<void> Worker::copy_parts(std::shared_ptr<Link> link) {
  fabric::OperationCounters uncounted;
  const std::uint64_t now_ns = executor_.fresh_now_ns();
  const auto copy = co_await link->fetcher.get(now_ns, uncounted);
  if (!copy.ok()) co_return;  // the next heartbeat tries again
  // Behind the copy: what it lacks may have been leased and not placed yet, which does not make it retired.
  const Status listed = co_await link->slots.refresh(nullptr);
  if (!listed.ok()) co_return;
  const txn::Snapshot& snapshot = (*copy)->snapshot;
  std::set<std::uint32_t> lacking = link->slots.not_retired();
  const auto add = [&words = link->vector_copy](layout::HeaderWord word) {
    const std::uint64_t value = word.value();
    words.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  for (std::uint64_t position = 0; position < snapshot.words; ++position) {
    add(snapshot.word(position));
    lacking.erase(snapshot.word(position).stamp().slot);
  }
  for (const std::uint32_t slot : lacking) add(layout::HeaderWord(layout::Stamp{slot, 0}));
}

reactor::Task<void> Worker::ping(std::shared_ptr<Link> link, layout::ServerId server) {
  // Any answer will do.
  static_cast<void>(co_await link->cluster.call_bytes(server, calls::kPingMethod, ""));
  link->pings.erase(server);
}

reactor::Task<void> Worker::watch() {
  // In parts, so that a pause of this process counts as one of them and not as the other's silence.
  constexpr int kParts = 8;
  while (supervised_) {
    co_await wake_.wait_until(executor_.now_ns() + options_.memory_timeout_ns / kParts);
    const std::shared_ptr<Link> link = link_;
    if (link == nullptr) continue;
    for (std::size_t i = 0; i < link->cluster.server_count(); ++i) {
      const auto server = static_cast<layout::ServerId>(i);
      const auto [pinged, is_new] = link->pings.try_emplace(server, 0);
      if (is_new) {
        executor_.spawn(gate_, ping(link, server));
      } else if (++pinged->second == kParts) {
        link->cluster.channel(server).give_up(Status(
            ErrorCode::connection_failure, "memory server " + std::to_string(i) + " has not answered for " +
                                               std::to_string(options_.memory_timeout_ns / kMillisecond_ns) +
                                               " ms"));
      }
    }
  }
}

reactor::Task<void> Worker::supervise() {
  std::uint64_t reconnect_ns = options_.first_reconnect_ns;
  while (!stopping_) {
    if (link_ == nullptr) {
      co_await wake_.wait_until(executor_.now_ns() + reconnect_ns);
      if (stopping_) break;
      auto link = co_await connect();
      if (!link.ok()) {
        reconnect_ns = std::min(reconnect_ns * 2, options_.max_reconnect_ns);
        const std::string reason = link.status().to_string();
        if (reason != reason_) log_("cannot connect to the memory servers: " + reason);
        reason_ = reason;
        continue;
      }
      link_ = std::move(link).value();
      reconnect_ns = options_.first_reconnect_ns;
      log_("connected to the memory servers again");
      continue;
    }
    const std::uint64_t pause_ns = options_.heartbeat_ns / (link_->versions_wait ? kHurry : 1);
    co_await wake_.wait_until(executor_.now_ns() + pause_ns);
    if (stopping_) break;
    const std::shared_ptr<Link> link = link_;
    link->versions_wait = false;
    link->running.expire_idle(executor_.fresh_now_ns(), link->cluster.max_transaction_ns());
    Status status;
    if (link->cluster.server_count() > 1) co_await copy_vector(link);
    for (std::size_t server = 0; server < link->cluster.server_count() && status.ok(); ++server) {
      status = co_await heartbeat(link, server);
    }
    if (status.ok()) status = co_await link->orphans.discard();
    if (status.ok()) co_await link->space.return_idle();
    if (status.ok()) balance_when_due(link);
    post_facts();
    if (!link->cluster.failed()) continue;
    log_("lost the connection to a memory server: " + status.to_string() +
         "; running transactions are failed, connecting again");
    reason_ = "the connection was lost";
    link_ = nullptr;
    // Addresses of another epoch must not be used; those of this one are found again soon.
    locations_.clear();
    co_await disconnect(link, false);
  }
  supervised_ = false;
  wake_.notify_all();
}

std::vector<fabric::ConnectionFacts> Worker::own_facts() {
  std::vector<fabric::ConnectionFacts> all;
  for (std::size_t server = 0; server < options_.memory_servers.size(); ++server) {
    fabric::ConnectionFacts& connection = all.emplace_back();
    connection.worker = options_.worker;
    connection.memory_server = static_cast<std::uint32_t>(server);
    fabric::Facts& facts = connection.facts;
    facts.say("fabric", std::string(fabric_.name()));
    facts.say("address", options_.memory_servers[server]);
    facts.count("connections", connections_);
    if (link_ == nullptr) {
      facts.say("error", reason_);
    } else {
      link_->cluster.channel(static_cast<layout::ServerId>(server)).describe(facts);
    }
  }
  return all;
}

void Worker::post_facts() {
  if (options_.board == nullptr || executor_.now_ns() < facts_due_ns_) return;
  facts_due_ns_ = executor_.now_ns() + kFactsInterval_ns;
  options_.board->post(options_.worker, own_facts());
}

std::vector<fabric::ConnectionFacts> Worker::fabric_facts() {
  if (options_.board == nullptr) return own_facts();
  options_.board->post(options_.worker, own_facts());
  return options_.board->all();
}

txn::Placement Worker::placement() const {
  return {static_cast<std::uint32_t>(options_.memory_servers.size()), options_.beside};
}

std::unique_ptr<txn::Session> Worker::open_session() {
  return std::make_unique<WorkerSession>();
}

std::unique_ptr<txn::Transaction> Worker::begin(txn::Session& session) {
  if (link_ == nullptr) return std::make_unique<DisconnectedTransaction>(not_connected());
  backoff_.begins();
  auto& state = static_cast<WorkerSession&>(session);
  const std::uint64_t epoch = link_->cluster.region_map(0).epoch;
  if (state.epoch != epoch) {
    state.newest_words.clear();
    state.epoch = epoch;
  }
  return std::make_unique<ConnectionTransaction>(link_, state);
}

TableRef Worker::cached_table(std::string_view name) {
  return link_ == nullptr ? nullptr : link_->catalog.find(name);
}

std::uint64_t Worker::catalog_version() const {
  // Versions of different connections must not be equal: the memory server may have restarted.
  return link_ == nullptr ? 0 : (connections_ << 48) + link_->catalog.version();
}

reactor::Task<Result<TableRef>> Worker::table(std::string name) {
  const std::shared_ptr<Link> link = link_;
  if (link == nullptr) co_return Result<TableRef>(not_connected());
  TableRef table = link->catalog.find(name);
  if (table == nullptr) {
    Status status = co_await link->catalog.refresh();
    if (!status.ok()) co_return Result<TableRef>(std::move(status));
    table = link->catalog.find(name);
  }
  if (table == nullptr)
    co_return Status(ErrorCode::undefined_table, "relation \"" + name + "\" does not exist");
  co_return table;
}

reactor::Task<Result<std::vector<TableRef>>> Worker::tables() {
  const std::shared_ptr<Link> link = link_;
  if (link == nullptr) co_return Result<std::vector<TableRef>>(not_connected());
  Status status = co_await link->catalog.refresh();
  if (!status.ok()) co_return Result<std::vector<TableRef>>(std::move(status));
  co_return link->catalog.all();
}

reactor::Task<void> Worker::backoff(std::uint32_t attempt) {
  backoff_.met_conflict();
  const std::uint64_t pause_ns = backoff_.pause_ns(attempt, executor_.random());
  co_await executor_.sleep_for(pause_ns);
}

std::uint64_t Worker::slots_repaired() const {
  return slots_repaired_;
}

std::uint64_t Worker::damaged_reads() const {
  return damaged_reads_;
}

}  // namespace namdb::compute
