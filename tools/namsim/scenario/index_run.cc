#include "tools/namsim/scenario/index_run.h"

#include <map>
#include <set>

#include "proto/control.pb.h"
#include "tools/namsim/scenario/seeded_run.h"
#include "tools/namsim/workloads/index_workload.h"

namespace namdb::sim {
namespace {

constexpr std::uint64_t kIndexLimit_ns = 600 * kSecond_ns;

struct Database {
  std::string_view protocol;
  protocol::StageCode stages;
};

ClusterOptions indexed_cluster(Random& draw, const Database& database) {
  ClusterOptions options;
  options.memory_servers = static_cast<std::uint32_t>(draw.between(1, 3));
  options.memory = memory::swarm_options(draw, 0.2);
  memory::swarm_index_options(options.memory, draw, 0.5);
  options.memory.protocol = database.protocol;
  options.memory.stages = database.stages;
  options.memory.extent_bytes = 64U << 10;
  options.memory.journal_bytes = 128U << 10;
  options.memory.max_transaction_ns = 10 * kSecond_ns;
  options.memory.heartbeat_timeout_ns = 0;
  options.memory.index_lease_ns = draw.between(1, 20) * kMillisecond_ns;
  options.memory.index_grace_ns = draw.below(3) * kMillisecond_ns;
  options.memory.collect_interval_ns = draw.between(20, 500) * kMicrosecond_ns;
  options.memory.reuse_interval_ns = options.memory.collect_interval_ns;
  options.worker.snapshot_mode =
      draw.chance(0.5) ? txn::SnapshotSource::Mode::call : txn::SnapshotSource::Mode::reads;
  options.worker.heartbeat_ns = draw.between(50, 2000) * kMicrosecond_ns;
  options.worker.index_reads = draw.chance(0.3) ? txn::IndexReads::calls : txn::IndexReads::leaves;
  const bool calls = options.worker.index_reads == txn::IndexReads::calls;
  options.worker.scan_reads = calls ? txn::ScanReads::calls : txn::ScanReads::buckets;
  options.worker.index_cache_bytes = draw.chance(0.3) ? 512 : 1U << 20;
  options.location_cache_bytes = draw.chance(0.5) ? 0 : 4096;
  options.worker.split_index_rows = draw.between(2, 20);
  options.worker.balance_bytes = draw.chance(0.5) ? 1 : 0;
  options.worker.balance_interval_ns = draw.between(1, 20) * kMillisecond_ns;
  return options;
}

struct Counts {
  std::uint64_t committed = 0;
  std::uint64_t ended = 0;  // transactions
};

reactor::Task<void> index_client(IndexWorkload* workload, compute::Worker* worker, std::uint64_t seed,
                                 std::uint64_t transactions, Counts* counts) {
  Random draw(seed);
  const auto session = worker->open_session();
  for (std::uint64_t i = 0; i < transactions && workload->anomaly().empty(); ++i) {
    if (draw.chance(0.08)) co_await workload->change_indexes(worker, &draw);
    const bool ok = co_await workload->run_one(worker, session.get(), &draw);
    ++counts->ended;
    if (ok) {
      ++counts->committed;
    } else {
      co_await worker->backoff(1);
    }
  }
}

class IndexRun final : SeededRun {
 public:
  IndexRun(std::uint64_t seed, const Database& database, IndexTrouble trouble, Interposer* interposer,
           IndexVerdict& verdict)
      : SeededRun(seed, seed * 15'485'863,
                  {fabric::sim::SimOptions::swarm,
                   [&database](Random& draw) { return indexed_cluster(draw, database); }, interposer,
                   kIndexLimit_ns},
                  verdict.anomaly),
        trouble_(trouble),
        verdict_(verdict),
        workload_(draw_.between(10, 60)) {}

  void go() {
    const std::size_t computes = draw_.between(1, 3);
    for (std::size_t i = 0; i < computes; ++i) cluster_.add_compute();
    const Status loaded = await(0, workload_.load(&cluster_.worker(0)));
    if (!loaded.ok()) return fail("load: " + loaded.to_string());
    for (std::size_t i = 0; i < computes; ++i) start_clients(i);
    const Progress ended = [this] { return counts_.ended; };
    if (trouble_ == IndexTrouble::kills)
      kill_some(computes, ended, [this](std::size_t i) { start_clients(i); });
    // Long ones: until others read entries that were sent ahead of their locks.
    if (trouble_ == IndexTrouble::pauses)
      pause_some(computes, ended, (draw_.chance(0.25) ? 200 : 20) * kMillisecond_ns);
    await_clients();
    finish();
    verdict_.committed = counts_.committed;
    verdict_.compared = workload_.compared();
    verdict_.duplicates = workload_.duplicates();
    verdict_.built = workload_.built();
    verdict_.rebuilt = workload_.rebuilt();
    verdict_.in_parts = workload_.in_parts();
    verdict_.fingerprint = world_.fingerprint();
  }

