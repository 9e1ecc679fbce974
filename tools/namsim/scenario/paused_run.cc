#include "tools/namsim/scenario/paused_run.h"

#include "tools/namsim/history/check.h"
#include "tools/namsim/scenario/seeded_run.h"
#include "tools/namsim/workloads/passing_workload.h"
#include "tools/namsim/workloads/register_workload.h"

namespace namdb::sim {
namespace {

constexpr std::uint64_t kPausedLimit_ns = 20 * kSecond_ns;
constexpr std::uint64_t kTimeout_ns = 2 * kMillisecond_ns;
constexpr std::uint64_t kHeartbeat_ns = 50 * kMicrosecond_ns;

fabric::sim::SimOptions paused_network(Random& draw) {
  fabric::sim::SimOptions network = fabric::sim::SimOptions::swarm(draw);
  network.request = network.reply = {100, 300, 0, 0};
  network.turn = {0, 50, 0, 0};
  network.notice = {1000, 20'000, 0, 0};
  network.link_factor = 1;
  network.tear_gap_ns = 20;
  // A paused node must not be taken for dead because its clock is slow.
  network.clock_drift_ppm = 0;
  return network;
}

ClusterOptions cluster_options(Random& draw, Pauses pauses, layout::VectorSpread timestamp_vector) {
  ClusterOptions options;
  options.memory_servers = static_cast<std::uint32_t>(draw.between(1, 2));
  options.memory = memory::swarm_options(draw, 0.3);
  options.memory.timestamp_vector = timestamp_vector;
  if (timestamp_vector == layout::VectorSpread::partitioned) options.memory_servers = 2;
  options.memory.extent_bytes = 64U << 10;
  options.memory.journal_bytes = 128U << 10;
  options.memory.max_transaction_ns = 10 * kSecond_ns;
  options.memory.heartbeat_timeout_ns = pauses == Pauses::taken_for_dead ? kTimeout_ns : 0;
  options.memory.collect_interval_ns = 20 * kMicrosecond_ns;
  options.memory.reuse_interval_ns = 20 * kMicrosecond_ns;
  options.worker.snapshot_mode =
      draw.chance(0.5) ? txn::SnapshotSource::Mode::call : txn::SnapshotSource::Mode::reads;
  options.worker.heartbeat_ns = kHeartbeat_ns;
  options.worker.first_reconnect_ns = 20 * kMicrosecond_ns;
  options.worker.max_reconnect_ns = kMillisecond_ns;
  return options;
}

class PausedRun final : SeededRun {
 public:
  PausedRun(std::uint64_t seed, Pauses pauses, Interposer* interposer, layout::VectorSpread timestamp_vector,
            PausedVerdict& verdict)
      : SeededRun(
            seed, seed * 32'452'867,
            {paused_network, [=](Random& draw) { return cluster_options(draw, pauses, timestamp_vector); },
             interposer, kPausedLimit_ns},
            verdict.anomaly),
        pauses_(pauses),
        verdict_(verdict),
        registers_(world_, history_,
                   {.keys = draw_.between(2, 4),
                    .write_probability = 0.8,
                    .long_reader_probability = 0.05,
                    .may_lose_connections = true}),
        passing_(world_, {.tables = draw_.between(1, 2), .keys = draw_.between(3, 12)}) {}

  void go() {
    const std::size_t computes = draw_.between(2, 4);
    for (std::size_t i = 0; i < computes; ++i) cluster_.add_compute();
    const bool drops = pauses_ == Pauses::tables_dropped;
    compute::Worker& keeper = cluster_.worker(computes - 1);  // is never paused
    check(await(computes - 1, drops ? passing_.load(keeper) : registers_.load(keeper)), "load");
    for (std::size_t i = 0; i < computes; ++i) start_clients(i);
    for (int i = 0; i < 6 && running_ > 0 && complaint().empty() && sound(); ++i) {
      pause_one(computes - 1);
      if (drops) check(await(computes - 1, passing_.replace_one(keeper)), "a table cannot be replaced");
    }
    await_clients();
    fail(complaint());
    if (sound())
      check(await(computes - 1, drops ? passing_.touch_all(keeper) : registers_.touch_all(keeper)),
            "a row stays out of reach");
    fail(complaint());
    if (!drops) await_closed(computes);
    stop_and_check_regions();
    verdict_.transactions = drops ? passing_.transactions() : history_.transactions().size();
    if (sound()) {
      const history::CheckOptions options{.level = history::strict_snapshot_isolation(), .all_reads = true};
      fail(history::first_anomaly(history::check(history_, options), history_));
    }
  }

 private:
  std::string complaint() const {
    return registers_.complaint().empty() ? passing_.anomaly() : registers_.complaint();
  }

  reactor::Task<void> client(compute::Worker* worker, std::uint64_t session_id, std::uint64_t transactions) {
    const auto session = worker->open_session();
    auto registers_client = registers_.open_client(*worker);
    for (std::uint64_t i = 0; i < transactions && complaint().empty(); ++i) {
      while (!worker->ready()) co_await worker->executor().sleep_for(kHeartbeat_ns);
      history::Outcome outcome = history::Outcome::aborted;
      if (pauses_ == Pauses::taken_for_dead) {
        outcome = co_await registers_client->run_one(session_id);
      } else if (co_await passing_.run_one(*worker, *session)) {
        outcome = history::Outcome::committed;
      }
      if (outcome == history::Outcome::committed) {
        ++verdict_.committed;
        continue;
      }
      if (outcome == history::Outcome::unknown) {
        // It may still take effect, after what comes next: a session ends with it.
        registers_client = registers_.open_client(*worker);
        session_id = sessions_++;
      }
      co_await worker->backoff(3);
    }
  }

  void start_clients(std::size_t compute) {
    for (std::uint64_t i = draw_.between(1, 3); i > 0; --i)
      start_client(compute, client(&cluster_.worker(compute), sessions_++, draw_.between(40, 120)));
  }

  void pause_one(std::size_t keeper) {
    world_.run_for(draw_.below(60'000));
    const std::size_t victim = draw_.below(keeper);
    world_.pause(cluster_.node(victim), draw_.between(1, 3) * kTimeout_ns);
    if (draw_.chance(0.5)) world_.run_for(draw_.between(1, 2) * kTimeout_ns);
  }

  void await_closed(std::size_t computes) {
    world_.run_for(5 * kTimeout_ns);  // servers that are still paused are taken for dead, and come back
    const memory::MemoryServer& server = *cluster_.memory(0).server;
    const auto closed = [&] {
      return connected_computes(server) <= computes && server.slots()->dead_count() == 0;
    };
    if (sound() && !world_.run_until(closed, kPausedLimit_ns))
      fail("a dead compute server's slot is never closed");
  }

  Pauses pauses_;
  PausedVerdict& verdict_;
  history::History history_{history::Model::registers};
  RegisterWorkload registers_;
  PassingWorkload passing_;
  std::uint64_t sessions_ = 0;
};

}  // namespace

PausedVerdict run_paused(std::uint64_t seed, Pauses pauses, Interposer* interposer,
                         layout::VectorSpread timestamp_vector) {
  PausedVerdict verdict;
  PausedRun run(seed, pauses, interposer, timestamp_vector, verdict);
  run.go();
  return verdict;
}

}  // namespace namdb::sim
