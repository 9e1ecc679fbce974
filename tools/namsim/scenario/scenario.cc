#include "tools/namsim/scenario/scenario.h"

#include <algorithm>
#include <vector>

#include "memory/region/region.h"
#include "tools/namsim/scenario/fault_options.h"

namespace namdb::sim {

namespace {

// What is drawn, or given as a fault, and leaves a workload no chance is made milder.
void fit_workload(Scenario& scenario) {
  ClusterOptions& cluster = scenario.cluster;
  const std::string& workload = scenario.workload;
  // Nine tables of several extents each would never be created in less.
  if (workload == "tpcc") cluster.region_bytes = std::max<std::uint64_t>(cluster.region_bytes, 6U << 20);
  // So many commits that slots of three would use up the journals' room before any comes back.
  if (workload == "tpcc" || workload == "churn" || workload == "schema")
    cluster.worker.slot.counters_per_slot = std::max(cluster.worker.slot.counters_per_slot, 40U);
  const auto longest_ns = [](const fabric::sim::Latency& latency) {
    return latency.min_ns + latency.spread_ns + (latency.tail_probability > 0 ? latency.tail_ns : 0);
  };
  const std::uint64_t trip_ns = (longest_ns(scenario.network.request) + longest_ns(scenario.network.reply)) *
                                std::max<std::uint64_t>(scenario.network.link_factor, 1);
  // Whose every heartbeat is late because the links are slow would be taken for dead for ever.
  if (cluster.memory.heartbeat_timeout_ns != 0)
    cluster.memory.heartbeat_timeout_ns = std::max(cluster.memory.heartbeat_timeout_ns, 20 * trip_ns);
  // Nor would a transaction ever end that has no time for some round trips. The emphasis on E wants just
  // that, now and then.
  if (scenario.emphasis != Emphasis::short_age)
    cluster.memory.max_transaction_ns = std::max(cluster.memory.max_transaction_ns, 10 * trip_ns);
  // At the end all tables are read in one transaction, over slow links too.
  if (workload == "tpcc" || workload == "churn")
    cluster.memory.max_transaction_ns = std::max(cluster.memory.max_transaction_ns, 3 * kSecond_ns);
}

}  // namespace

std::span<const Size::Field> Size::fields() {
  static constexpr std::array kFields{
      Field{"kills", "Compute servers that die on the way", &Size::kills, 0, 100},
      Field{"computes", "Compute servers", &Size::computes, 1, 100},
      Field{"clients", "Clients of a compute server, at most", &Size::clients, 1, 1000},
      Field{"transactions", "Transactions of a client, at most", &Size::transactions, 1, 1'000'000},
      Field{"keys", "Rows", &Size::keys, 2, 1000},
      Field{"memory-servers", "Memory servers", &Size::memory_servers, 1, 16},
  };
  return kFields;
}

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
  // A generator of its own: what else a seed draws stays as it was.
  if (Random sharing(seed * 86'028'121); !emphasis && sharing.chance(0.4)) {
    cluster.worker.snapshot_sharing =
        sharing.chance(0.5) ? txn::SnapshotSharing::shared : txn::SnapshotSharing::prefetched;
  }
  if (Random source(seed * 49'979'687); !emphasis && source.chance(0.33))
    cluster.worker.snapshot_mode = txn::SnapshotSource::Mode::adaptive;
  if (Random slots(seed * 141'650'939); !emphasis && slots.chance(0.25))
    cluster.worker.slot.slots = slots.between(2, 4);
  if (Random writes(seed * 32'452'843); writes.chance(0.2))
    cluster.worker.commit_writes = txn::CommitWrites::whole;
  if (Random reads(seed * 67'867'967); reads.chance(0.3)) cluster.worker.index_reads = txn::IndexReads::calls;
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

  // From a generator of its own: what is drawn above does not depend on the workload.
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
  fit_workload(scenario);
  // Slots of few commits need many positions, and journals: a closed slot's come back after E + slack, which
  // no run takes.
  if (cluster.worker.slot.counters_per_slot == 3) {
    cluster.memory.vector_capacity = std::max(cluster.memory.vector_capacity, 1024U);
    scenario.workload_options.full_region = true;
  }
  return scenario;
}

