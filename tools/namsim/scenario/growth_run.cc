#include "tools/namsim/scenario/growth_run.h"

#include "proto/control.pb.h"
#include "tools/namsim/history/check.h"
#include "tools/namsim/scenario/seeded_run.h"
#include "tools/namsim/workloads/growing_workload.h"

namespace namdb::sim {
namespace {

constexpr std::uint64_t kGrowthLimit_ns = 600 * kSecond_ns;

ClusterOptions drawn_cluster(Random& draw) {
  ClusterOptions options = growing_cluster();
  options.memory_servers = static_cast<std::uint32_t>(draw.between(1, 3));
  options.memory = memory::swarm_options(draw, 0.3);
  options.memory.extent_bytes = 64U << 10;
  options.memory.journal_bytes = 128U << 10;
  options.memory.max_transaction_ns = 10 * kSecond_ns;
  options.memory.heartbeat_timeout_ns = 0;
  options.memory.growth_percent = draw.chance(0.5) ? 100 : 20;
  options.memory.growth_interval_ns = draw.between(1, 1000) * kMicrosecond_ns;
  options.memory.collect_interval_ns = draw.between(20, 500) * kMicrosecond_ns;
  options.memory.reuse_interval_ns = options.memory.collect_interval_ns;
  options.worker.snapshot_mode =
      draw.chance(0.5) ? txn::SnapshotSource::Mode::call : txn::SnapshotSource::Mode::reads;
  options.worker.heartbeat_ns = draw.between(50, 2000) * kMicrosecond_ns;
  // Rows are looked for in their buckets again and again.
  options.location_cache_bytes = draw.chance(0.5) ? 0 : 4096;
  return options;
}

fabric::sim::SimOptions growth_network(Random& draw) {
  fabric::sim::SimOptions network = fabric::sim::SimOptions::swarm(draw);
  if (draw.chance(0.3)) {
    // READs so slow that a chain can be moved between two words of a bucket.
    network.tear_steps = 8;
    network.tear_gap_ns = 50'000;
  }
  return network;
}

std::uint64_t table_bytes(Cluster& cluster) {
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < cluster.options().memory_servers; ++i)
    bytes += cluster.memory(i).server->use().table_bytes;
  return bytes;
}

reactor::Task<void> client(GrowingWorkload* workload, compute::Worker* worker, std::uint64_t session_id,
                           std::uint64_t transactions, const bool* dropped, std::uint64_t* committed) {
  const auto session = worker->open_session();
  for (std::uint64_t i = 0; i < transactions && workload->anomaly().empty() && !*dropped; ++i) {
    const bool ok = co_await workload->run_one(*worker, *session, session_id);
    if (ok) {
      ++*committed;
    } else {
      co_await worker->backoff(1);
    }
  }
}

class GrowthRun final : SeededRun {
 public:
  GrowthRun(std::uint64_t seed, GrowthTrouble trouble, Interposer* interposer, GrowthVerdict& verdict)
      : SeededRun(seed, seed * 15'485'863, {growth_network, drawn_cluster, interposer, kGrowthLimit_ns},
                  verdict.anomaly),
        trouble_(trouble),
        verdict_(verdict),
        workload_(world_, history_,
                  {.groups = draw_.between(2, 12), .keys_per_group = draw_.between(8, 40)}) {}

  void go() {
    const std::size_t computes = draw_.between(1, 3);
    for (std::size_t i = 0; i < computes; ++i) cluster_.add_compute();
    const std::uint64_t before_bytes = table_bytes(cluster_);
    const Status loaded = await(0, workload_.load(cluster_.worker(0)));
    if (!loaded.ok()) return fail("load: " + loaded.to_string());
    for (std::size_t i = 0; i < computes; ++i) start_clients(i);
    const Progress ended = [this] { return history_.transactions().size(); };
    if (trouble_ == GrowthTrouble::kills)
      kill_some(computes, ended, [this](std::size_t i) { start_clients(i); });
    if (trouble_ == GrowthTrouble::pauses) pause_some(computes, ended);
    if (trouble_ == GrowthTrouble::drop) drop(before_bytes);
    await_clients();
    if (trouble_ != GrowthTrouble::drop) finish();
    verdict_.transactions = history_.transactions().size();
    verdict_.fingerprint = world_.fingerprint();
  }

