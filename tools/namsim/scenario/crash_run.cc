#include "tools/namsim/scenario/crash_run.h"

#include "tools/namsim/scenario/crash_workload.h"
#include "tools/namsim/scenario/seeded_run.h"
#include "tools/namsim/workloads/workload.h"

namespace namdb::sim {
namespace {

constexpr std::uint64_t kCrashLimit_ns = 60 * kSecond_ns;
constexpr std::uint64_t kNever = ~std::uint64_t{0};

// Everything is quick, so that a run has few events besides those of its transactions and checkpoints.
ClusterOptions crash_cluster(const Crash& crash) {
  ClusterOptions options;
  options.memory_servers = crash.memory_servers;
  options.durable = true;
  options.region_bytes = 4U << 20;
  options.memory.protocol = crash.protocol;
  options.memory.extent_bytes = 64U << 10;
  options.memory.journal_bytes = 4U << 10;
  options.memory.vector_capacity = 256;
  options.memory.ring_slots = 2;
  options.memory.heartbeat_timeout_ns = 0;
  options.memory.max_transaction_ns = 2 * kSecond_ns;
  options.memory.slack_ns = 10 * kMillisecond_ns;
  options.memory.collect_interval_ns = 2 * kMillisecond_ns;
  options.memory.reuse_interval_ns = 2 * kMillisecond_ns;
  options.memory.index_grace_ns = kMillisecond_ns;
  options.worker.heartbeat_ns = kMillisecond_ns;
  options.worker.first_reconnect_ns = kMillisecond_ns;
  options.worker.max_reconnect_ns = 4 * kMillisecond_ns;
  options.database.log.segment_bytes = 64U << 10;
  options.database.log.max_bytes = 1U << 20;
  options.database.log.max_block_bytes = 16U << 10;
  options.database.log.reserve_bytes = 16U << 10;
  options.database.checkpoints.interval_ns = crash.checkpoint_interval_ns;
  return options;
}

bool is_ready(txn::Engine& engine) {
  return static_cast<compute::Worker&>(engine).ready();
}

class CrashRun final : SeededRun {
 public:
  CrashRun(const Crash& crash, Interposer* interposer, CrashVerdict& verdict)
      : SeededRun(crash.seed, crash.seed,
                  {[](Random&) { return fabric::sim::SimOptions(); },
                   [&crash](Random&) { return crash_cluster(crash); }, interposer, kCrashLimit_ns},
                  verdict.anomaly),
        crash_(crash),
        verdict_(verdict),
        workload_(crash.clients) {}

  void go() {
    for (std::uint64_t i = 0; i < CrashWorkload::kClients; ++i) cluster_.add_compute();
    check(await(0, workload_.load(&cluster_.worker(0))), "load");
    if (!sound()) return;
    const std::uint64_t begin = world_.events();
    const std::uint64_t end = begin + std::min(crash_.moment, kNever - begin);
    for (std::uint64_t i = 0; i < CrashWorkload::kClients; ++i)
      start_client(i, workload_.run_client(&cluster_.worker(i), i, &is_ready));
    world_.run_until([&] { return running_ == 0 || world_.events() >= end; }, kCrashLimit_ns);
    verdict_.moments = world_.events() - begin;
    verdict_.crashed = world_.events() >= end;
    if (verdict_.crashed && crash_.quiet_ns != 0) fall_silent();
    verdict_.checkpoints = cluster_.memory(0).checkpoints->finished();
    if (verdict_.crashed) crash();
    await_clients();
    fail(workload_.complaint());
    if (crash_.clients == CrashClients::early && sound())
      await_decisions();  // what was answered early is not yet installed
    look("after the crash");
    insist("a row stays locked", &CrashWorkload::touch_all);
    if (sound()) await_decisions();
    // A commit of the dead that was undecided at the first look may have come since.
    look("after all is decided");
    look_at_outcomes("after the crash", false);
    const std::string rows = workload_.rows_text();
    stop_and_check_regions();
    // Everything that a client was shown is durable.
    if (sound()) {
      cluster_.restart_all_memory(DiskAfter::power_lost);
      cluster_.add_compute();
      look("after a loss of power at the end");
      if (sound() && workload_.rows_text() != rows)
        fail("the rows were " + rows + ", now " + workload_.rows_text());
      look_at_outcomes("after a loss of power at the end", true);
      stop_and_check_regions();
    }
    verdict_.acknowledged = workload_.acknowledged();
    verdict_.answered_early = workload_.answered_early();
    verdict_.told = workload_.told();
    verdict_.unknown = workload_.unknown();
    verdict_.unknown_there = workload_.unknown_there();
    verdict_.fingerprint = world_.fingerprint();
  }

 private:
  void fall_silent() {
    workload_.wind_up();
    await_clients();
    world_.run_for(crash_.quiet_ns);
    // The log grows, so there is one more checkpoint.
    if (sound()) check(await(0, workload_.create_another(&cluster_.worker(0))), "another table");
    world_.run_for(crash_.quiet_ns);
  }

