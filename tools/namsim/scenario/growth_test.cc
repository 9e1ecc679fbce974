// Tables that outgrow their buckets while transactions run (memory/reclaim/table_growth.h): many seeds, each
// a whole cluster. NAMDB_SEEDS and NAMDB_FIRST_SEED run more than the fixed ones.
#include <catch2/catch.hpp>

#include "common/layout/key.h"
#include "tools/namsim/scenario/growth_run.h"
#include "tools/namsim/testing/seeds.h"
#include "tools/namsim/workloads/tables.h"

namespace namdb::sim {
namespace growth_test {

void run_seeds(GrowthTrouble trouble, std::uint64_t default_count) {
  const auto [first, count] = Seeds(default_count);
  std::uint64_t committed = 0;
  std::uint64_t doublings = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const GrowthVerdict verdict = run_growth(seed, trouble);
    INFO("seed " << seed << ": " << verdict.anomaly);
    REQUIRE(verdict.anomaly.empty());
    committed += verdict.committed;
    doublings += verdict.doublings;
  }
  INFO(committed << " committed, " << doublings << " doublings");
  CHECK(committed > count * 5);
  if (trouble != GrowthTrouble::drop) CHECK(doublings > count * 3);
}

reactor::Task<Status> create(compute::Worker* worker, std::string name, std::uint64_t size_hint_rows) {
  const layout::Schema schema = bigints({"id", "value"});
  co_return co_await create_table(*worker, std::move(name), schema, size_hint_rows, 1);
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

TEST_CASE("no row is lost, doubled or out of date while tables outgrow their buckets", "[growth]") {
  run_seeds(GrowthTrouble::none, 150);
}

TEST_CASE("growth survives the death of compute servers, and ends", "[growth]") {
  run_seeds(GrowthTrouble::kills, 150);
}

TEST_CASE("growth does not mind compute servers that take no turn for a while", "[growth]") {
  run_seeds(GrowthTrouble::pauses, 100);
}

TEST_CASE("a table that is dropped while it grows gives all of its memory back", "[growth]") {
  run_seeds(GrowthTrouble::drop, 60);
}

TEST_CASE("the same seed gives the same growth", "[growth]") {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const GrowthVerdict first = run_growth(seed, GrowthTrouble::kills);
    const GrowthVerdict second = run_growth(seed, GrowthTrouble::kills);
    CHECK(first.fingerprint == second.fingerprint);
    CHECK(first.doublings == second.doublings);
  }
}

TEST_CASE("a table that outgrew its size hint by far costs about one bucket READ a lookup", "[growth]") {
  for (const std::uint32_t servers : {1U, 3U}) {
    fabric::sim::SimWorld world(servers);
    ClusterOptions options = growing_cluster();
    options.memory_servers = servers;
    options.location_cache_bytes = 0;
    Cluster cluster(world, options);
    cluster.add_compute();
    REQUIRE(world.run(cluster.node(0), create(&cluster.worker(0), "rows", 16)).ok());
    constexpr std::int64_t kRows = 5000;
    const Status inserted = world.run(cluster.node(0), insert_rows(&cluster.worker(0), "rows", 0, kRows));
    INFO(inserted.to_string());
    REQUIRE(inserted.ok());
    REQUIRE(world.run_until([&] { return look_at_growth(cluster).other_array_bytes == 0; }, 10 * kSecond_ns));
    CHECK(look_at_growth(cluster).doublings >= 7 * servers);
    const auto reads = world.run(cluster.node(0), bucket_reads(&cluster.worker(0), "rows", kRows));
    REQUIRE(reads.ok());
    INFO(*reads << " bucket READs of " << kRows << " lookups");
    CHECK(*reads >= kRows);
    CHECK(*reads < kRows * 5 / 4);
  }
}

TEST_CASE("growth aborts no transaction", "[growth]") {
  const auto [first, count] = Seeds(30);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    Random draw(seed * 32'452'843);
    fabric::sim::SimWorld world(seed, fabric::sim::SimOptions::swarm(draw));
    ClusterOptions options = growing_cluster();
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

TEST_CASE("without room for a larger array rows do without it, and growth comes when there is room",
          "[growth]") {
  fabric::sim::SimWorld world(1);
  ClusterOptions options = growing_cluster();
  options.region_bytes = 4U << 20;
  options.location_cache_bytes = 0;
  options.memory.growth_percent = 20;
  Cluster cluster(world, options);
  cluster.add_compute();
  compute::Worker* worker = &cluster.worker(0);
  // The next array takes 16 KiB, and is wanted when a fifth of 270 entries is used.
  REQUIRE(world.run(cluster.node(0), create(worker, "rows", 200)).ok());
  REQUIRE(world.run(cluster.node(0), insert_rows(worker, "rows", 0, 20)).ok());
  // Others leave what is reserved for old versions and less than twice the next array.
  const memory::ExtentAllocator& extents = cluster.memory(0).server->region().extents();
  const std::uint64_t left_bytes = extents.reserve() * extents.extent_bytes() + (28U << 10);
  std::vector<std::string> fillers;
  for (std::uint64_t rows = 4096; rows != 64; rows /= 2) {
    const std::uint64_t filler_bytes = rows * 32;  // and no more, up to a power of two
    while (cluster.memory(0).server->use().free_bytes >= left_bytes + filler_bytes) {
      fillers.push_back("filler" + std::to_string(fillers.size()));
      REQUIRE(world.run(cluster.node(0), create(worker, fillers.back(), rows)).ok());
    }
  }
  const Status inserted = world.run(cluster.node(0), insert_rows(worker, "rows", 20, 70));
  INFO(inserted.to_string());
  REQUIRE(inserted.ok());
  CHECK(look_at_growth(cluster).doublings == 0);
  for (const std::string& filler : fillers)
    REQUIRE(world.run(cluster.node(0), worker->drop_table(filler)).ok());
  REQUIRE(world.run_until([&] { return look_at_growth(cluster).doublings >= 1; }, 10 * kSecond_ns));
  REQUIRE(world.run_until([&] { return look_at_growth(cluster).other_array_bytes == 0; }, 10 * kSecond_ns));
  const auto reads = world.run(cluster.node(0), bucket_reads(worker, "rows", 90));
  REQUIRE(reads.ok());
  CHECK(*reads < 90 * 5 / 4);
}

}  // namespace growth_test
}  // namespace namdb::sim