Status Scenario::use_faults(Faults all, std::string from, std::vector<std::size_t> skipped) {
  faults.clear();
  faults_from = std::move(from);
  skipped_faults = std::move(skipped);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (std::find(skipped_faults.begin(), skipped_faults.end(), i) != skipped_faults.end()) continue;
    faults.push_back(all[i]);
    if (all[i].kind != Fault::Kind::set) continue;
    set_option(cluster, all[i].option, all[i].value);
    fit_workload(*this);
    // Slots that end soon may use up the vector's positions.
    if (all[i].option == "region_bytes" || all[i].option == "vector_capacity" ||
        all[i].option == "counters_per_slot" || all[i].option == "first_counter" ||
        all[i].option == "first_slot")
      workload_options.full_region = true;
  }
  ZeroedWords words(cluster.region_bytes / 8);
  const auto region = memory::Region::create(std::as_writable_bytes(std::span(words)), cluster.memory, 1);
  if (!region.ok()) return region.status();
  if (faults.empty()) return {};
  limit_ns = std::max(limit_ns, 600 * kSecond_ns);
  return make_up_for_clocks();
}

// Faults let transactions grow as old as E: then slack has to cover what two clocks differ by over E.
Status Scenario::make_up_for_clocks() {
  std::uint64_t fastest_ppm = network.clock_drift_ppm;
  bool slack_given = false;
  for (const Fault& fault : faults) {
    fastest_ppm = std::max(fastest_ppm, static_cast<std::uint64_t>(std::abs(fault.ppm)));
    slack_given = slack_given || (fault.kind == Fault::Kind::set && fault.option == "slack_ns");
  }
  const std::uint64_t apart_ns = 2 * fastest_ppm * (cluster.memory.max_transaction_ns / 1'000'000 + 1);
  if (apart_ns < cluster.memory.slack_ns) return {};
  if (slack_given)
    return Status(ErrorCode::configuration, "clocks that are wrong by " + std::to_string(fastest_ppm) +
                                                " ppm exceed what slack_ns makes up for");
  cluster.memory.slack_ns = 2 * apart_ns;
  return {};
}

void Scenario::resize(const Size& other) {
  for (const Size::Field& field : Size::fields()) {
    if (other.*field.value) size.*field.value = other.*field.value;
  }
  cluster.memory_servers = static_cast<std::uint32_t>(*size.memory_servers);
}

std::string Scenario::flags() const {
  std::string text =
      "--seed " + std::to_string(seed) + " --workload " + (workload_from.empty() ? workload : workload_from);
  const memory::Options& memory = cluster.memory;
  if (!memory.preset.empty()) {
    text += " --preset " + memory.preset;
  } else {
    if (memory.protocol != layout::kDefaultProtocol) text += " --protocol " + memory.protocol;
    if (!memory.stages.one_sided()) text += " --stages " + memory.stages.text();
  }
  if (memory.shared_read_locks) text += " --read-locks shared";
  const auto drawn = emphasis_given ? layout::VectorSpread::whole : draw_timestamp_vector(seed);
  if (memory.timestamp_vector != drawn)
    text += " --timestamp-vector " + std::string(layout::name_of(memory.timestamp_vector));
  if (emphasis_given) text += " --emphasis " + std::string(kEmphases[static_cast<std::size_t>(emphasis)]);
  for (const Size::Field& field : Size::fields())
    text += std::string(" --") + field.name + " " + std::to_string(*(size.*field.value));
  if (faults_from == "none") return text;
  text += " --faults " + faults_from;
  for (std::size_t i = 0; i < skipped_faults.size(); ++i)
    text += (i == 0 ? " --skip-faults " : ",") + std::to_string(skipped_faults[i]);
  return text;
}

