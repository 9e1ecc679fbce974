#include "tools/namsim/scenario/copies_run.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "tools/namsim/scenario/hosts_run.h"
#include "tools/namsim/scenario/scenario.h"

namespace namdb::sim {
namespace {

using fabric::sim::SimNode;

constexpr std::uint64_t kCopiesLimit_ns = 600 * kSecond_ns;
constexpr std::array<std::string_view, 7> kCopiesProtocols{"si",   "occ",     "nowait", "waitdie",
                                                           "mvcc", "sundial", "drtm"};

}  // namespace

fabric::sim::SimOptions draw_copies_network(Random& draw) {
  fabric::sim::SimOptions network = fabric::sim::SimOptions::swarm(draw);
  network.link_factor = 1;
  // Leases tolerate that much.
  network.clock_drift_ppm = std::min(network.clock_drift_ppm, 1000U);
  return network;
}

ClusterOptions draw_copies_cluster(Random& draw, const CopyRules& rules) {
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

namespace {

class CopiesRun final : HostsRun {
 public:
  CopiesRun(std::uint64_t seed, const CopyRules& rules, CopiesVerdict& verdict)
      : HostsRun(seed, seed * 49'979'693,
                 {draw_copies_network, [&rules](Random& draw) { return draw_copies_cluster(draw, rules); },
                  nullptr, kCopiesLimit_ns},
                 verdict) {
    const std::string workload(kCopiesWorkloads[draw_.below(kCopiesWorkloads.size())]);
    WorkloadOptions options;
    options.keys = draw_.between(3, 8);
    options.fewest_keys = workload == "bank" ? 2 : 1;
    options.long_reader_probability = 0.05;
    options.may_grow_old = options.may_lose_connections = true;
    use_workload(workload, options);
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
    if (sound()) check_regions();
    verdict_.transactions = history_.transactions().size();
    verdict_.fingerprint = world_.fingerprint();
    if (sound()) check_history({.level = promised_level(cluster_.options().memory.protocol)});
  }

 private:
  // Until the run is over.
  void start_clients(std::size_t compute) {
    for (std::uint64_t i = draw_.between(1, 3); i > 0; --i)
      add_client(compute, ~std::uint64_t{0}, draw_.between(1, 150) * kMillisecond_ns);
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
  void restart_later(std::size_t host, DiskAfter disk) {
    const std::uint64_t pause_ns = draw_.chance(0.5) ? draw_.below(200 * kMillisecond_ns) : duration_ns();
    start_later(host, disk, pause_ns);
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
        return end_all();
      case 4: {
        SimNode* const paused = node(pick_host());
        if (paused != nullptr) world_.pause(*paused, duration_ns());
        return paused != nullptr;
      }
      case 5:
        return disturb_store();
      case 6:
        if (replace_compute(survivor())) start_clients(cluster_.computes() - 1);
        return true;
      default:
        return split(pick_host());
    }
  }

  // Whether another host has the region.
  bool lose_machine(std::size_t server) {
    if (!may_lose_primary(server)) return false;
    ++verdict_.lost;
    const std::size_t host = hosts_.primary(server);
    hosts_.kill(host, true);
    restart_later(host, DiskAfter::replaced);
    return true;
  }

  bool end_all() {
    bool ran = false;
    const DiskAfter disk = draw_.chance(0.5) ? DiskAfter::killed : DiskAfter::power_lost;
    for (std::size_t host = 0; host < hosts_.count(); ++host) {
      if (hosts_.machine(host).disk == nullptr) continue;
      ran |= node(host) != nullptr;
      hosts_.kill(host);
      restart_later(host, disk);
    }
    return ran;
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
    part(std::move(left), std::move(right), one_way ? Direction::from_left : Direction::both, duration);
    return true;
  }

  bool disturb_store() {
    bool disturbed = false;
    const std::uint64_t duration = duration_ns();
    const std::uint64_t kind = draw_.below(3);
    for (std::size_t host = 0; host < hosts_.count(); ++host) {
      HostProcess* const process = hosts_.machine(host).process.get();
      if (process == nullptr || draw_.chance(0.2)) continue;
      disturbed = true;
      if (kind == 0) leave_store(host, duration);
      if (kind == 1) process->way->lose_answer();
      if (kind == 2) process->way->come_late(draw_.between(1, 300) * kMillisecond_ns);
    }
    // Some host asks it then.
    const std::size_t host = pick_host();
    if (kind == 0 || node(host) == nullptr) return disturbed;
    hosts_.kill(host);
    restart_later(host, DiskAfter::killed);
    return true;
  }
};

}  // namespace

CopiesVerdict run_with_copies(std::uint64_t seed, const CopyRules& rules) {
  CopiesVerdict verdict;
  CopiesRun run(seed, rules, verdict);
  run.go();
  return verdict;
}

}  // namespace namdb::sim