  void crash() {
    if (crash_.victim == CrashVictim::owner) {
      replace(crash_.moment % CrashWorkload::kClients);
      return;
    }
    if (crash_.victim != CrashVictim::memory) {
      for (std::uint64_t i = 0; i < CrashWorkload::kClients; ++i) kill(i);
    }
    workload_.memory_ends();
    const DiskAfter after =
        crash_.victim == CrashVictim::all_machines ? DiskAfter::power_lost : DiskAfter::killed;
    restart_memory(after);
    if (crash_.again != 0) {
      const std::uint64_t end = world_.events() + crash_.again;
      world_.run_until([&] { return world_.events() >= end; }, kCrashLimit_ns);
      restart_memory(after);
    }
    for (std::uint32_t server = 0; server < crash_.memory_servers && sound(); ++server) {
      if (!cluster_.await_opened(server, kCrashLimit_ns)) return fail("the memory server does not open");
      check(*cluster_.memory(server).opened, "the memory server does not open");
    }
    if (sound() && crash_.victim != CrashVictim::memory) cluster_.add_compute();
  }

  void restart_memory(DiskAfter after) {
    if (crash_.victim == CrashVictim::memory)
      return cluster_.begin_restart_memory(crash_.moment % crash_.memory_servers, after);
    for (std::uint32_t server = 0; server < crash_.memory_servers; ++server)
      cluster_.begin_restart_memory(server, after);
  }

  // Until it succeeds, at a compute server that lives.
  void insist(const std::string& what, reactor::Task<Status> (CrashWorkload::*action)(txn::Engine*)) {
    if (!sound()) return;
    const std::size_t survivor_at = survivor();
    const std::uint64_t end_ns = world_.now_ns() + kCrashLimit_ns;
    Status status;
    do {
      world_.run_until([&] { return cluster_.worker(survivor_at).ready(); }, kCrashLimit_ns);
      status = await(survivor_at, (workload_.*action)(&cluster_.worker(survivor_at)));
      if (status.ok()) return;
      world_.run_for(kMillisecond_ns);
    } while ((status.info().retry || lost_connection(status)) && world_.now_ns() < end_ns);
    fail(what + ": " + status.to_string());
  }

  // The rows are possible ones.
  void look(const std::string& when) {
    insist(when + " the rows cannot be read", &CrashWorkload::read_all);
    const std::string wrong = sound() ? workload_.check() : std::string();
    if (!wrong.empty()) fail(when + ": " + wrong);
  }

  // The outcomes of the attempts are what the rows say. `ended`: all slots of the attempts have ended.
  void look_at_outcomes(const std::string& when, bool ended) {
    if (crash_.clients != CrashClients::with_ids) return;
    look(when);
    insist(when + " outcomes cannot be read", &CrashWorkload::read_outcomes);
    const std::string wrong = sound() ? workload_.check_outcomes(ended) : std::string();
    if (!wrong.empty()) fail(when + ": " + wrong);
  }

  // Slots of the dead are closed, and their index entries decided.
  void await_decisions() {
    const auto decided = [this] {
      for (std::uint32_t i = 0; i < crash_.memory_servers; ++i) {
        const memory::MemoryServer& server = *cluster_.memory(i).server;
        if (i == 0 && server.slots()->dead_count() != 0) return false;
        for (const auto& [id, index] : server.indexes().all()) {
          if (server.indexes().doubts().count(id) != 0) return false;
        }
      }
      return true;
    };
    if (!world_.run_until(decided, kCrashLimit_ns))
      fail("a dead slot is never closed, or an index entry stays in doubt");
  }

  const Crash crash_;
  CrashVerdict& verdict_;
  CrashWorkload workload_;
};

}  // namespace

std::string_view name_of(CrashVictim victim) {
  switch (victim) {
    case CrashVictim::owner:
      return "owner";
    case CrashVictim::memory:
      return "memory";
    case CrashVictim::all:
      return "all";
    case CrashVictim::all_machines:
      return "all-machines";
  }
  return "";
}

std::string Crash::text() const {
  return "protocol " + std::string(protocol) + ", victim " + std::string(name_of(victim)) + ", moment " +
         std::to_string(moment) + ", quiet " + std::to_string(quiet_ns) + " ns, checkpoints each " +
         std::to_string(checkpoint_interval_ns) + " ns, again " + std::to_string(again) + ", seed " +
         std::to_string(seed) +
         std::string(clients == CrashClients::early      ? ", early"
                     : clients == CrashClients::with_ids ? ", with ids"
                                                         : "");
}

CrashVerdict run_crash(const Crash& crash, Interposer* interposer) {
  CrashVerdict verdict;
  CrashRun run(crash, interposer, verdict);
  run.go();
  return verdict;
}

CrashVerdict run_without_crash(std::string_view protocol, CrashClients clients,
                               std::uint32_t memory_servers) {
  return run_crash(
      {.protocol = protocol, .moment = kNever, .memory_servers = memory_servers, .clients = clients});
}

}  // namespace namdb::sim
