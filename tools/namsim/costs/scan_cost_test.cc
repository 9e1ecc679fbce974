// The cost of scans of whole tables in READs: noise-free, and asserted.
#include <catch2/catch.hpp>

#include "compute/api/column_scan.h"
#include "tools/namsim/cluster/cluster.h"
#include "tools/namsim/testing/pairs_table.h"
#include "tools/namsim/workloads/tables.h"

namespace namdb::sim {
namespace {

using reactor::Task;

constexpr std::int64_t kRows = 20'000;
// Main buckets are READ in runs of 128 already.
constexpr std::uint64_t kMostBucketReads = 200;

struct Scanned {
  std::uint64_t reads = 0;
  std::uint64_t calls = 0;
  std::uint64_t call_bytes = 0;
  std::int64_t rows = 0;
  std::int64_t sum = 0;  // of ids
};

// All rows, or no more steps than that.
Task<Result<Scanned>> scan(txn::Engine* engine, std::int64_t most_rows, bool counts_only) {
  auto table = co_await engine->table(kPairs);
  const auto session = engine->open_session();
  const auto transaction = engine->begin(*session);
  const auto scan = transaction->scan(*table);
  if (counts_only) txn::only_columns(scan.get(), {});
  Scanned scanned;
  std::vector<layout::Row> rows;
  do {
    Status status = co_await scan->next(rows);
    if (!status.ok()) co_return status;
    for (const layout::Row& row : rows) scanned.sum += row.view().integer(0);
    scanned.rows += static_cast<std::int64_t>(rows.size());
  } while (!rows.empty() && scanned.rows < most_rows);
  scanned.reads = transaction->counters().reads;
  scanned.calls = transaction->counters().calls;
  scanned.call_bytes = transaction->counters().call_bytes;
  co_return scanned;
}

Task<Status> erase_even(txn::Engine* engine) {
  auto table = co_await engine->table(kPairs);
  const auto session = engine->open_session();
  Status status;
  for (std::int64_t first = 0; first < kRows && status.ok(); first += 500) {
    const auto transaction = engine->begin(*session);
    std::vector<txn::RowId> rows;
    for (std::int64_t id = first; id < first + 500; id += 2)
      rows.push_back(transaction->get(*table, key_of((*table)->schema, id).bytes()));
    status = co_await transaction->fetch();
    if (!status.ok()) break;
    for (const txn::RowId row : rows) transaction->erase(row);
    status = co_await transaction->commit();
  }
  co_return status;
}

struct Table {
  explicit Table(txn::ScanReads reads = txn::ScanReads::buckets)
      : world(1), cluster(world, options(reads)), compute(cluster.add_compute()) {
    REQUIRE(world.run(cluster.node(compute), load_pairs(engine(), kRows, 500)).ok());
  }
  static ClusterOptions options(txn::ScanReads reads) {
    ClusterOptions options;
    options.worker.scan_reads = reads;
    options.region_bytes = 64U << 20;
    options.location_cache_bytes = 4U << 20;
    return options;
  }
  txn::Engine* engine() { return &cluster.worker(compute); }
  Scanned scan_rows(std::int64_t most_rows = kRows + 1, bool counts_only = false) {
    const auto scanned = world.run(cluster.node(compute), scan(engine(), most_rows, counts_only));
    INFO(scanned.status().to_string());
    REQUIRE(scanned.ok());
    return *scanned;
  }

  fabric::sim::SimWorld world;
  Cluster cluster;
  std::size_t compute;
};

}  // namespace

TEST_CASE("a scan of small rows brings at least 50 with a READ", "[cost]") {
  Table table;
  const Scanned all = table.scan_rows();
  INFO(all.reads << " READs");
  CHECK(all.rows == kRows);
  CHECK(all.sum == kRows * (kRows - 1) / 2);
  CHECK(all.reads <= kRows / 50 + kMostBucketReads);

  // Records that are not wanted lie between the others.
  REQUIRE(table.world.run(table.cluster.node(table.compute), erase_even(table.engine())).ok());
  const Scanned odd = table.scan_rows();
  INFO(odd.reads << " READs of half of the rows");
  CHECK(odd.rows == kRows / 2);
  CHECK(odd.sum == kRows * kRows / 4);
  CHECK(odd.reads <= kRows / 50 + kMostBucketReads);
}

TEST_CASE("a scan by calls READs nothing, and brings little more than the wanted parts of rows", "[cost]") {
  Table table(txn::ScanReads::calls);
  const Scanned all = table.scan_rows();
  INFO(all.reads << " READs, " << all.calls << " calls, " << all.call_bytes << " bytes");
  CHECK(all.rows == kRows);
  CHECK(all.sum == kRows * (kRows - 1) / 2);
  CHECK(all.reads <= 4);
  CHECK(all.calls <= 2 + kRows / 4000);
  CHECK(all.call_bytes <= 34 * kRows);  // a row has 24 bytes

  const Scanned count = table.scan_rows(kRows + 1, true);
  INFO(count.call_bytes << " bytes for a count");
  CHECK(count.rows == kRows);
  CHECK(count.call_bytes <= 9 * kRows);

  const Scanned some = table.scan_rows(1);
  CHECK(some.rows >= 1);
  CHECK(some.calls <= 2);

  // A deleted row is one header word; its place is examined, too.
  REQUIRE(table.world.run(table.cluster.node(table.compute), erase_even(table.engine())).ok());
  const Scanned odd = table.scan_rows();
  CHECK(odd.rows == kRows / 2);
  CHECK(odd.sum == kRows * kRows / 4);
  CHECK(odd.reads <= 4);
}

TEST_CASE("the first rows of a scan come before the places of all others are known", "[cost]") {
  Table table;
  const Scanned some = table.scan_rows(1);
  CHECK(some.rows >= 1);
  CHECK(some.reads <= 270);
}

}  // namespace namdb::sim