std::string Scenario::describe() const {
  std::string text;
  const auto add = [&](const char* name, double value) {
    std::string number = std::to_string(value);
    number.erase(number.find_last_not_of('0') + 1);
    if (number.back() == '.') number.pop_back();
    text += (text.empty() ? "" : ", ") + std::string(name) + " " + number;
  };
  const auto number = [&](const char* name, std::uint64_t value) {
    text += (text.empty() ? "" : ", ") + std::string(name) + " " + std::to_string(value);
  };
  const auto latency = [&](const char* name, const fabric::sim::Latency& value) {
    text +=
        std::string(", ") + name + " " + std::to_string(value.min_ns) + "+" + std::to_string(value.spread_ns);
    if (value.tail_probability > 0) text += " or +" + std::to_string(value.tail_ns);
    text += " ns";
  };
  text += "emphasis " + std::string(kEmphases[static_cast<std::size_t>(emphasis)]);
  number("tear_steps", network.tear_steps);
  number("tear_gap_ns", network.tear_gap_ns);
  add("long_tear", network.long_tear);
  number("long_tear_gap_ns", network.long_tear_gap_ns);
  latency("request", network.request);
  latency("reply", network.reply);
  latency("turn", network.turn);
  number("link_factor", network.link_factor);
  number("atomics_with_cpu", network.atomics_with_cpu ? 1 : 0);
  add("split_atomics", network.split_atomics);
  add("late_landing", network.late_landing);
  add("scribble", network.scribble);
  number("clock_drift_ppm", network.clock_drift_ppm);
  number("snapshot_sharing", static_cast<std::uint64_t>(cluster.worker.snapshot_sharing));
  number("whole_writes", cluster.worker.commit_writes == txn::CommitWrites::whole ? 1 : 0);
  number("index_calls", cluster.worker.index_reads == txn::IndexReads::calls ? 1 : 0);
  const txn::Optimisations& optimisations = cluster.worker.optimisations;
  number("passive_acknowledgement", optimisations.passive_acknowledgement ? 1 : 0);
  number("outstanding_requests", optimisations.outstanding_requests ? 1 : 0);
  number("doorbell_batching", optimisations.doorbell_batching ? 1 : 0);
  number("speculative_reads", optimisations.speculative_reads ? 1 : 0);
  number("location_cache", optimisations.location_cache ? 1 : 0);
  number("growing_regions", cluster.growing_regions ? 1 : 0);
  number("partitioned_vector", cluster.memory.timestamp_vector == layout::VectorSpread::whole ? 0 : 1);
  const auto mode = cluster.worker.snapshot_mode;
  number("snapshot_by_call", mode == txn::SnapshotSource::Mode::call ? 1 : 0);
  number("snapshot_adaptive", mode == txn::SnapshotSource::Mode::adaptive ? 1 : 0);
  number("heartbeat_ns", cluster.worker.heartbeat_ns);
  number("counters_per_slot", cluster.worker.slot.counters_per_slot);
  number("slots_per_worker", cluster.worker.slot.slots);
  if (workload == "wire") {
    const StreamOptions& streams = workload_options.streams;
    latency("stream", streams.piece);
    number("stream_most_pieces", streams.most_pieces);
    number("stream_most_bytes", streams.most_bytes);
    add("stream_cut", streams.cut_probability);
  }
#define NAMDB_SCENARIO_TUNABLE(type, name, value, hostile) number(#name, cluster.memory.name);
  NAMDB_MEMORY_TUNABLES(NAMDB_SCENARIO_TUNABLE)
#undef NAMDB_SCENARIO_TUNABLE
  for (const Fault& fault : faults) text += "\n  " + fault.text();
  return text;
}

layout::StageCode draw_stages(std::uint64_t seed) {
  Random draw(seed);
  layout::StageCode code;
  if (draw.chance(0.3)) return code;
  for (std::size_t stage = 0; stage < layout::kStageNames.size(); ++stage) {
    if (draw.chance(0.5)) code = code.with(static_cast<layout::Stage>(stage));
  }
  return code;
}

layout::VectorSpread draw_timestamp_vector(std::uint64_t seed) {
  Random draw(seed * 534'666'757);
  return draw.chance(0.25) ? layout::VectorSpread::partitioned : layout::VectorSpread::whole;
}

}  // namespace namdb::sim
