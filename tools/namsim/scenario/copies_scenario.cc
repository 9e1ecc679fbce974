#include "tools/namsim/scenario/copies_scenario.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tools/namsim/scenario/copies_run.h"
#include "tools/namsim/scenario/fault_driver.h"
#include "tools/namsim/scenario/hosts_run.h"

namespace namdb::sim {
namespace {

using fabric::sim::SimNode;

// Faults that wait for transactions may wait for ever.
constexpr std::uint64_t kFaultsLimit_ns = 120 * kSecond_ns;
constexpr std::uint64_t kLook_ns = 200 * kMillisecond_ns;
// Clients go on so long behind the last fault, and behind healing.
constexpr std::uint64_t kAfterwards_ns = 2 * kSecond_ns;
constexpr std::uint64_t kLongestFault_ns = 10 * kSecond_ns;

WorkloadOptions options_of(const Scenario& scenario) {
  WorkloadOptions options = scenario.workload_options;
  options.keys = *scenario.size.keys;
  options.may_grow_old = options.may_lose_connections = true;
  const auto* const protocol = protocol::find_protocol(scenario.cluster.memory.protocol);
  options.may_read_old_rows = protocol != nullptr && protocol->by_clocks;
  return options;
}

class CopiesScenarioRun final : HostsRun, public FaultActions {
 public:
  CopiesScenarioRun(const Scenario& scenario, CopiesVerdict& found)
      : HostsRun(scenario.seed, 0,
                 {[&scenario](Random&) { return scenario.network; },
                  [&scenario](Random&) { return scenario.cluster; }, nullptr, scenario.limit_ns},
                 found),
        scenario_(scenario),
        faults_(world_, cluster_, scenario.faults, scenario.seed) {
    draw_ = scenario.draw;
    use_workload(scenario.workload, options_of(scenario));
  }

  void go(const history::Level& level) {
    for (std::uint64_t i = 0; i < *scenario_.size.computes; ++i) cluster_.add_compute();
    load();
    faults_.begin();
    for (std::size_t i = 0; sound() && i < cluster_.computes(); ++i) start_clients(i);
    if (sound()) disturb();
    heal();
    faults_.heal();
    if (sound()) await_sync();
    verdict_.takeovers_of_faults = verdict_.takeovers;
    verdict_.lost_of_faults = verdict_.lost;
    if (sound()) go_on(kAfterwards_ns);
    over_ = true;
    if (sound()) await_clients();
    complain();
    if (sound()) await_sync();
    if (sound() && scenario_.hosts > 1 && draw_.chance(0.5)) take_over_all();
    if (sound()) touch();
    complain();
    if (sound()) check_regions();
    if (sound()) check_history({.level = level});
  }

  Verdict verdict() {
    Verdict verdict;
    verdict.anomaly = verdict_.anomaly;
    verdict.transactions = history_.transactions().size();
    verdict.committed = verdict_.committed;
    verdict.fingerprint = world_.fingerprint();
    verdict.virtual_ns = world_.now_ns();
    verdict.happened = faults_.happened();
    verdict.takeovers = verdict_.takeovers_of_faults;
    verdict.lost = verdict_.lost_of_faults;
    verdict.history = history_;
    return verdict;
  }

 private:
  void start_clients(std::size_t compute) {
    for (std::uint64_t i = draw_.between(1, *scenario_.size.clients); i > 0; --i)
      add_client(compute, *scenario_.size.transactions, draw_.between(1, scenario_.think_ns));
  }

  void look() {
    count_takeovers();
    revive();
    complain();
  }

  void go_on(std::uint64_t duration_ns) {
    const std::uint64_t end_ns = world_.now_ns() + duration_ns;
    while (sound() && world_.now_ns() < end_ns) {
      world_.run_for(std::min(kLook_ns, end_ns - world_.now_ns()));
      look();
    }
  }

  // Until all faults have happened.
  void disturb() {
    const std::uint64_t end_ns = world_.now_ns() + kFaultsLimit_ns;
    std::uint64_t kills = *scenario_.size.kills;
    std::uint64_t next_kill = draw_.between(1, 30);
    while (sound() && (kills > 0 || !faults_.over()) && world_.now_ns() < end_ns) {
      const auto due = [this] { return faults_.due(history_.transactions().size()); };
      if (world_.run_until(due, kLook_ns)) faults_.fire(*this);
      if (sound() && kills > 0 && history_.transactions().size() >= next_kill) {
        --kills;
        next_kill = history_.transactions().size() + draw_.between(1, 30);
        crash_compute(survivor());
      }
      if (sound()) look();
    }
    std::uint64_t longest_ns = 0;
    for (const Fault& fault : scenario_.faults) longest_ns = std::max(longest_ns, fault.duration_ns);
    if (sound()) go_on(std::min(longest_ns, kLongestFault_ns) + kAfterwards_ns);
  }

  // --- faults ---

