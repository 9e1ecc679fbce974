#include "tools/namsim/index_run.h"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "tools/namsim/index_workload.h"

namespace namdb::sim {
namespace {

constexpr std::uint64_t kLimit_ns = 600 * kSecond_ns;

ClusterOptions hostile_cluster(Random& draw, Interposer* interposer) {
  ClusterOptions options;
  options.memory_servers = static_cast<std::uint32_t>(draw.between(1, 3));
  options.memory = memory::swarm_options(draw, 0.2);
  memory::swarm_index_options(options.memory, draw, 0.5);
  options.memory.extent_bytes = 64U << 10;
  options.memory.journal_bytes = 128U << 10;
  options.memory.max_transaction_ns = 10 * kSecond_ns;
  options.memory.heartbeat_timeout_ns = 0;
  options.memory.index_lease_ns = draw.between(1, 20) * kMillisecond_ns;
  options.memory.index_grace_ns = draw.below(3) * kMillisecond_ns;
  options.memory.collect_interval_ns = draw.between(20, 500) * kMicrosecond_ns;
  options.memory.reuse_interval_ns = options.memory.collect_interval_ns;
  options.worker.snapshot_mode =
      draw.chance(0.5) ? txn::SnapshotSource::Mode::call : txn::SnapshotSource::Mode::reads;
  options.worker.heartbeat_ns = draw.between(50, 2000) * kMicrosecond_ns;
  options.location_cache_bytes = draw.chance(0.5) ? 0 : 4096;
  options.interposer = interposer;
  return options;
}

struct Counts {
  std::uint64_t committed = 0;
  std::uint64_t ended = 0;  // transactions
  std::uint64_t running = 0;
};

reactor::Task<void> client(IndexWorkload* workload, compute::Worker* worker, std::uint64_t seed,
                           std::uint64_t transactions, Counts* counts) {
  {
    Random draw(seed);
    const auto session = worker->open_session();
    for (std::uint64_t i = 0; i < transactions && workload->anomaly().empty(); ++i) {
      if (draw.chance(0.04)) co_await workload->change_indexes(worker, &draw);
      const bool ok = co_await workload->run_one(worker, session.get(), &draw);
      ++counts->ended;
      if (ok) {
        ++counts->committed;
      } else {
        co_await worker->backoff(1);
      }
    }
  }
  --counts->running;
}

reactor::Task<void> store(reactor::Task<Status> task, std::shared_ptr<std::optional<Status>> result) {
  *result = co_await std::move(task);
}

class Run {
 public:
  Run(std::uint64_t seed, IndexTrouble trouble, Interposer* interposer, IndexVerdict& verdict)
      : trouble_(trouble),
        verdict_(verdict),
        draw_(seed * 15'485'863),
        world_(seed, fabric::sim::SimOptions::swarm(draw_)),
        cluster_(world_, hostile_cluster(draw_, interposer)),
        workload_(draw_.between(10, 60)) {}
  ~Run() {
    if (verdict_.anomaly.empty()) return;
    // Something may wait for ever: it cannot be stopped in order.
    for (std::size_t i = 0; i < cluster_.computes(); ++i) {
      if (cluster_.alive(i)) cluster_.kill_compute(i);
    }
    for (auto& gate : gates_) fabric::sim::SimWorld::bury(std::move(gate));
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  void go() {
    const std::size_t computes = draw_.between(1, 3);
    for (std::size_t i = 0; i < computes; ++i) cluster_.add_compute();
    const Status loaded = await(0, workload_.load(&cluster_.worker(0)));
    if (!loaded.ok()) return fail("load: " + loaded.to_string());
    for (std::size_t i = 0; i < computes; ++i) start_clients(i);
    if (trouble_ == IndexTrouble::kills) kill_some(computes);
    if (trouble_ == IndexTrouble::pauses) pause_some(computes);
    if (!world_.run_until([&] { return counts_.running == 0; }, kLimit_ns))
      fail("the clients did not finish");
    finish();
    verdict_.committed = counts_.committed;
    verdict_.compared = workload_.compared();
    verdict_.duplicates = workload_.duplicates();
    verdict_.built = workload_.built();
    verdict_.fingerprint = world_.fingerprint();
  }

 private:
  void fail(const std::string& what) {
    if (verdict_.anomaly.empty()) verdict_.anomaly = what;
  }

  // Without a bound that ends the program: something may be locked for ever.
  Status await(std::size_t compute, reactor::Task<Status> task) {
    const auto result = std::make_shared<std::optional<Status>>();
    gates_.push_back(std::make_unique<reactor::Gate>());
    cluster_.node(compute).spawn(*gates_.back(), store(std::move(task), result));
    world_.run_until([&] { return result->has_value(); }, kLimit_ns);
    return result->value_or(Status(ErrorCode::internal, "it does not end"));
  }

  void start_clients(std::size_t compute) {
    gates_.push_back(std::make_unique<reactor::Gate>());
    client_gates_[compute] = gates_.size() - 1;
    for (std::uint64_t i = draw_.between(1, 3); i > 0; --i) {
      ++counts_.running;
      cluster_.node(compute).spawn(*gates_.back(), client(&workload_, &cluster_.worker(compute), draw_.next(),
                                                          draw_.between(10, 40), &counts_));
    }
  }

  void run_some() {
    const std::uint64_t before = counts_.ended + draw_.between(1, 30);
    world_.run_until([&] { return counts_.ended >= before || counts_.running == 0; }, kLimit_ns);
    world_.run_for(draw_.below(50'000));
  }

  void kill_some(std::size_t computes) {
    for (int kill = 0; kill < 2; ++kill) {
      const std::size_t victim = kill == 0 ? 0 : computes;
      run_some();
      if (counts_.running == 0) return;
      std::unique_ptr<reactor::Gate>& gate = gates_[client_gates_[victim]];
      counts_.running -= gate->count();
      cluster_.kill_compute(victim);
      fabric::sim::SimWorld::bury(std::move(gate));
      start_clients(cluster_.add_compute());
    }
  }

  void pause_some(std::size_t computes) {
    for (int pause = 0; pause < 6 && counts_.running > 0; ++pause) {
      run_some();
      world_.pause(cluster_.node(draw_.below(computes)), draw_.between(1, 20) * kMillisecond_ns);
    }
  }

  // No entry is in doubt, and every index has one for each row: none is left over, none is missing.
  std::string leftovers() {
    std::map<std::uint32_t, std::uint64_t> entries;  // by index
    const memory::Catalog& catalog = *cluster_.memory(0).server->catalog();
    std::set<std::uint32_t> known;
    for (const auto& [name, index] : catalog.indexes()) known.insert(index.id());
    for (std::uint32_t i = 0; i < cluster_.options().memory_servers; ++i) {
      const memory::Indexes& indexes = cluster_.memory(i).server->indexes();
      for (const auto& [id, index] : indexes.all()) {
        const std::size_t doubts = indexes.doubts().count(id);
        if (doubts != 0) {
          return std::to_string(doubts) + " entries of index " + index->name + " on server " +
                 std::to_string(i) + " stay in doubt" + (index->building() ? ", it is building" : "") +
                 (indexes.doubts().aging() ? ", some wait to go" : "");
        }
        if (index->discarded) continue;
        if (!known.contains(id)) return "server " + std::to_string(i) + " keeps index " + index->name;
        if (!index->building()) entries[id] += index->tree->entries();
      }
    }
    if (catalog.tables().contains(IndexWorkload::kAside) !=
        catalog.indexes().contains(IndexWorkload::kAsideCode))
      return "a table and the index of its constraint are not there together";
    for (const auto& [name, index] : catalog.indexes()) {
      if (name == IndexWorkload::kAsideCode) {
        if (!entries.contains(index.id())) return "no server has index " + name;
        continue;
      }
      if (entries[index.id()] == workload_.rows()) continue;
      return "index " + name + " has " + std::to_string(entries[index.id()]) + " entries for " +
             std::to_string(workload_.rows()) + " rows";
    }
    return {};
  }

  void finish() {
    std::size_t survivor = 0;
    while (!cluster_.alive(survivor)) ++survivor;
    if (!workload_.anomaly().empty()) fail(workload_.anomaly());
    if (verdict_.anomaly.empty()) {
      const Status touched = await(survivor, workload_.touch_all(&cluster_.worker(survivor)));
      if (!touched.ok()) fail("after the run: " + touched.to_string());
      const Status compared = await(survivor, workload_.compare_all(&cluster_.worker(survivor)));
      if (!compared.ok()) fail("after the run: " + compared.to_string());
      if (!workload_.anomaly().empty()) fail("after the run: " + workload_.anomaly());
    }
    if (verdict_.anomaly.empty() && !world_.run_until([&] { return leftovers().empty(); }, 60 * kSecond_ns)) {
      fail("after the run: " + leftovers());
    }
    for (std::uint32_t i = 0; i < cluster_.options().memory_servers; ++i) {
      verdict_.removed += cluster_.memory(i).server->indexes().removed();
    }
    for (std::size_t i = 0; i < cluster_.computes() && verdict_.anomaly.empty(); ++i) {
      if (!cluster_.alive(i) || cluster_.stop_compute(i, kLimit_ns)) continue;
      fail("a compute server does not stop");
    }
    if (verdict_.anomaly.empty()) fail(cluster_.check_at_rest(kLimit_ns));
  }

  IndexTrouble trouble_;
  IndexVerdict& verdict_;
  Random draw_;
  fabric::sim::SimWorld world_;
  Cluster cluster_;
  IndexWorkload workload_;
  Counts counts_;
  std::map<std::size_t, std::size_t> client_gates_;  // by compute server
  std::vector<std::unique_ptr<reactor::Gate>> gates_;
};

}  // namespace

IndexVerdict run_indexes(std::uint64_t seed, IndexTrouble trouble, Interposer* interposer) {
  IndexVerdict verdict;
  Run run(seed, trouble, interposer, verdict);
  run.go();
  return verdict;
}

}  // namespace namdb::sim
