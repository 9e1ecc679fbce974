#include "tools/namsim/scenario/scenario.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "common/base/checksum.h"
#include "tools/namsim/history/format.h"
#include "tools/namsim/scenario/copies_scenario.h"
#include "tools/namsim/scenario/fault_driver.h"

namespace namdb::sim {
namespace {

WorkloadOptions options_of(const Scenario& scenario) {
  WorkloadOptions options = scenario.workload_options;
  options.keys = *scenario.size.keys;
  // Undisturbed, nothing takes seconds and no host is cut off.
  options.may_grow_old = !scenario.faults.empty() || scenario.cluster.memory.max_transaction_ns < kSecond_ns;
  options.may_lose_connections = !scenario.faults.empty();
  const auto* const protocol = protocol::find_protocol(scenario.cluster.memory.protocol);
  options.may_read_old_rows = protocol != nullptr && protocol->by_clocks;
  return options;
}

// More than a run has clients.
constexpr std::uint64_t kSessions = 10'000'000;

reactor::Task<void> run_client(Workload* workload, compute::Worker* worker, std::uint64_t session_id,
                               std::uint64_t transactions, std::uint64_t think_ns, std::uint64_t* committed,
                               std::uint64_t* running) {
  {
    auto client = workload->open_client(*worker);
    for (std::uint64_t i = 0; i < transactions && workload->complaint().empty(); ++i) {
      while (!worker->ready() || workload->gone()) co_await worker->executor().sleep_for(5 * kMillisecond_ns);
      const history::Outcome outcome = co_await client->run_one(session_id);
      if (outcome == history::Outcome::committed) {
        ++*committed;
      } else {
        co_await worker->backoff(1);
      }
      if (outcome == history::Outcome::unknown) {
        // It may still take effect, after what comes next: a session ends with it.
        client = workload->open_client(*worker);
        session_id += kSessions;
      }
      if (think_ns == 0) continue;
      const std::uint64_t pause_ns = worker->executor().random().below(think_ns);
      co_await worker->executor().sleep_for(pause_ns);
    }
  }
  --*running;
}

reactor::Task<void> touch(Workload* workload, compute::Worker* worker, std::optional<Status>* result) {
  *result = co_await workload->touch_all(*worker);
}

reactor::Task<void> abandon(Workload* workload, compute::Worker* worker, std::uint64_t duration_ns) {
  co_await workload->abandon_one(*worker, duration_ns);
}

class Run final : public FaultActions {
 public:
  Run(const Scenario& scenario, Verdict& verdict)
      : scenario_(scenario),
        size_(scenario.size),
        draw_(scenario.draw),
        verdict_(verdict),
        world_(scenario.seed, scenario.network),
        cluster_(world_, scenario.cluster),
        workload_(make_workload(scenario.workload, world_, verdict.history, options_of(scenario))),
        faults_(world_, cluster_, scenario.faults, scenario.seed) {}
  ~Run() {
    for (auto& [compute, gate] : abandoned_) {
      if (!cluster_.alive(compute) && gate->count() > 0) fabric::sim::SimWorld::bury(std::move(gate));
    }
    if (verdict_.anomaly.empty()) return;
    // A coroutine may wait for ever: the cluster cannot be stopped cleanly.
    for (std::size_t i = 0; i < cluster_.computes(); ++i) {
      if (!cluster_.alive(i)) continue;
      workload_->died(cluster_.worker(i));
      cluster_.kill_compute(i);
    }
    for (auto& gate : gates_) fabric::sim::SimWorld::bury(std::move(gate));
    for (auto& abandoned : abandoned_) fabric::sim::SimWorld::bury(std::move(abandoned.second));
  }

