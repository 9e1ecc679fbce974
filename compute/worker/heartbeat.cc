#include "compute/worker/heartbeat.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "common/calls/hot_calls.h"
#include "common/layout/timestamp_vector.h"
#include "compute/index/index_janitor.h"
#include "compute/recovery/disconnected_peers.h"
#include "compute/recovery/table_growth.h"
#include "compute/worker/connection.h"
#include "proto/control.pb.h"

namespace namdb::compute {
namespace {

// How often the other memory servers learn which commits are published: they free old versions by that.
constexpr std::uint64_t kVectorCopyInterval_ns = kSecond_ns;
// Heartbeats are so many times as frequent while an acknowledgement is waited for.
constexpr std::uint64_t kUrgency = 8;

}  // namespace

Heartbeat::Heartbeat(std::shared_ptr<Connection> connection, reactor::Gate& gate, reactor::Gate& answers)
    : connection_(std::move(connection)),
      gate_(gate),
      answers_(answers),
      answered_(connection_->parts.executor) {}

bool Heartbeat::awaits_answer() const {
  return copy_.under_way || discard_.under_way ||
         std::ranges::any_of(beats_, [](const auto& beat) { return beat.second.under_way; });
}

std::uint64_t Heartbeat::pause_ns(std::uint64_t interval_ns) const {
  return waiting_.empty() ? interval_ns : interval_ns / kUrgency;
}

reactor::Task<Status> Heartbeat::beat() {
  waiting_.clear();
  const std::size_t servers = connection_->cluster.server_count();
  vector_copy_.clear();
  const std::uint64_t now_ns = connection_->parts.executor.now_ns();
  if (servers > 1 && (vector_copied_ns_ == 0 || now_ns - vector_copied_ns_ >= kVectorCopyInterval_ns)) {
    const Work copy = [this] { return copy_vector(); };
    static_cast<void>(co_await in_time(&copy_, copy));
  }
  // An idle slot would hold up the log that its last entries are in.
  if (connection_->cluster.flushed()) connection_->slot_keeper.tell_finished();
  for (std::size_t i = 0; i < servers; ++i) {
    const auto server = static_cast<layout::ServerId>(i);
    if (connection_->cluster.lacks(server)) continue;
    const Work work = [this, server] { return beat_one(server); };
    Status status = co_await in_time(&beats_[server], work);
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

reactor::Task<Status> Heartbeat::discard_orphans() {
  const Work discard = [this] { return connection_->orphans.discard(); };
  return in_time(&discard_, discard);
}

reactor::Task<Status> Heartbeat::in_time(Errand* errand, Work work) {
  if (errand->under_way) co_return Status();
  if (connection_->cluster.server_count() == 1) co_return co_await work();
  Status late = std::exchange(errand->outcome, Status());
  if (!late.ok()) co_return late;
  errand->under_way = true;
  reactor::Executor& executor = connection_->parts.executor;
  executor.spawn(answers_, carry_out(shared_from_this(), errand, std::move(work)));
  const std::uint64_t deadline_ns = executor.now_ns() + kPatience_ns;
  while (errand->under_way && executor.now_ns() < deadline_ns) co_await answered_.wait_until(deadline_ns);
  if (errand->under_way) co_return Status();
  co_return std::exchange(errand->outcome, Status());
}

reactor::Task<void> Heartbeat::carry_out(std::shared_ptr<Heartbeat> self, Errand* errand, Work work) {
  errand->outcome = co_await work();
  errand->under_way = false;
  self->answered_.notify_all();
}

control::HeartbeatRequest Heartbeat::request_to(layout::ServerId server) {
  txn::TransactionRegistry& registry = connection_->registry;
  registry.pass_time(connection_->parts.executor.now_ns());
  control::HeartbeatRequest request;
  request.set_oldest_snapshot_ns(registry.oldest_ns());
  request.set_acknowledged_epoch(registry.acknowledged_epoch(server));
  request.set_acknowledged_catalog(registry.acknowledged_catalog(server));
  request.set_acknowledged_versions(registry.acknowledged_versions(server));
  const bool has_vector = server == 0 && connection_->cluster.vector_parts().count() == 1;
  if (!has_vector && !vector_copy_.empty()) request.set_vector_copy(vector_copy_);
  if (server == 0) describe_compute(&request);
  return request;
}

void Heartbeat::describe_compute(control::HeartbeatRequest* request) const {
  const WorkerOptions& options = connection_->parts.options;
  const std::optional<ComputeFacts> facts = options.facts ? options.facts() : std::nullopt;
  if (!facts) return;
  control::ComputeFacts& compute = *request->mutable_compute();
  compute.set_process(facts->process);
  compute.set_address(facts->address);
  compute.set_version(facts->version);
  compute.set_started_us(facts->started_us);
  compute.set_sessions(facts->sessions);
}

reactor::Task<Status> Heartbeat::beat_one(layout::ServerId server) {
  const txn::TransactionRegistry& registry = connection_->registry;
  const std::uint64_t told = registry.acknowledged_catalog(server);
  Status status = co_await beat_once(server);
  if (status.ok() && registry.acknowledged_catalog(server) != told) status = co_await beat_once(server);
  co_return status;
}

reactor::Task<Status> Heartbeat::beat_once(layout::ServerId server) {
  const control::HeartbeatRequest request = request_to(server);
  control::HeartbeatReply reply;
  const std::uint64_t sent_ns = connection_->parts.executor.fresh_now_ns();
  Status status = co_await connection_->cluster.call(server, control::HEARTBEAT, request, &reply);
  if (!status.ok()) co_return status;
  connection_->registry.learn(server, reply.reuse_epoch(), reply.catalog_version(), reply.version_epoch());
  if (server == 0) connection_->cluster.timestamps().follow(reply.clock_ns(), sent_ns);
  if (server == 0) connection_->cluster.soft_time().follow(reply.clock_ns(), sent_ns);
  waiting_.erase(server);
  if (reply.version_epoch() != request.acknowledged_versions() ||
      reply.catalog_version() != request.acknowledged_catalog()) {
    waiting_.insert(server);
  }
  co_return co_await follow(server, &reply);
}

reactor::Task<Status> Heartbeat::follow(layout::ServerId server, const control::HeartbeatReply* reply) {
  txn::Cluster& cluster = connection_->cluster;
  const WorkerParts& parts = connection_->parts;
  if (reply->lost_lease())
    parts.log(
        "the memory servers had declared this compute server dead, since they did not hear of it in time: "
        "its "
        "transactions were ended and its slots are gone; it has joined again");
  if (reply->drain() && parts.options.drain) parts.options.drain();
  txn::note_held_locks(cluster, connection_->dead_locks, server, *reply);
  if (reply->index_doubts() && !gate_.closing() && resolving_.insert(server).second)
    connection_->parts.executor.spawn(gate_, resolve_doubts(shared_from_this(), server));
  connection_->orphans.learn(server, reply->peers_gone());
  Status status = co_await txn::release_disconnected_peers(cluster, server, *reply);
  if (!status.ok()) co_return status;
  status = co_await txn::pass_on_growth(cluster, server, *reply);
  if (!status.ok()) co_return status;
  std::vector<std::uint32_t> indexes(reply->indexes().begin(), reply->indexes().end());
  co_return co_await connection_->indexes.discard_unknown(server, std::move(indexes));
}

reactor::Task<void> Heartbeat::resolve_doubts(std::shared_ptr<Heartbeat> self, layout::ServerId server) {
  const std::shared_ptr<Connection> connection = self->connection_;
  bool more = true;
  while (more && !connection->stopping()) {
    protocol::SessionState session;
    const auto transaction = connection->begin(session);
    // An error is that of a channel, or a conflict: the next heartbeat asks again.
    const auto settled = co_await protocol::settle_doubts(transaction.get(), server);
    more = settled.ok() && *settled;
  }
  self->resolving_.erase(server);
}

reactor::Task<Status> Heartbeat::copy_vector() {
  const std::uint64_t now_ns = connection_->parts.executor.now_ns();
  if (connection_->cluster.vector_parts().count() > 1) {
    co_await copy_parts();
    if (!vector_copy_.empty()) vector_copied_ns_ = now_ns;
    co_return Status();
  }
  // Not READs: a torn copy could lack a slot that is alive.
  const auto copy = co_await connection_->cluster.call_bytes(0, calls::kSnapshotMethod, "");
  if (!copy.ok()) co_return Status();  // the next heartbeat tries again
  vector_copied_ns_ = now_ns;
  if (copy->size() > layout::kVectorWords_offset) vector_copy_ = copy->substr(layout::kVectorWords_offset);
  co_return Status();
}

reactor::Task<void> Heartbeat::copy_parts() {
  fabric::OperationCounters uncounted;
  const std::uint64_t now_ns = connection_->parts.executor.fresh_now_ns();
  const auto copy = co_await connection_->fetcher.get(now_ns, uncounted);
  if (!copy.ok()) co_return;  // the next heartbeat tries again
  // After the copy: a slot that it lacks may have been leased and not placed yet, which does not make it
  // retired.
  const Status listed = co_await connection_->slots.refresh(nullptr);
  if (!listed.ok()) co_return;
  const txn::Snapshot& snapshot = (*copy)->snapshot;
  std::set<std::uint32_t> lacking = connection_->slots.not_retired();
  const auto add = [&words = vector_copy_](layout::HeaderWord word) {
    const std::uint64_t value = word.value();
    words.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  for (std::uint64_t position = 0; position < snapshot.words; ++position) {
    add(snapshot.word(position));
    lacking.erase(snapshot.word(position).stamp().slot);
  }
  for (const std::uint32_t slot : lacking) add(layout::HeaderWord(layout::Stamp{slot, 0}));
}

}  // namespace namdb::compute