  void crash_compute(std::size_t compute) override {
    if (!sound() || !cluster_.alive(compute)) return;
    if (replace_compute(compute)) start_clients(cluster_.computes() - 1);
  }
  void abandon_session(std::size_t compute, std::uint64_t duration_ns) override {
    start_client(compute, workload_->abandon_one(cluster_.worker(compute), duration_ns));
  }
  // These come as disturb_hosts(), or not at all.
  void restart_cluster(std::size_t /*memory*/) override {}
  void restart_memory(std::size_t /*memory*/) override {}
  void lose_power() override {}

  bool disturb_hosts(const Fault& fault, const std::vector<std::size_t>& hosts) override {
    if (!sound()) return false;
    switch (fault.kind) {
      case Fault::Kind::restart_memory:
        return restart(hosts, draw_.chance(0.5) ? DiskAfter::killed : DiskAfter::power_lost);
      case Fault::Kind::lose_power:
        return restart(hosts, DiskAfter::power_lost);
      case Fault::Kind::lose_host:
        return lose_host(hosts.front());
      case Fault::Kind::split_host:
        return split(fault, hosts.front());
      default: {
        bool disturbed = false;
        for (const std::size_t host : hosts) disturbed |= disturb_store(fault, host);
        return disturbed;
      }
    }
  }

  void restart_later(std::size_t host, DiskAfter disk) {
    start_later(host, disk, draw_.below(draw_.chance(0.5) ? 200 * kMillisecond_ns : 6 * kSecond_ns));
  }

  bool restart(const std::vector<std::size_t>& hosts, DiskAfter disk) {
    bool ran = false;
    for (const std::size_t host : hosts) {
      // A machine that is lost is replaced in its own time.
      if (hosts_.machine(host).disk == nullptr) continue;
      ran |= node(host) != nullptr;
      hosts_.kill(host);
      restart_later(host, disk);
    }
    return ran;
  }

  bool lose_host(std::size_t host) {
    if (!may_lose_primary(hosts_.machine(host).server)) return false;
    ++verdict_.lost;
    hosts_.kill(host, true);
    restart_later(host, DiskAfter::replaced);
    return true;
  }

  // Compute servers are on either side.
  bool split(const Fault& fault, std::size_t host) {
    if (node(host) == nullptr) return false;
    std::vector<SimNode*> left{node(host)};
    std::vector<SimNode*> right;
    if (fault.store == Fault::Store::rest) leave_store(host, fault.duration_ns);
    for (std::size_t other = 0; other < hosts_.count(); ++other) {
      if (other == host || node(other) == nullptr) continue;
      right.push_back(node(other));
      if (fault.store == Fault::Store::host) leave_store(other, fault.duration_ns);
    }
    for (std::size_t i = 0; i < cluster_.computes(); ++i) {
      if (cluster_.alive(i)) (draw_.chance(0.5) ? left : right).push_back(&cluster_.node(i));
    }
    constexpr std::array kDirections{Direction::both, Direction::from_left, Direction::from_right};
    part(std::move(left), std::move(right), kDirections[static_cast<std::size_t>(fault.direction)],
         fault.duration_ns);
    return true;
  }

  bool disturb_store(const Fault& fault, std::size_t host) {
    HostProcess* const process = hosts_.machine(host).process.get();
    if (process == nullptr) return false;
    if (fault.kind == Fault::Kind::cut_store) {
      leave_store(host, fault.duration_ns);
    } else if (fault.kind == Fault::Kind::delay_store) {
      process->way->come_late(fault.delay_ns);
    } else {
      process->way->lose_answer();
    }
    return true;
  }

  const Scenario& scenario_;
  FaultDriver faults_;
};

}  // namespace

Scenario Scenario::with_copies(std::uint64_t seed, std::optional<std::uint32_t> hosts,
                               std::optional<std::string> workload) {
  // A generator of its own: the other draws depend neither on the hosts nor on the workload.
  Random choice(seed * 920'419'823);
  const auto drawn_hosts = static_cast<std::uint32_t>(choice.between(1, 3));
  const std::string drawn_workload(kCopiesWorkloads[choice.below(kCopiesWorkloads.size())]);
  Random draw(seed * 754'974'721);
  Scenario scenario;
  scenario.seed = seed;
  scenario.workload = workload.value_or(drawn_workload);
  scenario.hosts = hosts.value_or(drawn_hosts);
  scenario.network = draw_copies_network(draw);
  scenario.cluster = draw_copies_cluster(draw, {});
  scenario.cluster.copies = scenario.hosts - 1;
  scenario.size = {.memory_servers = scenario.cluster.memory_servers,
                   .computes = draw.between(1, 3),
                   .clients = 3,
                   .transactions = 2000,
                   .keys = draw.between(3, 8),
                   .kills = 0};
  scenario.think_ns = draw.between(2, 150) * kMillisecond_ns;
  scenario.workload_options.long_reader_probability = 0.05;
  if (scenario.workload == "bank") scenario.workload_options.fewest_keys = 2;
  scenario.draw = draw;
  return scenario;
}

Verdict run_copies_scenario(const Scenario& scenario, const history::Level& level) {
  CopiesVerdict found;
  CopiesScenarioRun run(scenario, found);
  run.go(level);
  return run.verdict();
}

}  // namespace namdb::sim