  const std::vector<std::size_t>& lives() const { return workload_->lives(); }
  void go() {
    for (std::uint64_t i = 0; i < *size_.computes; ++i) cluster_.add_compute();
    const Status loaded = load(0);
    if (!loaded.ok()) {
      verdict_.anomaly = "load: " + loaded.to_string();
      return;
    }
    forget_snapshots();
    pause_memory_servers();
    faults_.begin();
    for (std::size_t i = 0; i < cluster_.computes(); ++i) start_clients(i);
    for (std::uint64_t i = 0; i < *size_.kills && running_ > 0 && verdict_.anomaly.empty(); ++i) kill_one(i);
    const auto finished = [&] { return running_ == 0; };
    if (!run_until(finished)) faults_.heal();
    if (!run_until(finished) && verdict_.anomaly.empty()) verdict_.anomaly = "the clients did not finish";
    if (const std::string wrong = wrong_opening(); !wrong.empty()) verdict_.anomaly = wrong;
    faults_.heal();
    verdict_.happened = faults_.happened();
    settle();
    if (verdict_.anomaly.empty()) await_connections();
    if (verdict_.anomaly.empty()) verdict_.anomaly = workload_->complaint();
    if (verdict_.anomaly.empty() && !ids_used_up()) touch_all();
    if (verdict_.anomaly.empty()) verdict_.anomaly = workload_->complaint();
    if (verdict_.anomaly.empty()) await_closed();
    if (verdict_.anomaly.empty()) stop();
    // A lock without a journal entry is undone by the next writer, and there is none.
    if (verdict_.anomaly.empty() && !ids_used_up())
      verdict_.anomaly = cluster_.check_at_rest(scenario_.limit_ns);
    verdict_.fingerprint = fingerprint();
    verdict_.virtual_ns = world_.now_ns();
  }

 private:
  // No execution slot can be leased any more.
  bool ids_used_up() { return cluster_.memory(0).server->slots()->next_slot() > layout::kMaxSlot; }
  // A server that is slow may be taken for dead on the way.
  Status load(std::size_t compute) {
    Status loaded(ErrorCode::connection_failure, "no compute server is connected");
    for (int attempt = 0; !loaded.ok() && attempt < 100; ++attempt) {
      compute::Worker& worker = cluster_.worker(compute);
      world_.run_until([&] { return worker.ready(); }, 10 * kSecond_ns);
      // Once lost, a connection is found lost at the next heartbeats.
      world_.run_for(attempt == 0 ? kMillisecond_ns : 50 * kMillisecond_ns);
      loaded = world_.run(cluster_.node(compute), workload_->load(worker));
    }
    return loaded;
  }

  std::uint64_t fingerprint() {
    std::uint64_t hash = world_.fingerprint();
    for (std::uint64_t i = 0; i < *size_.memory_servers; ++i) {
      const memory::Region& region = cluster_.memory(i).server->region();
      const memory::ExtentAllocator& extents = region.extents();
      hash = checksum64({region.at(0), extents.first_offset()}, hash);
      for (std::uint64_t k = 0; k < extents.count(); ++k) {
        if (!extents.used(k)) continue;
        const std::byte* const extent = region.at(extents.first_offset() + k * extents.extent_bytes());
        hash = checksum64({extent, extents.extent_bytes()}, hash);
      }
    }
    for (const history::Transaction& transaction : verdict_.history.transactions()) {
      const std::string line = history::transaction_line(verdict_.history.model(), transaction);
      hash = checksum64(std::as_bytes(std::span(line)), hash);
    }
    return hash;
  }

  void start_clients(std::size_t compute) {
    gates_.push_back(std::make_unique<reactor::Gate>());
    const std::uint64_t clients = draw_.between(1, *size_.clients);
    for (std::uint64_t i = 0; i < clients; ++i) {
      ++running_;
      const std::uint64_t most = *size_.transactions;
      const std::uint64_t transactions = draw_.between(std::min<std::uint64_t>(10, most), most);
      cluster_.node(compute).spawn(
          *gates_.back(), run_client(workload_.get(), &cluster_.worker(compute), sessions_++, transactions,
                                     scenario_.think_ns, &verdict_.committed, &running_));
    }
  }

