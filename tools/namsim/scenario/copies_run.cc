#include "tools/namsim/scenario/copies_run.h"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/namsim/cluster/copy_hosts.h"
#include "tools/namsim/history/check.h"
#include "tools/namsim/scenario/scenario.h"
#include "tools/namsim/scenario/seeded_run.h"
#include "tools/namsim/workloads/workloads.h"

namespace namdb::sim {
namespace {

using fabric::sim::SimNode;

constexpr std::uint64_t kCopiesLimit_ns = 600 * kSecond_ns;
constexpr std::uint64_t kClientPause_ns = 20 * kMillisecond_ns;
constexpr std::array<std::string_view, 3> kCopiesWorkloads{"register", "append", "bank"};
constexpr std::array<std::string_view, 7> kCopiesProtocols{"si",   "occ",     "nowait", "waitdie",
                                                           "mvcc", "sundial", "drtm"};

fabric::sim::SimOptions copies_network(Random& draw) {
  fabric::sim::SimOptions network = fabric::sim::SimOptions::swarm(draw);
  network.link_factor = 1;
  // Leases tolerate that much.
  network.clock_drift_ppm = std::min(network.clock_drift_ppm, 1000U);
  return network;
}

ClusterOptions copies_cluster(Random& draw, const CopyRules& rules) {
  ClusterOptions options;
  options.memory_servers = static_cast<std::uint32_t>(draw.between(1, 3));
  options.memory = memory::swarm_options(draw, 0.3);
  options.memory.protocol = kCopiesProtocols[draw.below(kCopiesProtocols.size())];
  options.memory.extent_bytes = 64U << 10;
  options.memory.journal_bytes = 128U << 10;
  options.memory.max_transaction_ns = 10 * kSecond_ns;
  options.memory.heartbeat_timeout_ns = 0;
  options.region_bytes = 8U << 20;
  options.durable = true;
  options.database = DatabaseOptions::swarm(draw);
  options.database.log.max_bytes = std::max<std::uint64_t>(options.database.log.max_bytes, 8U << 20);
  options.has_store = true;
  // Without copies a region waits for its host.
  options.copies = static_cast<std::uint32_t>(draw.chance(0.1) ? 0 : draw.between(1, 2));
  options.copy_rules = rules;
  options.worker.heartbeat_ns = 20 * kMillisecond_ns;
  options.worker.memory_timeout_ns = 2 * kSecond_ns;
  return options;
}

class CopiesRun final : SeededRun {
 public:
  CopiesRun(std::uint64_t seed, const CopyRules& rules, CopiesVerdict& verdict)
      : SeededRun(seed, seed * 49'979'693,
                  {copies_network, [&rules](Random& draw) { return copies_cluster(draw, rules); }, nullptr,
                   kCopiesLimit_ns},
                  verdict.anomaly),
        verdict_(verdict),
        workload_name_(kCopiesWorkloads[draw_.below(kCopiesWorkloads.size())]),
        history_(model_of(workload_name_)),
        workload_(make_workload(workload_name_, world_, history_, workload_options())),
        hosts_(cluster_.hosts()) {
    for (std::size_t server = 0; server < servers(); ++server) primaries_.push_back(hosts_.primary(server));
  }

  void go() {
    const std::uint64_t computes = draw_.between(1, 3);
    for (std::uint64_t i = 0; i < computes; ++i) cluster_.add_compute();
    load();
    for (std::size_t i = 0; sound() && i < computes; ++i) start_clients(i);
    for (std::uint64_t faults = draw_.between(2, 5); faults > 0 && sound(); --faults) {
      advance();
      if (sound() && happen()) ++verdict_.faults;
    }
    if (sound()) advance();
    heal();
    if (sound()) await_sync();
    verdict_.takeovers_of_faults = verdict_.takeovers;
    if (sound()) advance();
    over_ = true;
    if (sound()) await_clients();
    complain();
    if (sound()) await_sync();
    if (sound() && cluster_.options().copies > 0 && draw_.chance(0.5)) take_over_all();
    if (sound()) touch();
    complain();
    if (sound()) {
      stop_and_check_regions();
      verdict_.wrong_data = !sound();
    }
    verdict_.transactions = history_.transactions().size();
    verdict_.fingerprint = world_.fingerprint();
    if (!sound()) return;
    const history::CheckOptions options{.level = promised_level(cluster_.options().memory.protocol)};
    fail(history::first_anomaly(history::check(history_, options), history_));
    verdict_.wrong_data = !sound();
  }

