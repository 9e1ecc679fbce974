// Tables that outgrow their buckets while transactions run (memory/growth.h): many seeds, each a whole
// cluster. NAMDB_SEEDS and NAMDB_FIRST_SEED run more than the fixed ones.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "common/layout/key.h"
#include "tools/namsim/cluster.h"
#include "tools/namsim/growing_workload.h"
#include "tools/namsim/history/check.h"

namespace namdb::sim {
namespace {

std::uint64_t number_from_environment(const char* name, std::uint64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

ClusterOptions small_cluster() {
  ClusterOptions options;
  options.memory.extent_bytes = 64U << 10;
  options.memory.journal_bytes = 128U << 10;
  options.memory.max_transaction_ns = 10 * kSecond_ns;
  options.memory.collect_interval_ns = kMillisecond_ns;
  options.memory.reuse_interval_ns = kMillisecond_ns;
  options.memory.growth_interval_ns = kMillisecond_ns;
  options.worker.heartbeat_ns = kMillisecond_ns;
  return options;
}

ClusterOptions hostile_cluster(Random& draw) {
  ClusterOptions options = small_cluster();
  options.memory_servers = static_cast<std::uint32_t>(draw.between(1, 3));
  options.memory = memory::swarm_options(draw, 0.3);
  options.memory.extent_bytes = 64U << 10;
  options.memory.journal_bytes = 128U << 10;
  options.memory.max_transaction_ns = 10 * kSecond_ns;
  options.memory.heartbeat_timeout_ns = 0;
  options.memory.growth_percent = draw.chance(0.5) ? 100 : 20;
  options.memory.growth_interval_ns = draw.between(1, 1000) * kMicrosecond_ns;
  options.memory.collect_interval_ns = draw.between(20, 500) * kMicrosecond_ns;
  options.memory.reuse_interval_ns = options.memory.collect_interval_ns;
  options.worker.snapshot_mode =
      draw.chance(0.5) ? txn::SnapshotSource::Mode::call : txn::SnapshotSource::Mode::reads;
  options.worker.heartbeat_ns = draw.between(50, 2000) * kMicrosecond_ns;
  // Rows are looked for in their buckets again and again.
  options.location_cache_bytes = draw.chance(0.5) ? 0 : 4096;
  return options;
}

struct Seen {
  std::uint64_t doublings = 0;
  std::uint64_t other_array_bytes = 0;
};

// Of all tables on all memory servers.
Seen look(Cluster& cluster, std::uint32_t servers) {
  Seen seen;
  for (std::uint32_t i = 0; i < servers; ++i) {
    const control::StatusReply status = cluster.memory(i).server->status();
    for (const control::TableUse& table : status.tables()) {
      seen.doublings += table.doublings();
      seen.other_array_bytes += table.other_array_bytes();
    }
  }
  return seen;
}

std::uint64_t table_bytes(Cluster& cluster, std::uint32_t servers) {
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < servers; ++i) bytes += cluster.memory(i).server->use().table_bytes;
  return bytes;
}

enum class Trouble : std::uint8_t { none, kills, drop };

struct Run {
  std::uint64_t seed;
  Trouble trouble;
  std::uint64_t committed = 0;
  std::uint64_t doublings = 0;
  std::uint64_t fingerprint = 0;
  std::string anomaly;
};

reactor::Task<void> client(GrowingWorkload* workload, compute::Worker* worker, std::uint64_t session_id,
                           std::uint64_t transactions, const bool* dropped, std::uint64_t* committed,
                           std::uint64_t* running) {
  {
    const auto session = worker->open_session();
    for (std::uint64_t i = 0; i < transactions && workload->anomaly().empty() && !*dropped; ++i) {
      const bool ok = co_await workload->run_one(*worker, *session, session_id);
      if (ok) {
        ++*committed;
      } else {
        co_await worker->backoff(1);
      }
    }
  }
  --*running;
}

class GrowthRun {
 public:
  explicit GrowthRun(Run& run)
      : run_(run),
        draw_(run.seed * 15'485'863),
        world_(run.seed, network(draw_)),
        options_(hostile_cluster(draw_)),
        cluster_(world_, options_),
        workload_(world_, history_,
                  {.groups = draw_.between(2, 12), .keys_per_group = draw_.between(8, 40)}) {}