  // First the oldest, then those that replaced others; a new one takes the place.
  void kill_one(std::uint64_t number) {
    const std::size_t victim = number == 0 ? 0 : cluster_.computes() - 1;
    const std::uint64_t before = verdict_.history.transactions().size() + draw_.between(1, 30);
    run_until([&] { return verdict_.history.transactions().size() >= before || running_ == 0; });
    world_.run_for(draw_.below(20'000));
    if (running_ == 0 || !cluster_.alive(victim)) return;
    crash_compute(victim);
  }

  // While faults happen in between. False when the limit passed or something is wrong.
  template <typename Condition>
  bool run_until(Condition condition) {
    const std::uint64_t end_ns = world_.now_ns() + scenario_.limit_ns;
    bool due = false;
    while (verdict_.anomaly.empty() && !condition()) {
      const auto over = [&] {
        due = faults_.due(verdict_.history.transactions().size());
        return due || condition();
      };
      if (!world_.run_until(over, end_ns - std::min(end_ns, world_.now_ns()))) return false;
      if (std::exchange(due, false)) faults_.fire(*this);
    }
    return verdict_.anomaly.empty();
  }

  void crash_compute(std::size_t victim) override {
    if (!cluster_.alive(victim) || !verdict_.anomaly.empty()) return;
    end_compute(victim);
    start_another();
  }

  void end_compute(std::size_t victim) {
    // Clients of the victim never end: count only those of others.
    running_ -= gates_[victim]->count();
    workload_->died(cluster_.worker(victim));
    cluster_.kill_compute(victim);
    fabric::sim::SimWorld::bury(std::move(gates_[victim]));
  }

  void start_another() {
    Status started = cluster_.try_add_compute();
    // A link that is cut, or a region without room for a journal until others are retired.
    for (int again = 0; !started.ok() && !scenario_.faults.empty() && again < 100; ++again) {
      world_.run_for(300 * kMillisecond_ns);
      gates_.push_back(nullptr);
      started = cluster_.try_add_compute();
    }
    if (!started.ok()) {
      const std::string wrong = wrong_opening();
      verdict_.anomaly = "a compute server cannot start: " + (wrong.empty() ? started.to_string() : wrong);
      return;
    }
    start_clients(cluster_.computes() - 1);
  }

  // The clients go on meanwhile.
  void restart_memory(std::size_t memory) override {
    cluster_.begin_restart_memory(memory, DiskAfter::killed);
  }

  void lose_power() override {
    if (!verdict_.anomaly.empty()) return;
    std::size_t ended = 0;
    for (std::size_t i = 0; i < cluster_.computes(); ++i) {
      if (!cluster_.alive(i)) continue;
      end_compute(i);
      ++ended;
    }
    for (std::uint64_t i = 0; i < *size_.memory_servers; ++i)
      cluster_.begin_restart_memory(i, DiskAfter::power_lost);
    for (; ended > 0 && verdict_.anomaly.empty(); --ended) start_another();
  }

  // Why a memory server does not open what its disk has.
  std::string wrong_opening() {
    for (std::uint64_t i = 0; i < *size_.memory_servers; ++i) {
      const MemoryProcess& memory = cluster_.memory(i);
      if (!memory.failure.ok()) return "the disk of a memory server: " + memory.failure.to_string();
      if (memory.opened && !memory.opened->ok())
        return "a memory server does not open: " + memory.opened->to_string();
    }
    return {};
  }

  // All data is gone: the cluster starts over, and the clients go on with new rows. Until the last memory
  // server is a new one, too, those that are new are refused.
  void restart_cluster(std::size_t memory) override {
    workload_->data_is_gone();
    for (std::uint64_t i = 0; i < *size_.memory_servers; ++i) {
      if (i != 0) world_.run_for(draw_.below(3) * draw_.below(200 * kMillisecond_ns));
      cluster_.restart_memory((memory + i) % *size_.memory_servers);
    }
    const Status loaded = load(first_alive());
    if (!loaded.ok()) verdict_.anomaly = "load, after all data was gone: " + loaded.to_string();
    forget_snapshots();
    workload_->data_is_back();
  }

  // Snapshots that were taken ahead, and clocks that are behind, may lack what another session has just
  // loaded; unused, they go.
  void forget_snapshots() {
    const bool ahead = scenario_.cluster.worker.snapshot_sharing != txn::SnapshotSharing::own;
    if (ahead) world_.run_for(10 * kMillisecond_ns);
    // A clock that goes wrong is set right by the next heartbeats.
    if (protocol::find_protocol(scenario_.cluster.memory.protocol)->by_clocks)
      world_.run_for(500 * kMillisecond_ns);
  }

  void abandon_session(std::size_t compute, std::uint64_t duration_ns) override {
    abandoned_.emplace_back(compute, std::make_unique<reactor::Gate>());
    cluster_.node(compute).spawn(*abandoned_.back().second,
                                 abandon(workload_.get(), &cluster_.worker(compute), duration_ns));
  }

  std::size_t first_alive() const {
    std::size_t survivor = 0;
    while (!cluster_.alive(survivor)) ++survivor;
    return survivor;
  }

  // Operations that a disturbed link has delayed arrive, and every compute server notices the connections
  // that it has lost.
  void settle() {
    std::uint64_t longest_ns = 0;
    for (const Fault& fault : scenario_.faults)
      longest_ns = std::max({longest_ns, fault.duration_ns, fault.delay_ns});
    if (longest_ns != 0 && verdict_.anomaly.empty()) world_.run_for(2 * longest_ns + 500 * kMillisecond_ns);
  }

  // After the faults every compute server finds its way back.
  void await_connections() {
    const auto connected = [&] {
      for (std::size_t i = 0; i < cluster_.computes(); ++i) {
        if (cluster_.alive(i) && !cluster_.worker(i).ready()) return false;
      }
      return std::all_of(abandoned_.begin(), abandoned_.end(), [&](const auto& one) {
        return !cluster_.alive(one.first) || one.second->count() == 0;
      });
    };
    if (!scenario_.faults.empty() && !world_.run_until(connected, scenario_.limit_ns))
      verdict_.anomaly = "a compute server does not connect again";
  }

  void pause_memory_servers() {
    for (std::uint64_t i = 0; i < scenario_.memory_pauses; ++i) {
      fabric::sim::SimNode* const node = cluster_.memory(i % *size_.memory_servers).node;
      world_.at(world_.now_ns() + (2 * i + 1) * scenario_.memory_pause_ns, [this, node] {
        if (!over_) world_.pause(*node, scenario_.memory_pause_ns);
      });
    }
  }

  void await_closed() {
    std::size_t alive = 0;
    for (std::size_t i = 0; i < cluster_.computes(); ++i) alive += cluster_.alive(i) ? 1 : 0;
    const memory::MemoryServer& server = *cluster_.memory(0).server;
    // The channels of the dead are gone, and with them their slots were found dead.
    const auto closed = [&] {
      return connected_computes(server) <= alive && server.slots()->dead_count() == 0;
    };
    if (!world_.run_until(closed, scenario_.limit_ns))
      verdict_.anomaly = "a dead compute server's slot is never closed";
    if (verdict_.anomaly.empty() && !world_.run_until([&] { return !has_orphans(); }, scenario_.limit_ns))
      verdict_.anomaly = "a memory server keeps a table that the catalog does not have";
  }

  // Any compute server discards tables whose creation or drop ended with the death of its compute server.
  bool has_orphans() {
    std::set<std::uint32_t> known;
    for (const auto& [name, table] : cluster_.memory(0).server->catalog()->tables()) known.insert(table.id());
    for (std::uint64_t i = 0; i < *size_.memory_servers; ++i) {
      for (const auto& [id, table] : cluster_.memory(i).server->tables().all()) {
        if (!table->discarded && !known.contains(id)) return true;
      }
    }
    return false;
  }

  void stop() {
    over_ = true;
    for (std::size_t i = 0; i < cluster_.computes(); ++i) {
      if (!cluster_.alive(i)) continue;
      world_.run(cluster_.node(i), workload_->leave(cluster_.worker(i)));
      if (cluster_.stop_compute(i, scenario_.limit_ns)) continue;
      verdict_.anomaly = "a compute server does not stop";
      return;
    }
    // One that is slow may be taken for dead while it stops.
    if (scenario_.cluster.memory.heartbeat_timeout_ns != 0)
      world_.run_until([&] { return !dead_slots(); }, scenario_.limit_ns);
  }
  bool dead_slots() { return cluster_.memory(0).server->slots()->dead_count() > 0; }

  void touch_all() {
    const std::size_t survivor = first_alive();
    std::optional<Status> touched;
    gates_.push_back(std::make_unique<reactor::Gate>());
    cluster_.node(survivor).spawn(*gates_.back(),
                                  touch(workload_.get(), &cluster_.worker(survivor), &touched));
    world_.run_until([&] { return touched.has_value(); }, scenario_.limit_ns);
    if (!touched) {
      verdict_.anomaly = "a row stays out of reach for ever";
    } else if (!touched->ok()) {
      verdict_.anomaly = "a row stays out of reach: " + touched->to_string();
    }
  }

  const Scenario& scenario_;
  const Size size_;
  Random draw_;
  Verdict& verdict_;
  fabric::sim::SimWorld world_;
  Cluster cluster_;
  std::unique_ptr<Workload> workload_;
  FaultDriver faults_;
  std::uint64_t running_ = 0;
  bool over_ = false;
  std::uint64_t sessions_ = 0;
  std::vector<std::unique_ptr<reactor::Gate>> gates_;  // by compute server
  std::vector<std::pair<std::size_t, std::unique_ptr<reactor::Gate>>> abandoned_;
};

}  // namespace

history::Level promised_level(std::string_view protocol) {
  const protocol::ProtocolTraits* const traits = protocol::find_protocol(protocol);
  if (traits != nullptr && !traits->strict) return *history::level_from_name("serializable");
  return traits != nullptr && traits->serializable ? *history::level_from_name("strict-serializable")
                                                   : history::strict_snapshot_isolation();
}

Verdict run_scenario(const Scenario& scenario, const history::Level& level) {
  if (scenario.hosts != 0) return run_copies_scenario(scenario, level);
  Verdict verdict;
  verdict.history = history::History(model_of(scenario.workload));
  std::vector<std::size_t> lives;
  {
    Run run(scenario, verdict);
    run.go();
    lives = run.lives();
  }
  verdict.lives = lives.size();
  verdict.transactions = verdict.history.transactions().size();
  if (verdict.anomaly.empty()) {
    history::CheckOptions options{.level = level, .all_reads = level.strength == history::Strength::snapshot};
    // Snapshots that are taken ahead promise nothing about what other sessions were told.
    if (scenario.cluster.worker.snapshot_sharing == txn::SnapshotSharing::prefetched)
      options.level.real_time = false;
    // Each life of the data is a history of its own.
    lives.push_back(verdict.history.transactions().size());
    for (std::size_t life = 0; life + 1 < lives.size() && verdict.anomaly.empty(); ++life) {
      history::History part(verdict.history.model());
      for (std::size_t i = lives[life]; i < lives[life + 1]; ++i) part.add(verdict.history.transactions()[i]);
      verdict.anomaly = history::first_anomaly(history::check(part, options), part);
    }
  }
  return verdict;
}

Verdict run_and_compare(const Scenario& scenario, const history::Level& level) {
  Verdict verdict = run_scenario(scenario, level);
  if (verdict.anomaly.empty() && scenario.seed % kSeedsOfTwice == 0 &&
      run_scenario(scenario, level).fingerprint != verdict.fingerprint)
    verdict.anomaly = "the same seed gives two different runs";
  return verdict;
}

}  // namespace namdb::sim