 private:
  // About what the workload's clients have read.
  void complain() {
    if (!sound() || workload_->complaint().empty()) return;
    fail(workload_->complaint());
    verdict_.wrong_data = true;
  }

  std::size_t servers() const { return cluster_.options().memory_servers; }

  WorkloadOptions workload_options() {
    WorkloadOptions options;
    options.keys = draw_.between(3, 8);
    options.fewest_keys = workload_name_ == "bank" ? 2 : 1;
    options.long_reader_probability = 0.05;
    options.may_grow_old = options.may_lose_connections = true;
    return options;
  }

  void load() {
    Status loaded(ErrorCode::connection_failure, "not connected");
    for (int attempt = 0; !loaded.ok() && attempt < 50; ++attempt) {
      if (attempt != 0) world_.run_for(100 * kMillisecond_ns);
      loaded = await(0, workload_->load(cluster_.worker(0)));
    }
    check(loaded, "load");
  }

  // --- clients ---

  // Until the run is over.
  reactor::Task<void> client(compute::Worker* worker, std::uint64_t session_id, std::uint64_t think_ns) {
    auto client = workload_->open_client(*worker);
    while (!over_ && workload_->complaint().empty()) {
      if (!worker->ready()) {
        co_await worker->executor().sleep_for(kClientPause_ns);
        continue;
      }
      const history::Outcome outcome = co_await client->run_one(session_id);
      if (outcome == history::Outcome::committed) {
        ++verdict_.committed;
      } else {
        co_await worker->backoff(1);
      }
      if (outcome == history::Outcome::unknown) {
        // It may still take effect, after what comes next: a session ends with it.
        client = workload_->open_client(*worker);
        session_id = sessions_++;
      }
      const std::uint64_t pause_ns = worker->executor().random().below(think_ns);
      co_await worker->executor().sleep_for(pause_ns);
    }
  }
  void start_clients(std::size_t compute) {
    for (std::uint64_t i = draw_.between(1, 3); i > 0; --i)
      start_client(compute,
                   client(&cluster_.worker(compute), sessions_++, draw_.between(1, 150) * kMillisecond_ns));
  }
  // Until the moment of an answer, or for some time.
  void advance() {
    const std::uint64_t enough = verdict_.committed + draw_.between(1, 25);
    if (draw_.chance(0.7)) world_.run_for(draw_.below(4 * kSecond_ns));
    world_.run_until([&] { return verdict_.committed >= enough; }, draw_.between(1, 3) * kSecond_ns);
    if (draw_.chance(0.5)) world_.run_for(draw_.below(200'000));
    count_takeovers();
    revive();
    complain();
  }

  // --- faults ---

  void count_takeovers() {
    for (std::size_t server = 0; server < servers(); ++server) {
      const std::size_t now = hosts_.primary(server);
      if (now != primaries_[server]) ++verdict_.takeovers;
      primaries_[server] = now;
    }
  }
  // Processes that have ended start again, as a service manager has them. A new machine does so until its
  // region has another primary.
  void revive() {
    for (std::size_t host = 0; host < hosts_.count(); ++host) {
      const HostProcess* const process = hosts_.machine(host).process.get();
      if (process != nullptr && process->ended) hosts_.start(host, DiskAfter::killed);
    }
  }
  std::uint64_t duration_ns() {
    constexpr std::array<std::uint64_t, 4> kDurations_ns{300 * kMillisecond_ns, 1500 * kMillisecond_ns,
                                                         3 * kSecond_ns, 6 * kSecond_ns};
    return kDurations_ns[draw_.below(kDurations_ns.size())];
  }
  std::size_t pick_host() {
    // Primaries are of more interest.
    if (draw_.chance(0.6)) return hosts_.primary(draw_.below(servers()));
    return draw_.below(hosts_.count());
  }
  SimNode* node(std::size_t host) {
    const HostProcess* const process = hosts_.machine(host).process.get();
    return process == nullptr ? nullptr : process->node;
  }
  void end_later(std::uint64_t duration, std::function<void()> end) {
    world_.at(world_.now_ns() + duration, [this, end] {
      if (!healed_) end();
    });
    ends_.push_back(std::move(end));
  }
  void restart_later(std::size_t host, DiskAfter disk) {
    const std::uint64_t pause_ns = draw_.chance(0.5) ? draw_.below(200 * kMillisecond_ns) : duration_ns();
    end_later(pause_ns, [this, host, disk] {
      if (hosts_.machine(host).process == nullptr) hosts_.start(host, disk);
    });
  }

  // Whether it did something.
  bool happen() {
    switch (draw_.below(10)) {
      case 0:
      case 1: {
        const std::size_t host = pick_host();
        const bool ran = node(host) != nullptr;
        hosts_.kill(host);
        restart_later(host, draw_.chance(0.5) ? DiskAfter::killed : DiskAfter::power_lost);
        return ran;
      }
      case 2:
        return lose_machine(draw_.below(servers()));
      case 3:
        end_all();
        return true;
      case 4: {
        SimNode* const paused = node(pick_host());
        if (paused != nullptr) world_.pause(*paused, duration_ns());
        return paused != nullptr;
      }
      case 5:
        disturb_store();
        return true;
      case 6:
        replace_compute();
        return true;
      default:
        return split(pick_host());
    }
  }

  // Of a region that another host has, too. Whether there is one.
  bool lose_machine(std::size_t server) {
    const placement::Place& place = hosts_.stored().place(server);
    const bool there = std::ranges::any_of(place.copies, [this](const std::string& address) {
      return hosts_.machine(hosts_.at(address)).disk != nullptr;
    });
    if (!there) return false;
    ++verdict_.lost;
    const std::size_t host = hosts_.primary(server);
    hosts_.kill(host, true);
    restart_later(host, DiskAfter::replaced);
    return true;
  }

  void end_all() {
    const DiskAfter disk = draw_.chance(0.5) ? DiskAfter::killed : DiskAfter::power_lost;
    for (std::size_t host = 0; host < hosts_.count(); ++host) {
      if (hosts_.machine(host).disk == nullptr) continue;
      hosts_.kill(host);
      restart_later(host, disk);
    }
  }

  // All nodes are on one side or the other, and the store on one or on both. Both ways, or one hears nothing
  // of the other. Whether that host runs.
  bool split(std::size_t host) {
    SimNode* const victim = node(host);
    if (victim == nullptr) return false;
    const std::uint64_t duration = duration_ns();
    const bool one_way = draw_.chance(0.25);
    std::vector<SimNode*> left{victim};
    std::vector<SimNode*> right;
    const std::uint64_t store = draw_.below(4);  // with the victim, with both, else with the others
    for (std::size_t other = 0; other < hosts_.count(); ++other) {
      if (node(other) == nullptr) continue;
      const bool stays = other == host || draw_.chance(0.15);
      if (other != host) (stays ? left : right).push_back(node(other));
      if (stays ? store > 1 : store == 0) leave_store(other, duration);
    }
    for (std::size_t i = 0; i < cluster_.computes(); ++i) {
      if (cluster_.alive(i)) (draw_.chance(0.5) ? left : right).push_back(&cluster_.node(i));
    }
    for (SimNode* const here : left) {
      for (SimNode* const there : right) {
        if (one_way) {
          world_.delay(*here, *there, duration, 0);
          world_.delay(*there, *here, 0, duration);
        } else {
          world_.block(*here, *there, true);
        }
      }
    }
    end_later(duration, [this, left, right] {
      for (SimNode* const here : left) {
        for (SimNode* const there : right) {
          world_.block(*here, *there, false);
          world_.delay(*here, *there, 0, 0);
          world_.delay(*there, *here, 0, 0);
        }
      }
    });
    return true;
  }

  void leave_store(std::size_t host, std::uint64_t duration) {
    HostProcess* const process = hosts_.machine(host).process.get();
    if (process == nullptr) return;
    process->way->set_reachable(false);
    end_later(duration, [this, host] {
      HostProcess* const now = hosts_.machine(host).process.get();
      if (now != nullptr) now->way->set_reachable(true);
    });
  }

  void disturb_store() {
    const std::uint64_t duration = duration_ns();
    const std::uint64_t kind = draw_.below(3);
    for (std::size_t host = 0; host < hosts_.count(); ++host) {
      HostProcess* const process = hosts_.machine(host).process.get();
      if (process == nullptr || draw_.chance(0.2)) continue;
      if (kind == 0) leave_store(host, duration);
      if (kind == 1) process->way->lose_answer();
      if (kind == 2) process->way->come_late(draw_.between(1, 300) * kMillisecond_ns);
    }
    // It is asked by somebody then.
    const std::size_t host = pick_host();
    if (kind == 0 || node(host) == nullptr) return;
    hosts_.kill(host);
    restart_later(host, DiskAfter::killed);
  }

  void replace_compute() {
    const std::size_t victim = survivor();
    workload_->died(cluster_.worker(victim));
    kill(victim);
    Status started(ErrorCode::connection_failure, "not tried");
    for (int again = 0; !started.ok() && again < 200; ++again) {
      if (again != 0) world_.run_for(300 * kMillisecond_ns);
      revive();
      started = cluster_.try_add_compute();
    }
    check(started, "a compute server cannot start");
    if (sound()) start_clients(cluster_.computes() - 1);
  }

  void heal() {
    healed_ = true;
    for (const auto& end : ends_) end();
    ends_.clear();
    for (std::size_t host = 0; host < hosts_.count(); ++host) {
      if (hosts_.machine(host).process == nullptr) hosts_.start(host, DiskAfter::killed);
    }
  }

  // --- the end ---

  void await_sync() {
    const std::uint64_t end_ns = world_.now_ns() + 120 * kSecond_ns;
    while (!hosts_.all_in_sync() && world_.now_ns() < end_ns) {
      revive();
      world_.run_until([this] { return hosts_.all_in_sync(); }, kSecond_ns);
    }
    count_takeovers();
    if (hosts_.all_in_sync()) return;
    fail("regions do not come back with their copies" + hosts_.describe());
  }

  // Every primary is gone for good, and the copies have all that clients were told of.
  void take_over_all() {
    std::vector<std::size_t> old;
    for (std::size_t server = 0; server < servers(); ++server) old.push_back(hosts_.primary(server));
    for (const std::size_t host : old) hosts_.kill(host, true);
    verdict_.lost += old.size();
    if (!world_.run_until([this] { return hosts_.all_serve(); }, 120 * kSecond_ns))
      return fail("a copy does not take over" + hosts_.describe());
    for (const std::size_t host : old) hosts_.start(host, DiskAfter::replaced);
    await_sync();
  }

  void touch() {
    const auto connected = [this] {
      for (std::size_t i = 0; i < cluster_.computes(); ++i) {
        if (cluster_.alive(i) && !cluster_.worker(i).ready()) return false;
      }
      return true;
    };
    if (!world_.run_until(connected, kCopiesLimit_ns))
      return fail("a compute server does not connect again" + hosts_.describe());
    check(await(survivor(), workload_->touch_all(cluster_.worker(survivor()))), "a row stays out of reach");
  }

  CopiesVerdict& verdict_;
  std::string workload_name_;
  history::History history_;
  std::unique_ptr<Workload> workload_;
  CopyHosts& hosts_;
  std::vector<std::size_t> primaries_;
  std::uint64_t sessions_ = 0;
  bool healed_ = false;
  bool over_ = false;  // clients end
  std::vector<std::function<void()>> ends_;
};

}  // namespace

CopiesVerdict run_with_copies(std::uint64_t seed, const CopyRules& rules) {
  CopiesVerdict verdict;
  CopiesRun run(seed, rules, verdict);
  run.go();
  return verdict;
}

}  // namespace namdb::sim
