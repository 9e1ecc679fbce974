// The timestamp vector's clients.
#include <sys/random.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "compute/txn/execution_slot.h"
#include "compute/txn/snapshot_fetcher.h"
#include "tools/nambench/micro/oracle_clients.h"
#include "tools/support/servers/transports.h"

namespace namdb::nambench {
namespace {

constexpr std::uint32_t kMaxAttempts = 10'000;

class VectorClients final : public OracleClients {
 public:
  VectorClients(reactor::Reactor& reactor, std::vector<std::string> addresses,
                const VectorClientsOptions& options)
      : reactor_(reactor),
        registry_(support::transports(reactor)),
        addresses_(std::move(addresses)),
        options_(options) {}

  reactor::Task<Status> open() override {
    const Result<const fabric::Transport*> transport = registry_.for_address(addresses_.front());
    if (!transport.ok()) co_return transport.status();
    fabric_ = transport.value()->make_client();
    txn::ClusterOptions cluster{addresses_, "oracle", {}, 0};
    NAMDB_CHECK(::getrandom(cluster.compute_id.data(), cluster.compute_id.size(), 0) ==
                static_cast<ssize_t>(cluster.compute_id.size()));
    link_ = std::make_unique<Link>(reactor_, *fabric_, std::move(cluster),
                                   support::snapshot_mode(transport.value()->name), options_);
    Status status = co_await link_->cluster.connect();
    for (std::uint64_t i = 0; i < options_.clients && status.ok(); ++i) {
      if (i == 0 || options_.slot_each) {
        slots_.push_back(std::make_unique<txn::ExecutionSlot>(link_->cluster, txn::SlotOptions()));
        status = co_await slots_.back()->lease();
      }
    }
    seen_ns_.resize(options_.clients);
    co_return status;
  }

  reactor::Task<Status> transaction(std::uint64_t client, std::uint64_t& round_trips) override {
    fabric::OperationCounters cost;  // the channel counts operations better
    Status status;
    if (options_.prefetched) {
      status = co_await newest_snapshot(client, cost);
    } else {
      status = co_await snapshot(cost);
    }
    round_trips += cost.round_trips;
    call_bytes_ += cost.call_bytes;
    if (!status.ok()) co_return status;
    txn::ExecutionSlot& slot = *slots_[options_.slot_each ? client : 0];
    const std::span<const txn::HostBytes> no_journal;
    const auto counter = co_await slot.begin_commit(no_journal);
    if (!counter.ok()) co_return counter.status();
    status = co_await slot.finish(*counter);
    ++round_trips;
    seen_ns_[client] = reactor_.fresh_now_ns();
    co_return status;
  }

  fabric::OperationCounters counters() const override {
    fabric::OperationCounters counters;
    for (std::size_t i = 0; i < addresses_.size(); ++i)
      counters += link_->cluster.channel(static_cast<layout::ServerId>(i)).counters();
    counters.call_bytes += call_bytes_;  // which channels do not count
    return counters;
  }

  reactor::Task<Status> close() override {
    Status status;
    if (link_ == nullptr) co_return status;
    co_await link_->fetcher.close();
    for (const auto& slot : slots_) {
      if (!slot->idle()) continue;
      Status closed = co_await slot->close();
      if (status.ok()) status = std::move(closed);
    }
    slots_.clear();
    link_.reset();
    fabric_.reset();
    co_return status;
  }

 private:
  struct Link {
    Link(reactor::Reactor& reactor, fabric::ClientFabric& fabric, txn::ClusterOptions cluster_options,
         txn::SnapshotSource::Mode mode, const VectorClientsOptions& options)
        : cluster(reactor, fabric, std::move(cluster_options)),
          snapshots(cluster, mode),
          fetcher(cluster, snapshots, registry, {.ahead = options.prefetched}) {}
    txn::Cluster cluster;
    txn::SnapshotSource snapshots;
    txn::TransactionRegistry registry;
    txn::SnapshotFetcher fetcher;
  };

  // The client's own. Here no record READs come, on which the confirming READ could be piggybacked.
  reactor::Task<Status> snapshot(fabric::OperationCounters& cost) {
    txn::Snapshot snapshot;
    txn::BatchSet batches(link_->cluster);
    for (std::uint32_t attempt = 0; attempt < kMaxAttempts; ++attempt) {
      Status status;
      if (!snapshot.taken) status = co_await link_->snapshots.take(snapshot, cost);
      if (!status.ok() || snapshot.confirmed) co_return status;
      link_->snapshots.add_confirmation(snapshot, batches);
      status = co_await batches.run(cost);
      if (!status.ok() || link_->snapshots.confirm(snapshot)) co_return status;
    }
    co_return Status(ErrorCode::snapshot_unstable, "no two copies of the timestamp vector agreed");
  }

  // The thread's newest that shows what this client did itself.
  reactor::Task<Status> newest_snapshot(std::uint64_t client, fabric::OperationCounters& cost) {
    const std::uint64_t now_ns = reactor_.fresh_now_ns();
    const std::uint64_t oldest_ns = now_ns - std::min(now_ns, txn::kMaxPrefetchedAge_ns);
    const auto copy = co_await link_->fetcher.get(std::max(seen_ns_[client], oldest_ns), cost);
    co_return copy.status();
  }

  reactor::Reactor& reactor_;
  fabric::TransportRegistry registry_;
  std::vector<std::string> addresses_;
  VectorClientsOptions options_;
  std::unique_ptr<fabric::ClientFabric> fabric_;
  std::unique_ptr<Link> link_;
  std::vector<std::unique_ptr<txn::ExecutionSlot>> slots_;
  std::uint64_t call_bytes_ = 0;
  std::vector<std::uint64_t> seen_ns_;  // by client: when its last publish had completed
};

}  // namespace

std::unique_ptr<OracleClients> vector_clients(reactor::Reactor& reactor, std::vector<std::string> addresses,
                                              const VectorClientsOptions& options) {
  return std::make_unique<VectorClients>(reactor, std::move(addresses), options);
}

}  // namespace namdb::nambench
