#include <algorithm>
#include <string>

#include "tools/namsim/scenario/emphasise.h"
#include "tools/namsim/scenario/scenario.h"

namespace namdb::sim {

Scenario Scenario::of_seed(std::uint64_t seed, std::optional<std::string> workload,
                           std::optional<Emphasis> emphasis) {
  Scenario scenario;
  scenario.seed = seed;
  Random draw(seed * 7919);
  scenario.network = fabric::sim::SimOptions::swarm(draw);
  ClusterOptions& cluster = scenario.cluster;
  scenario.size.memory_servers = draw.between(1, 3);
  cluster.memory = memory::swarm_options(draw, 0.3);
  cluster.memory.extent_bytes = 64U << 10;
  cluster.memory.journal_bytes = 128U << 10;
  cluster.memory.max_transaction_ns = 10 * kSecond_ns;
  cluster.memory.heartbeat_timeout_ns = 0;
  cluster.worker.snapshot_mode =
      draw.chance(0.5) ? txn::SnapshotSource::Mode::call : txn::SnapshotSource::Mode::reads;
  cluster.worker.heartbeat_ns = draw.chance(0.5) ? kMillisecond_ns : 20 * kMillisecond_ns;
  if (draw.chance(0.3)) cluster.worker.slot.counters_per_slot = 3;
  // A generator of its own: the seed's other draws stay as they were.
  if (Random sharing(seed * 86'028'121); !emphasis && sharing.chance(0.4)) {
    cluster.worker.snapshot_sharing =
        sharing.chance(0.5) ? txn::SnapshotSharing::shared : txn::SnapshotSharing::prefetched;
  }
  if (Random source(seed * 49'979'687); !emphasis && source.chance(0.33))
    cluster.worker.snapshot_mode = txn::SnapshotSource::Mode::adaptive;
  if (Random source(seed * 67'280'421); !emphasis && source.chance(0.4))
    cluster.worker.snapshot_mode = txn::SnapshotSource::Mode::together;
  if (Random slots(seed * 141'650'939); !emphasis && slots.chance(0.25))
    cluster.worker.slot.slots = slots.between(2, 4);
  if (Random writes(seed * 32'452'843); writes.chance(0.2))
    cluster.worker.commit_writes = txn::CommitWrites::whole;
  if (Random reads(seed * 67'867'967); reads.chance(0.3)) cluster.worker.index_reads = txn::IndexReads::calls;
  if (Random reads(seed * 86'028'121); reads.chance(0.5)) cluster.worker.scan_reads = txn::ScanReads::calls;
  if (Random without(seed * 122'949'823); without.chance(0.4)) {
    txn::Optimisations& optimisations = cluster.worker.optimisations;
    optimisations.passive_acknowledgement = without.chance(0.5);
    optimisations.outstanding_requests = without.chance(0.7);
    optimisations.doorbell_batching = without.chance(0.5);
    optimisations.speculative_reads = without.chance(0.7);
    optimisations.location_cache = without.chance(0.7);
  }
  if (Random growth(seed * 141'650'939); growth.chance(0.3)) cluster.growing_regions = true;
  if (!emphasis) cluster.memory.timestamp_vector = draw_timestamp_vector(seed);
  scenario.size.keys = draw.between(2, 8);
  scenario.size.computes = draw.between(1, 3);
  scenario.size.clients = 3;
  scenario.size.transactions = 25;
  scenario.draw = draw;

  // From a generator of its own: the draws above do not depend on the workload.
  Random choice(seed * 104'729);
  const std::uint64_t drawn = choice.below(kWorkloads.size());
  scenario.workload = workload.value_or(std::string(kWorkloads[drawn]));
  // These hold what one session sees against what others were told before, or go on in another session.
  if (scenario.workload == "ring" || scenario.workload == "smallbank" || scenario.workload == "tpcc" ||
      scenario.workload == "wire") {
    if (cluster.worker.snapshot_sharing == txn::SnapshotSharing::prefetched)
      cluster.worker.snapshot_sharing = txn::SnapshotSharing::shared;
  }
  scenario.size.kills = choice.chance(0.5) ? 0 : choice.between(1, 3);
  const double long_reader = choice.unit() * 0.5;
  WorkloadOptions& options = scenario.workload_options;
  if (scenario.workload == "bank") {
    options.fewest_keys = 2;
    options.long_reader_probability = long_reader;
    options.pause_ns = 200'000;
  } else if (scenario.workload == "smallbank" || scenario.workload == "ring") {
    options.long_reader_probability = long_reader / 2;
    options.pause_ns = 200'000;
  } else if (scenario.workload == "tpcc") {
    options.long_reader_probability = long_reader / 4;
    options.pause_ns = 100'000;
  } else if (scenario.workload == "churn") {
    options.long_reader_probability = long_reader / 4;
    scenario.size.keys = choice.between(2, 40);
    scenario.size.transactions = 60;
    // Transactions are long enough apart for tombstones to be reclaimed in between.
    scenario.think_ns = 200 * kMicrosecond_ns;
    cluster.memory.collect_interval_ns = choice.between(20, 500) * kMicrosecond_ns;
    cluster.memory.reuse_interval_ns = cluster.memory.collect_interval_ns;
    cluster.worker.heartbeat_ns = choice.between(50, 1000) * kMicrosecond_ns;
  } else if (scenario.workload == "write-skew") {
    // Each reads two and writes one of them.
    options.fewest_keys = options.keys_per_transaction = 2;
    options.most_writes = 1;
  } else if (scenario.workload == "wire") {
    Random streams(seed * 15'487'469);
    options.streams = StreamOptions::swarm(streams);
  }
  scenario.resize({});
  // Emphases narrow the registers' options; the other workloads have theirs.
  Emphasis drawn_emphasis = Emphasis::none;
  if (scenario.workload == "register" && choice.chance(0.5))
    drawn_emphasis = static_cast<Emphasis>(choice.between(1, kEmphases.size() - 1));
  scenario.emphasis = emphasis.value_or(drawn_emphasis);
  scenario.emphasis_given = emphasis.has_value();
  emphasise(scenario.emphasis, choice, scenario);
  scenario.fit_workload();
  // Slots of few commits need many positions, and journals: a closed slot's come back after E + slack, which
  // no run takes.
  if (cluster.worker.slot.counters_per_slot == 3) {
    cluster.memory.vector_capacity = std::max(cluster.memory.vector_capacity, 1024U);
    scenario.workload_options.full_region = true;
  }
  return scenario;
}

protocol::StageCode draw_stages(std::uint64_t seed) {
  Random draw(seed);
  protocol::StageCode code;
  if (draw.chance(0.3)) return code;
  for (std::size_t stage = 0; stage < protocol::kStageNames.size(); ++stage) {
    if (draw.chance(0.5)) code = code.with(static_cast<protocol::Stage>(stage));
  }
  return code;
}

LockTimes draw_lock_times(std::uint64_t seed) {
  Random draw(seed * 472'882'049);
  if (draw.chance(0.2)) return LockTimes::mixed;
  return draw.chance(0.5) ? LockTimes::fetch : LockTimes::commit;
}

void use_lock_times(ClusterOptions& cluster, LockTimes times) {
  cluster.worker.lock_time = times == LockTimes::commit ? txn::LockTime::commit : txn::LockTime::fetch;
  cluster.mixed_lock_times = times == LockTimes::mixed;
}

layout::VectorSpread draw_timestamp_vector(std::uint64_t seed) {
  Random draw(seed * 534'666'757);
  return draw.chance(0.25) ? layout::VectorSpread::partitioned : layout::VectorSpread::whole;
}

}  // namespace namdb::sim
