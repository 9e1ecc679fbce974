#include "tools/namsim/scenario/scenario.h"

#include <algorithm>
#include <vector>

#include "memory/region/region.h"
#include "tools/namsim/scenario/fault_options.h"

namespace namdb::sim {
namespace {

// More than a run writes.
constexpr std::uint64_t kRoomyLog_bytes = 4U << 20;

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

void Scenario::make_durable() {
  cluster.durable = true;
  Random disk(seed * 472'882'027);
  cluster.database = DatabaseOptions::swarm(disk);
  // A log that is full refuses commits until a checkpoint has given back its beginning.
  if (cluster.database.log.max_bytes < kRoomyLog_bytes) workload_options.full_region = true;
}

Status Scenario::use_faults(Faults all, std::string from, std::vector<std::size_t> skipped) {
  faults.clear();
  faults_from = std::move(from);
  skipped_faults = std::move(skipped);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (std::find(skipped_faults.begin(), skipped_faults.end(), i) != skipped_faults.end()) continue;
    faults.push_back(all[i]);
    if (all[i].needs_disk() && !cluster.durable)
      return Status(ErrorCode::configuration,
                    std::string(Fault::kind_name(all[i].kind)) + " is a fault of durable clusters");
    if (all[i].needs_copies() && hosts == 0)
      return Status(ErrorCode::configuration, std::string(Fault::kind_name(all[i].kind)) +
                                                  (all[i].host ? ": a host" : "") +
                                                  " is for clusters with copies");
    if (all[i].kind == Fault::Kind::crash_memory && hosts != 0)
      return Status(ErrorCode::configuration, "crash-memory is for clusters without copies");
    if (all[i].kind != Fault::Kind::set) continue;
    set_option(cluster, all[i].option, all[i].value);
    fit_workload();
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

void Scenario::fit_workload() {
  // Nine tables of several extents each would never be created in less.
  if (workload == "tpcc") cluster.region_bytes = std::max<std::uint64_t>(cluster.region_bytes, 6U << 20);
  // So many commits in slots of three would use up the journals' room before any of it comes back.
  if (workload == "tpcc" || workload == "churn" || workload == "schema")
    cluster.worker.slot.counters_per_slot = std::max(cluster.worker.slot.counters_per_slot, 40U);
  const auto longest_ns = [](const fabric::sim::Latency& latency) {
    return latency.min_ns + latency.spread_ns + (latency.tail_probability > 0 ? latency.tail_ns : 0);
  };
  const std::uint64_t trip_ns = (longest_ns(network.request) + longest_ns(network.reply)) *
                                std::max<std::uint64_t>(network.link_factor, 1);
  // If slow links made every heartbeat late, a compute server would count as dead for ever.
  if (cluster.memory.heartbeat_timeout_ns != 0)
    cluster.memory.heartbeat_timeout_ns = std::max(cluster.memory.heartbeat_timeout_ns, 20 * trip_ns);
  // A transaction needs time for some round trips to end at all. The emphasis on E leaves it less now and
  // then.
  if (emphasis != Emphasis::short_age)
    cluster.memory.max_transaction_ns = std::max(cluster.memory.max_transaction_ns, 10 * trip_ns);
  // At the end all tables are read in one transaction, over slow links too.
  if (workload == "tpcc" || workload == "churn")
    cluster.memory.max_transaction_ns = std::max(cluster.memory.max_transaction_ns, 3 * kSecond_ns);
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
    if (memory.protocol != protocol::kDefaultProtocol) text += " --protocol " + memory.protocol;
    if (!memory.stages.one_sided()) text += " --stages " + memory.stages.text();
  }
  if (memory.shared_read_locks) text += " --read-locks shared";
  if (const auto* const protocol = protocol::find_protocol(memory.protocol);
      protocol != nullptr && protocol->timestamps) {
    text += " --lock-at ";
    text += cluster.mixed_lock_times ? "mixed" : txn::name_of(cluster.worker.lock_time);
  }
  if (hosts != 0) {
    text += " --copies " + std::to_string(hosts);
  } else if (cluster.durable) {
    text += " --durable";
  }
  const bool is_drawn = !emphasis_given && hosts == 0;
  const auto drawn = is_drawn ? draw_timestamp_vector(seed) : layout::VectorSpread::whole;
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
  number("scan_calls", cluster.worker.scan_reads == txn::ScanReads::calls ? 1 : 0);
  const txn::Optimisations& optimisations = cluster.worker.optimisations;
  number("passive_acknowledgement", optimisations.passive_acknowledgement ? 1 : 0);
  number("outstanding_requests", optimisations.outstanding_requests ? 1 : 0);
  number("doorbell_batching", optimisations.doorbell_batching ? 1 : 0);
  number("speculative_reads", optimisations.speculative_reads ? 1 : 0);
  number("location_cache", optimisations.location_cache ? 1 : 0);
  number("growing_regions", cluster.growing_regions ? 1 : 0);
  number("partitioned_vector", cluster.memory.timestamp_vector == layout::VectorSpread::whole ? 0 : 1);
  if (hosts != 0) number("hosts", hosts);
  if (cluster.durable) {
    number("log_segment_bytes", cluster.database.log.segment_bytes);
    number("log_bytes", cluster.database.log.max_bytes);
    number("checkpoint_interval_ns", cluster.database.checkpoints.interval_ns);
  }
  const auto mode = cluster.worker.snapshot_mode;
  number("snapshot_by_call", mode == txn::SnapshotSource::Mode::call ? 1 : 0);
  number("snapshot_adaptive", mode == txn::SnapshotSource::Mode::adaptive ? 1 : 0);
  number("snapshot_together", mode == txn::SnapshotSource::Mode::together ? 1 : 0);
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

}  // namespace namdb::sim