  void execute() {
    const std::size_t computes = draw_.between(1, 3);
    for (std::size_t i = 0; i < computes; ++i) cluster_.add_compute();
    const std::uint64_t before_bytes = table_bytes(cluster_, options_.memory_servers);
    const Status loaded = world_.run(cluster_.node(0), workload_.load(cluster_.worker(0)));
    if (!loaded.ok()) return fail("load: " + loaded.to_string());
    for (std::size_t i = 0; i < computes; ++i) start_clients(i);
    if (run_.trouble == Trouble::kills) kill_some(computes);
    if (run_.trouble == Trouble::drop) drop(before_bytes);
    if (!world_.run_until([&] { return running_ == 0; }, 600 * kSecond_ns))
      fail("the clients did not finish");
    if (run_.trouble != Trouble::drop) finish();
    run_.fingerprint = world_.fingerprint();
  }

 private:
  static fabric::sim::SimOptions network(Random& draw) {
    fabric::sim::SimOptions network = fabric::sim::SimOptions::swarm(draw);
    if (draw.chance(0.3)) {
      // READs so slow that a chain can be moved between two words of a bucket.
      network.tear_steps = 8;
      network.tear_gap_ns = 50'000;
    }
    return network;
  }

  void fail(const std::string& what) {
    if (run_.anomaly.empty()) run_.anomaly = what;
  }

  void start_clients(std::size_t compute) {
    gates_.push_back(std::make_unique<reactor::Gate>());
    const std::uint64_t clients = draw_.between(1, 3);
    for (std::uint64_t i = 0; i < clients; ++i) {
      ++running_;
      cluster_.node(compute).spawn(
          *gates_.back(), client(&workload_, &cluster_.worker(compute), sessions_++, draw_.between(10, 40),
                                 &dropped_, &run_.committed, &running_));
    }
  }