 private:
  void start_clients(std::size_t compute) {
    for (std::uint64_t i = draw_.between(1, 3); i > 0; --i) {
      start_client(compute, client(&workload_, &cluster_.worker(compute), sessions_++, draw_.between(10, 40),
                                   &dropped_, &verdict_.committed));
    }
  }

  // Drops both tables, in mid-growth if there is any: all of their memory comes back.
  void drop(std::uint64_t before_bytes) {
    const bool growing = draw_.chance(0.7);
    world_.run_until(
        [&] {
          return running_ == 0 || (growing ? look_at_growth(cluster_).other_array_bytes > 0
                                           : history_.transactions().size() > 20);
        },
        kGrowthLimit_ns);
    world_.run_for(draw_.below(20'000));
    dropped_ = true;  // from here on clients meet what may be an error
    const std::string anomaly = workload_.anomaly();
    for (const char* table : {GrowingWorkload::kTable, GrowingWorkload::kGroups}) {
      const Status status = await(0, cluster_.worker(0).drop_table(table));
      if (!status.ok()) fail("drop: " + status.to_string());
    }
    await_clients();
    if (!anomaly.empty()) fail(anomaly);
    const auto given_back = [&] { return table_bytes(cluster_) == before_bytes; };
    if (!world_.run_until(given_back, 60 * kSecond_ns)) fail("memory of a dropped table does not come back");
  }

  void finish() {
    const std::size_t last = survivor();
    if (!workload_.anomaly().empty()) fail(workload_.anomaly());
    if (sound()) {
      const Status touched = await(last, workload_.touch_all(cluster_.worker(last)));
      if (!touched.ok()) fail("after the run: " + touched.to_string());
    }
    if (sound()) {
      fail(history::first_anomaly(history::check(history_, {.all_reads = true}), history_));
    }
    // Growth ends, old arrays are given back, and the slots of dead compute servers are closed.
    const auto settled = [&] { return look_at_growth(cluster_).other_array_bytes == 0; };
    if (sound() && !world_.run_until(settled, 60 * kSecond_ns)) fail("growth does not end");
    if (sound() && !world_.run_until([&] { return all_closed(); }, 60 * kSecond_ns))
      fail("a dead compute server's slot is never closed");
    verdict_.doublings = look_at_growth(cluster_).doublings;
    stop_and_check_regions();
  }

  bool all_closed() {
    std::size_t alive = 0;
    for (std::size_t i = 0; i < cluster_.computes(); ++i) alive += cluster_.alive(i) ? 1 : 0;
    const memory::MemoryServer& server = *cluster_.memory(0).server;
    return connected_computes(server) <= alive && server.slots()->dead_count() == 0;
  }

  GrowthTrouble trouble_;
  GrowthVerdict& verdict_;
  history::History history_{history::Model::registers};
  GrowingWorkload workload_;
  bool dropped_ = false;
  std::uint64_t sessions_ = 0;
};

}  // namespace

ClusterOptions growing_cluster() {
  ClusterOptions options;
  options.memory.extent_bytes = 64U << 10;
  options.memory.journal_bytes = 128U << 10;
  options.memory.max_transaction_ns = 10 * kSecond_ns;
  options.memory.collect_interval_ns = kMillisecond_ns;
  options.memory.reuse_interval_ns = kMillisecond_ns;
  options.memory.growth_interval_ns = kMillisecond_ns;
  options.worker.heartbeat_ns = kMillisecond_ns;
  return options;
}

SeenGrowth look_at_growth(Cluster& cluster) {
  SeenGrowth seen;
  for (std::uint32_t i = 0; i < cluster.options().memory_servers; ++i) {
    const control::StatusReply status = cluster.memory(i).server->status();
    for (const control::TableUse& table : status.tables()) {
      seen.doublings += table.doublings();
      seen.other_array_bytes += table.other_array_bytes();
    }
  }
  return seen;
}

GrowthVerdict run_growth(std::uint64_t seed, GrowthTrouble trouble, Interposer* interposer) {
  GrowthVerdict verdict;
  GrowthRun run(seed, trouble, interposer, verdict);
  run.go();
  return verdict;
}

}  // namespace namdb::sim