 private:
  void start_clients(std::size_t compute) {
    for (std::uint64_t i = draw_.between(1, 3); i > 0; --i) {
      start_client(compute, index_client(&workload_, &cluster_.worker(compute), draw_.next(),
                                         draw_.between(10, 40), &counts_));
    }
  }

  // No entry is in doubt, and every index has one for each row: none is left over, none is missing.
  std::string leftovers() {
    std::map<std::uint32_t, std::uint64_t> entries;  // by index
    const memory::Catalog& catalog = *cluster_.memory(0).server->catalog();
    for (const auto& [id, index] : catalog.indexes_beside())
      return "index " + index.name() + " is there twice: " + std::to_string(id);
    std::set<std::uint32_t> known;
    for (const auto& [name, index] : catalog.indexes()) known.insert(index.id());
    for (std::uint32_t i = 0; i < cluster_.options().memory_servers; ++i) {
      const memory::Indexes& indexes = cluster_.memory(i).server->indexes();
      for (const auto& [id, index] : indexes.all()) {
        const std::size_t doubts = indexes.doubts().count(id);
        if (doubts != 0) {
          return std::to_string(doubts) + " entries of index " + index->name + " on server " +
                 std::to_string(i) + " stay in doubt" + (index->building() ? ", it is building" : "") +
                 (indexes.doubts().aging() ? ", some wait to go" : "");
        }
        if (index->discarded) continue;
        if (!known.contains(id)) return "server " + std::to_string(i) + " keeps index " + index->name;
        if (!index->building()) entries[id] += index->tree->entries();
      }
    }
    for (const auto& [name, table] : catalog.tables()) {
      if (table.has_hash_index() && table.hash_index().state() != control::INDEX_READY)
        return "hash index " + name + " is never ready";
    }
    if (catalog.tables().contains(IndexWorkload::kAside) !=
        catalog.indexes().contains(IndexWorkload::kAsideCode))
      return "a table and the index of its constraint are not there together";
    for (const auto& [name, index] : catalog.indexes()) {
      if (name == IndexWorkload::kAsideCode) {
        if (!entries.contains(index.id())) return "no server has index " + name;
        continue;
      }
      if (entries[index.id()] == workload_.rows()) continue;
      return "index " + name + " has " + std::to_string(entries[index.id()]) + " entries for " +
             std::to_string(workload_.rows()) + " rows";
    }
    return {};
  }

  void finish() {
    const std::size_t last = survivor();
    if (!workload_.anomaly().empty()) fail(workload_.anomaly());
    if (sound()) {
      const Status touched = await(last, workload_.touch_all(&cluster_.worker(last)));
      if (!touched.ok()) fail("after the run: " + touched.to_string());
      const Status compared = await(last, workload_.compare_all(&cluster_.worker(last)));
      if (!compared.ok()) fail("after the run: " + compared.to_string());
      if (!workload_.anomaly().empty()) fail("after the run: " + workload_.anomaly());
    }
    if (sound() && !world_.run_until([&] { return leftovers().empty(); }, 60 * kSecond_ns)) {
      fail("after the run: " + leftovers());
    }
    for (std::uint32_t i = 0; i < cluster_.options().memory_servers; ++i) {
      verdict_.removed += cluster_.memory(i).server->indexes().removed();
    }
    stop_and_check_regions();
  }

  IndexTrouble trouble_;
  IndexVerdict& verdict_;
  IndexWorkload workload_;
  Counts counts_;
};

}  // namespace

IndexVerdict run_indexes(std::uint64_t seed, IndexTrouble trouble, Interposer* interposer,
                         std::string_view protocol, protocol::StageCode stages) {
  IndexVerdict verdict;
  const Database database{protocol, stages};
  IndexRun run(seed, database, trouble, interposer, verdict);
  run.go();
  return verdict;
}

}  // namespace namdb::sim