  void kill_some(std::size_t computes) {
    for (int kill = 0; kill < 2; ++kill) {
      const std::size_t victim = kill == 0 ? 0 : computes;
      const std::uint64_t before = history_.transactions().size() + draw_.between(1, 30);
      world_.run_until([&] { return history_.transactions().size() >= before || running_ == 0; });
      world_.run_for(draw_.below(50'000));
      if (running_ == 0) return;
      running_ -= gates_[victim]->count();
      cluster_.kill_compute(victim);
      fabric::sim::SimWorld::bury(std::move(gates_[victim]));
      start_clients(cluster_.add_compute());
    }
  }

  // Drops both tables, in mid-growth if there is any: all of their memory comes back.
  void drop(std::uint64_t before_bytes) {
    const bool growing = draw_.chance(0.7);
    world_.run_until([&] {
      return running_ == 0 || (growing ? look(cluster_, options_.memory_servers).other_array_bytes > 0
                                       : history_.transactions().size() > 20);
    });
    world_.run_for(draw_.below(20'000));
    dropped_ = true;  // from here on clients meet what may be an error
    const std::string anomaly = workload_.anomaly();
    for (const char* table : {GrowingWorkload::kTable, GrowingWorkload::kGroups}) {
      const Status status = world_.run(cluster_.node(0), cluster_.worker(0).drop_table(table));
      if (!status.ok()) fail("drop: " + status.to_string());
    }
    if (!world_.run_until([&] { return running_ == 0; }, 600 * kSecond_ns))
      fail("the clients did not finish");
    if (!anomaly.empty()) fail(anomaly);
    const auto given_back = [&] { return table_bytes(cluster_, options_.memory_servers) == before_bytes; };
    if (!world_.run_until(given_back, 60 * kSecond_ns)) fail("memory of a dropped table does not come back");
  }

  void finish() {
    std::size_t survivor = 0;
    while (!cluster_.alive(survivor)) ++survivor;
    if (!workload_.anomaly().empty()) fail(workload_.anomaly());
    if (run_.anomaly.empty()) {
      const Status touched =
          world_.run(cluster_.node(survivor), workload_.touch_all(cluster_.worker(survivor)));
      if (!touched.ok()) fail("after the run: " + touched.to_string());
    }
    if (run_.anomaly.empty()) {
      fail(history::first_anomaly(history::check(history_, {.all_reads = true}), history_));
    }
    // Growth comes to an end, and old arrays are given back.
    const auto settled = [&] { return look(cluster_, options_.memory_servers).other_array_bytes == 0; };
    if (run_.anomaly.empty() && !world_.run_until(settled, 60 * kSecond_ns)) fail("growth does not end");
    run_.doublings = look(cluster_, options_.memory_servers).doublings;
    for (std::size_t i = 0; i < cluster_.computes(); ++i) {
      if (!cluster_.alive(i) || cluster_.stop_compute(i, 600 * kSecond_ns)) continue;
      fail("a compute server does not stop");
    }
    if (run_.anomaly.empty()) fail(cluster_.check_at_rest(600 * kSecond_ns));
  }

  Run& run_;
  Random draw_;
  fabric::sim::SimWorld world_;
  ClusterOptions options_;
  Cluster cluster_;
  history::History history_{history::Model::registers};
  GrowingWorkload workload_;
  bool dropped_ = false;
  std::uint64_t running_ = 0;
  std::uint64_t sessions_ = 0;
  std::vector<std::unique_ptr<reactor::Gate>> gates_;
};

void run_seeds(Trouble trouble, std::uint64_t default_count) {
  const std::uint64_t first = number_from_environment("NAMDB_FIRST_SEED", 1);
  const std::uint64_t count = number_from_environment("NAMDB_SEEDS", default_count);
  std::uint64_t committed = 0;
  std::uint64_t doublings = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    Run run{.seed = seed, .trouble = trouble};
    GrowthRun(run).execute();
    INFO("seed " << seed << ": " << run.anomaly);
    REQUIRE(run.anomaly.empty());
    committed += run.committed;
    doublings += run.doublings;
  }
  INFO(committed << " committed, " << doublings << " doublings");
  CHECK(committed > count * 5);
  if (trouble != Trouble::drop) CHECK(doublings > count * 3);
}

layout::Schema two_columns() {
  std::vector<layout::Column> columns(2);
  columns[0] = {.name = "id"};
  columns[1] = {.name = "value"};
  return std::move(*layout::Schema::create(std::move(columns), {0}));
}

reactor::Task<Status> create(compute::Worker* worker, std::string name, std::uint64_t size_hint_rows) {
  txn::TableOptions options;
  options.size_hint_rows = size_hint_rows;
  options.ring_slots = 1;
  co_return co_await worker->create_table(std::move(name), two_columns(), options);
}

// Inserts the rows in transactions of 50, none of which is tried twice.
reactor::Task<Status> insert_rows(compute::Worker* worker, std::string name, std::int64_t first,
                                  std::int64_t count) {
  const auto session = worker->open_session();
  auto table = co_await worker->table(name);
  if (!table.ok()) co_return table.status();
  for (std::int64_t begin = first; begin < first + count; begin += 50) {
    const auto transaction = worker->begin(*session);
    for (std::int64_t id = begin; id < std::min(begin + 50, first + count); ++id) {
      layout::Row row((*table)->schema);
      Status status = row.writer().set_integer(0, id);
      if (status.ok()) status = row.writer().set_integer(1, id);
      if (!status.ok()) co_return status;
      transaction->insert(*table, row.bytes());
    }
    Status status = co_await transaction->fetch();
    if (status.ok()) status = co_await transaction->commit();
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

// READs of buckets for all lookups together.
reactor::Task<Result<std::uint64_t>> bucket_reads(compute::Worker* worker, std::string name,
                                                  std::int64_t count) {
  const auto session = worker->open_session();
  auto table = co_await worker->table(name);
  if (!table.ok()) co_return table.status();
  std::uint64_t reads = 0;
  for (std::int64_t id = 0; id < count; ++id) {
    const auto transaction = worker->begin(*session);
    const txn::RowId row =
        transaction->get(*table, std::move(layout::Key((*table)->schema).integer(id)).bytes());
    const Status status = co_await transaction->fetch();
    if (!status.ok()) co_return status;
    if (!transaction->found(row)) co_return Status(ErrorCode::internal, "row " + std::to_string(id));
    // Two are the snapshot's, one is the record's.
    reads += transaction->counters().reads - 3;
  }
  co_return reads;
}

}  // namespace

TEST_CASE("no row is lost, doubled or out of date while tables outgrow their buckets", "[growth]") {
  run_seeds(Trouble::none, 150);
}

TEST_CASE("growth survives the death of compute servers, and ends", "[growth]") {
  run_seeds(Trouble::kills, 150);
}

TEST_CASE("a table that is dropped while it grows gives all of its memory back", "[growth]") {
  run_seeds(Trouble::drop, 60);
}

TEST_CASE("the same seed gives the same growth", "[growth]") {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Run first{.seed = seed, .trouble = Trouble::kills};
    Run second{.seed = seed, .trouble = Trouble::kills};
    GrowthRun(first).execute();
    GrowthRun(second).execute();
    CHECK(first.fingerprint == second.fingerprint);
    CHECK(first.doublings == second.doublings);
  }
}

TEST_CASE("a table that outgrew its size hint by far costs about one bucket READ a lookup", "[growth]") {
  for (const std::uint32_t servers : {1U, 3U}) {
    fabric::sim::SimWorld world(servers);
    ClusterOptions options = small_cluster();
    options.memory_servers = servers;
    options.location_cache_bytes = 0;
    Cluster cluster(world, options);
    cluster.add_compute();
    REQUIRE(world.run(cluster.node(0), create(&cluster.worker(0), "rows", 16)).ok());
    constexpr std::int64_t kRows = 5000;
    const Status inserted = world.run(cluster.node(0), insert_rows(&cluster.worker(0), "rows", 0, kRows));
    INFO(inserted.to_string());
    REQUIRE(inserted.ok());
    REQUIRE(world.run_until([&] { return look(cluster, servers).other_array_bytes == 0; }, 10 * kSecond_ns));
    CHECK(look(cluster, servers).doublings >= 7 * servers);
    const auto reads = world.run(cluster.node(0), bucket_reads(&cluster.worker(0), "rows", kRows));
    REQUIRE(reads.ok());
    INFO(*reads << " bucket READs of " << kRows << " lookups");
    CHECK(*reads >= kRows);
    CHECK(*reads < kRows * 5 / 4);
  }
}

TEST_CASE("growth aborts no transaction", "[growth]") {
  const std::uint64_t first = number_from_environment("NAMDB_FIRST_SEED", 1);
  const std::uint64_t count = number_from_environment("NAMDB_SEEDS", 30);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    Random draw(seed * 32'452'843);
    fabric::sim::SimWorld world(seed, fabric::sim::SimOptions::swarm(draw));
    ClusterOptions options = small_cluster();
    options.memory_servers = static_cast<std::uint32_t>(draw.between(1, 2));
    options.memory.growth_percent = draw.chance(0.5) ? 100 : 20;
    options.memory.step_units = draw.chance(0.5) ? 1 : 256;
    Cluster cluster(world, options);
    cluster.add_compute();
    REQUIRE(world.run(cluster.node(0), create(&cluster.worker(0), "rows", 16)).ok());
    const Status inserted = world.run(cluster.node(0), insert_rows(&cluster.worker(0), "rows", 0, 1000));
    INFO("seed " << seed << ": " << inserted.to_string());
    REQUIRE(inserted.ok());
  }
}

TEST_CASE("without room for a larger array rows go on into long chains, and growth comes when there is room",
          "[growth]") {
  fabric::sim::SimWorld world(1);
  ClusterOptions options = small_cluster();
  options.region_bytes = 4U << 20;
  options.location_cache_bytes = 0;
  Cluster cluster(world, options);
  cluster.add_compute();
  compute::Worker* worker = &cluster.worker(0);
  REQUIRE(world.run(cluster.node(0), create(worker, "rows", 16)).ok());
  // Journal and records have their first extents by now; another table takes the rest but for one, and for
  // what is reserved for old versions.
  REQUIRE(world.run(cluster.node(0), insert_rows(worker, "rows", 0, 20)).ok());
  const auto free_bytes = [&] { return cluster.memory(0).server->use().free_bytes; };
  const memory::Extents& extents = cluster.memory(0).server->region().extents();
  const std::uint64_t left_bytes = (extents.reserve() + 1) * extents.extent_bytes();
  const std::uint64_t filler_buckets = (free_bytes() - left_bytes) / layout::kBucket_bytes;
  REQUIRE(world.run(cluster.node(0), create(worker, "filler", (filler_buckets - 20) * 15 / 2)).ok());
  REQUIRE(free_bytes() == left_bytes);
  const Status inserted = world.run(cluster.node(0), insert_rows(worker, "rows", 20, 130));
  INFO(inserted.to_string());
  REQUIRE(inserted.ok());
  CHECK(look(cluster, 1).doublings == 0);
  auto reads = world.run(cluster.node(0), bucket_reads(worker, "rows", 150));
  REQUIRE(reads.ok());
  CHECK(*reads > 300);
  REQUIRE(world.run(cluster.node(0), worker->drop_table("filler")).ok());
  REQUIRE(world.run_until([&] { return look(cluster, 1).doublings >= 3; }, 10 * kSecond_ns));
  REQUIRE(world.run_until([&] { return look(cluster, 1).other_array_bytes == 0; }, 10 * kSecond_ns));
  reads = world.run(cluster.node(0), bucket_reads(worker, "rows", 150));
  REQUIRE(reads.ok());
  CHECK(*reads < 150 * 5 / 4);
}

}  // namespace namdb::sim
