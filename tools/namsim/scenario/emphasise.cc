#include "tools/namsim/scenario/emphasise.h"

namespace namdb::sim {
namespace {

// Quick, except for some operations that take long.
void quick_network(Scenario& scenario, double long_tear, std::uint64_t long_tear_gap_ns) {
  fabric::sim::SimOptions& network = scenario.network;
  network.request = network.reply = {100, 300, 0, 0};
  network.turn = {0, 50, 0, 0};
  network.link_factor = 1;
  network.tear_gap_ns = 20;
  network.long_tear = long_tear;
  network.long_tear_gap_ns = long_tear_gap_ns;
  scenario.limit_ns = kSecond_ns;
}

void snapshots(Random& draw, Scenario& scenario) {
  quick_network(scenario, 0.03 * static_cast<double>(draw.between(1, 10)), 40'000);
  scenario.network.tear_steps = static_cast<std::uint32_t>(draw.between(2, 3));
  scenario.cluster.worker.snapshot_mode = txn::SnapshotSource::Mode::reads;
  scenario.cluster.worker.slot = {};
  // Each commit depends on another slot's.
  WorkloadOptions& options = scenario.workload_options;
  options.fewest_keys = options.keys_per_transaction = 2;
  options.most_writes = 1;
  options.write_probability = 0.3;
  options.long_reader_probability = 0;
  scenario.think_ns = draw.chance(0.5) ? 0 : 60'000;
  scenario.resize({.memory_servers = 1,
                   .computes = draw.between(4, 6),
                   .clients = 1,
                   .transactions = 40,
                   .keys = draw.between(2, 4)});
}

void old_versions(Random& draw, Scenario& scenario) {
  scenario.cluster.memory.ring_slots = static_cast<std::uint32_t>(draw.between(1, 2));
  scenario.cluster.memory.collect_interval_ns = 20'000;
  scenario.cluster.worker.heartbeat_ns = 50'000;
  scenario.cluster.worker.slot = {};
  scenario.workload_options.long_reader_probability = 0.3;
  scenario.workload_options.pause_ns = draw.chance(0.5) ? 50'000 : 500'000;
  scenario.resize(
      {.memory_servers = draw.between(1, 2), .computes = draw.between(2, 4), .keys = draw.between(2, 4)});
}

}  // namespace

void emphasise(Emphasis emphasis, Random& draw, Scenario& scenario) {
  ClusterOptions& cluster = scenario.cluster;
  WorkloadOptions& options = scenario.workload_options;
  switch (emphasis) {
    case Emphasis::none:
      break;
    case Emphasis::snapshots:
      snapshots(draw, scenario);
      break;
    case Emphasis::old_versions:
      quick_network(scenario, 0.01, 5'000);
      old_versions(draw, scenario);
      if (draw.chance(0.5)) scenario.network.request = {100, 300, 0.02, 500'000};
      scenario.memory_pauses = draw.chance(0.5) ? 100 : 0;
      scenario.memory_pause_ns = 100'000;
      break;
    case Emphasis::inserts:
      scenario.resize({.computes = draw.between(2, 4), .keys = draw.between(16, 40)});
      options.absent_keys = *scenario.size.keys - 2;
      options.long_reader_probability = 0.05;
      break;
    case Emphasis::kills:
      quick_network(scenario, 0.3, 10'000);
      scenario.network.tear_steps = static_cast<std::uint32_t>(draw.between(2, 8));
      // Operations of a dead owner on their way to one memory server may outlive the decision at another.
      if (draw.chance(0.4)) scenario.network.request = {100, 300, 0.03, 300'000};
      cluster.worker.heartbeat_ns = draw.chance(0.3) ? kMillisecond_ns : 20'000;
      options.write_probability = 0.8;
      scenario.resize({.memory_servers = draw.between(1, 3),
                       .computes = draw.between(2, 5),
                       .keys = draw.between(2, 5),
                       .kills = 2});
      break;
    case Emphasis::short_slots:
      quick_network(scenario, 0.05, 5'000);
      cluster.worker.slot.counters_per_slot = 3;
      break;
    case Emphasis::shared_slots:
      quick_network(scenario, 0.2, 20'000);
      scenario.network.request = {100, 300, 0.05, 30'000};
      scenario.network.link_factor = 20;
      cluster.worker.slot = {};
      scenario.resize({.memory_servers = draw.between(2, 3),
                       .computes = draw.between(2, 3),
                       .clients = 5,
                       .keys = draw.between(4, 8)});
      break;
    case Emphasis::short_age:
      quick_network(scenario, 0, 0);
      old_versions(draw, scenario);
      cluster.memory.collect_by_acknowledgement = false;
      cluster.memory.max_transaction_ns = 300'000;
      cluster.memory.slack_ns = 50'000;
      break;
  }
}

}  // namespace namdb::sim
