// Damaged bytes in a region: their readers, and no other transactions, soon get an error. The intermediate
// states of writers are never taken for damage.
#include <bit>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>

#include "common/layout/placement.h"
#include "tools/namsim/cluster/cluster.h"
#include "tools/namsim/testing/seeds.h"
#include "tools/namsim/workloads/tables.h"

namespace namdb::sim {
namespace {

using fabric::sim::SimOptions;
using fabric::sim::SimWorld;
using reactor::Task;

constexpr const char* kTable = "rows";
constexpr std::uint64_t kMaxTransaction_ns = 10 * kSecond_ns;
constexpr std::uint64_t kSoon_ns = 10 * kMillisecond_ns;

ClusterOptions options_of(std::string_view protocol, std::string_view stages) {
  ClusterOptions options;
  options.region_bytes = 64U << 20;
  options.memory.protocol = protocol;
  options.memory.stages = *protocol::StageCode::parse(stages);
  options.memory.max_transaction_ns = kMaxTransaction_ns;
  return options;
}

Task<Status> create_rows(txn::Engine* engine, std::int64_t rows, std::uint64_t size_hint_rows) {
  layout::Schema schema = bigints({"id", "value"});
  Status status = co_await create_table(*engine, kTable, std::move(schema), size_hint_rows, 4);
  if (!status.ok()) co_return status;
  const auto session = engine->open_session();
  const auto table = co_await engine->table(kTable);
  if (!table.ok()) co_return table.status();
  for (std::int64_t id = 0; id < rows; ++id) {
    const auto transaction = engine->begin(*session);
    status = insert_pair(*transaction, *table, id, 0);
    if (status.ok()) status = co_await transaction->fetch();
    if (status.ok()) status = co_await transaction->commit();
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

Task<Status> look_at(txn::Engine* engine, std::int64_t id) {
  const auto session = engine->open_session();
  const auto transaction = engine->begin(*session);
  const auto table = co_await engine->table(kTable);
  if (!table.ok()) co_return table.status();
  const txn::RowId row = transaction->read(*table, key_of((*table)->schema, id).bytes());
  Status status = co_await transaction->fetch();
  if (status.ok() && !transaction->found(row)) status = Status(ErrorCode::internal, "not found");
  if (status.ok()) status = co_await transaction->commit();
  co_return status;
}

Task<Status> change(txn::Engine* engine, std::int64_t id) {
  const auto session = engine->open_session();
  const auto transaction = engine->begin(*session);
  const auto table = co_await engine->table(kTable);
  if (!table.ok()) co_return table.status();
  const txn::RowId row = transaction->get(*table, key_of((*table)->schema, id).bytes());
  Status status = co_await transaction->fetch();
  if (!status.ok()) co_return status;
  if (!transaction->found(row)) co_return Status(ErrorCode::internal, "not found");
  const std::int64_t value = transaction->row(row).integer(1);
  status = transaction->update(row).set_integer(1, value + 1);
  if (!status.ok()) co_return status;
  co_return co_await transaction->commit();
}

Task<Status> scan(txn::Engine* engine, std::size_t* count) {
  const auto session = engine->open_session();
  const auto transaction = engine->begin(*session);
  const auto table = co_await engine->table(kTable);
  if (!table.ok()) co_return table.status();
  const auto scan = transaction->scan(*table);
  std::vector<layout::Row> rows;
  do {
    Status status = co_await scan->next(rows);
    if (!status.ok()) co_return status;
    *count += rows.size();
  } while (!rows.empty());
  co_return co_await transaction->commit();
}

// A compute server that has used the table, and another that has not.
class DamagedTable {
 public:
  explicit DamagedTable(const ClusterOptions& options, std::int64_t rows = 4,
                        std::uint64_t size_hint_rows = 1024)
      : world_(1), cluster_(world_, options) {
    cluster_.add_compute();
    cluster_.add_compute();
    REQUIRE(run(0, create_rows(&engine(0), rows, size_hint_rows)).ok());
  }

  void pause() { world_.run_for(kMillisecond_ns); }
  txn::Engine& engine(std::size_t compute) { return cluster_.worker(compute); }
  std::uint64_t damaged_reads(std::size_t compute) { return cluster_.worker(compute).damaged_reads(); }
  template <typename T>
  T run(std::size_t compute, Task<T> task) {
    return world_.run(cluster_.node(compute), std::move(task));
  }
  // Ends in corrupt_data soon, which says so of that; counted.
  void check_damaged(std::size_t compute, Task<Status> task, const std::string& what) {
    const std::uint64_t before = damaged_reads(compute);
    const std::uint64_t began_ns = world_.now_ns();
    const Status status = run(compute, std::move(task));
    CHECK(world_.now_ns() - began_ns < kSoon_ns);
    INFO(status.to_string());
    REQUIRE_FALSE(status.ok());
    CHECK(status.code() == ErrorCode::corrupt_data);
    CHECK(status.message() == what + " is damaged");
    CHECK(damaged_reads(compute) == before + 1);
  }
  void check_all_readable(std::size_t compute) {
    std::size_t count = 0;
    CHECK(run(compute, scan(&engine(compute), &count)).ok());
    CHECK(count == 4);
    CHECK(run(compute, change(&engine(compute), 1)).ok());
  }

  storage::TableRef table() {
    auto table = run(0, engine(0).table(kTable));
    REQUIRE(table.ok());
    return *table;
  }
  // The key's record; the bucket whose entry leads there, if wanted.
  std::uint64_t record_of(std::int64_t id, std::uint64_t* bucket_offset = nullptr) {
    const storage::TableRef rows = table();
    const std::uint64_t hash = rows->hash_of(key_of(rows->schema, id).bytes());
    std::uint64_t offset = rows->arrays[0].bucket_offset(rows->arrays[0].index_of(hash, 1));
    while (offset != 0) {
      layout::Bucket bucket;
      std::memcpy(&bucket, std::as_bytes(std::span(&word(offset), 1)).data(), sizeof bucket);
      if (bucket.forwarded()) return 0;
      if (bucket_offset != nullptr) *bucket_offset = offset;
      for (const layout::BucketEntry& entry : bucket.entries) {
        if (entry.key_hash == hash) return entry.offset();
      }
      offset = bucket.next_offset;
    }
    return 0;
  }
  bool is_main(std::uint64_t bucket_offset) {
    const layout::BucketArray& array = table()->arrays[0];
    return bucket_offset >= array.base_offset && bucket_offset < array.base_offset + array.bytes();
  }
  void flip(std::uint64_t offset, int bit) { word(offset) ^= std::uint64_t{1} << bit; }
  std::string place(const char* what, std::uint64_t offset) {
    char text[32];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(offset));
    return std::string(what) + " of table \"rows\" at server 0, offset " + text;
  }

 private:
  std::uint64_t& word(std::uint64_t offset) { return cluster_.memory(0).words[offset / 8]; }

  SimWorld world_;
  Cluster cluster_;
};

}  // namespace

TEST_CASE("a damaged record is reported to all who read it, and other rows are as before", "[damage]") {
  const std::string protocol =
      GENERATE("si", "occ", "nowait", "waitdie", "mvcc", "sundial", "drtm", "calvin");
  const std::string stages = GENERATE("one-sided", "two-sided");
  CAPTURE(protocol, stages);
  DamagedTable rows(options_of(protocol, stages));
  const std::uint64_t record = rows.record_of(2);
  REQUIRE(record != 0);
  const std::string what = rows.place("a record", record);
  rows.flip(record + 8 + layout::kBodyPrefix_bytes, 17);
  for (const std::size_t compute : {0U, 1U}) {  // it remembers the record's place; it does not
    CAPTURE(compute);
    txn::Engine* const engine = &rows.engine(compute);
    for (int again = 0; again < 2; ++again) {
      rows.check_damaged(compute, look_at(engine, 2), what);
      rows.check_damaged(compute, change(engine, 2), what);
    }
    std::size_t count = 0;
    rows.check_damaged(compute, scan(engine, &count), what);
    CHECK(rows.run(compute, look_at(engine, 1)).ok());
    CHECK(rows.run(compute, change(engine, 3)).ok());
    rows.pause();
    CHECK(rows.damaged_reads(compute) == 5);
  }
  // Nothing was left behind there.
  rows.flip(record + 8 + layout::kBodyPrefix_bytes, 17);
  for (const std::size_t compute : {0U, 1U}) {
    const Status status = rows.run(compute, change(&rows.engine(compute), 2));
    INFO(status.to_string());
    CHECK(status.ok());
    rows.pause();  // until the commit's locks are released
  }
  rows.check_all_readable(1);
}

TEST_CASE("a damaged header word is reported where it decides", "[damage]") {
  const std::string protocol = GENERATE("occ", "nowait", "waitdie", "mvcc", "sundial", "drtm", "calvin");
  CAPTURE(protocol);
  DamagedTable rows(options_of(protocol, "one-sided"));
  const std::uint64_t record = rows.record_of(2);
  const layout::HeaderWord header = layout::HeaderWord(layout::Stamp{1, 2}, false);
  const layout::HeaderWord other = layout::HeaderWord(layout::Stamp{1, 3}, false);
  const int bit = std::countr_zero(header.value() ^ other.value());
  rows.flip(record, bit);
  for (const std::size_t compute : {0U, 1U}) {
    rows.check_damaged(compute, look_at(&rows.engine(compute), 2), rows.place("a record", record));
    rows.check_damaged(compute, change(&rows.engine(compute), 2), rows.place("a record", record));
  }
}

TEST_CASE("a damaged bucket is reported to all who look for rows there", "[damage]") {
  const std::string protocol = GENERATE("si", "nowait", "mvcc");
  const std::string stages = GENERATE("one-sided", "two-sided");
  const bool main = GENERATE(true, false);
  CAPTURE(protocol, stages, main);
  ClusterOptions options = options_of(protocol, stages);
  options.memory.growth_percent = 100'000;  // chains, and no doubling
  constexpr std::int64_t kMany = 60;
  DamagedTable rows(options, kMany, 1);
  std::uint64_t bucket = 0;
  std::int64_t id = -1;
  std::int64_t elsewhere = -1;
  for (std::int64_t each = 0; each < kMany; ++each) {
    std::uint64_t its_bucket = 0;
    REQUIRE(rows.record_of(each, &its_bucket) != 0);
    if (rows.is_main(its_bucket) == main) {
      id = each;
      bucket = its_bucket;
    } else if (!main) {
      elsewhere = each;
    }
  }
  REQUIRE(id != -1);
  const std::string what = rows.place("a bucket", bucket);
  rows.flip(bucket + layout::kBucketBody_offset + 16, 40);
  txn::Engine* const stranger = &rows.engine(1);
  std::size_t count = 0;
  rows.check_damaged(1, scan(stranger, &count), what);
  rows.check_damaged(1, look_at(stranger, id), what);
  rows.check_damaged(1, change(stranger, id), what);
  if (elsewhere != -1) CHECK(rows.run(1, look_at(stranger, elsewhere)).ok());
}

namespace {

struct Busy {
  bool ended = false;
  std::uint64_t commits = 0;
  std::uint64_t looks = 0;
  std::optional<Status> corrupt;

  void saw(const Status& status, std::uint64_t& count) {
    if (status.ok()) ++count;
    if (!status.ok() && status.code() == ErrorCode::corrupt_data) corrupt = status;
  }
};

Task<void> keep_writing(txn::Engine* engine, Busy* busy) {
  while (!busy->ended) busy->saw(co_await change(engine, 0), busy->commits);
}
// Also makes bucket chains longer, in the middle of which others look.
Task<void> keep_inserting(txn::Engine* engine, std::int64_t first, Busy* busy) {
  const auto session = engine->open_session();
  for (std::int64_t id = first; !busy->ended; ++id) {
    const auto table = co_await engine->table(kTable);
    if (!table.ok()) continue;
    const auto transaction = engine->begin(*session);
    Status status = insert_pair(*transaction, *table, id, 0);
    if (status.ok()) status = co_await transaction->fetch();
    if (status.ok()) status = co_await transaction->commit();
    busy->saw(status, busy->commits);
  }
}
Task<void> keep_looking(txn::Engine* engine, Busy* busy) {
  while (!busy->ended) {
    busy->saw(co_await look_at(engine, 0), busy->looks);
    std::size_t count = 0;
    busy->saw(co_await scan(engine, &count), busy->looks);
  }
}

}  // namespace

TEST_CASE("records under a writer are not taken for damage, however READs are torn", "[damage]") {
  const std::string protocol =
      GENERATE("si", "occ", "nowait", "waitdie", "mvcc", "sundial", "drtm", "calvin");
  const std::string stages = GENERATE("one-sided", "two-sided");
  const Seeds seeds(4);
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    CAPTURE(protocol, stages, seed);
    SimOptions network;
    network.tear_steps = 8;
    network.tear_gap_ns = 1'000;
    network.long_tear = 0.3;
    network.long_tear_gap_ns = 50'000;
    SimWorld world(seed, network);
    Cluster cluster(world, options_of(protocol, stages));
    for (int i = 0; i < 3; ++i) cluster.add_compute();
    REQUIRE(world.run(cluster.node(0), create_rows(&cluster.worker(0), 4, 1)).ok());
    Busy busy;
    reactor::Gate gates[3];
    cluster.node(0).spawn(gates[0], keep_writing(&cluster.worker(0), &busy));
    cluster.node(0).spawn(gates[0], keep_inserting(&cluster.worker(0), 100, &busy));
    cluster.node(1).spawn(gates[1], keep_writing(&cluster.worker(1), &busy));
    cluster.node(2).spawn(gates[2], keep_looking(&cluster.worker(2), &busy));
    world.run_for(100 * kMillisecond_ns);
    busy.ended = true;
    REQUIRE(world.run_until(
        [&] { return gates[0].count() == 0 && gates[1].count() == 0 && gates[2].count() == 0; }));
    INFO((busy.corrupt ? busy.corrupt->to_string() : ""));
    CHECK_FALSE(busy.corrupt.has_value());
    for (int i = 0; i < 3; ++i) CHECK(cluster.worker(i).damaged_reads() == 0);
    CHECK(busy.commits > 50);
    CHECK(busy.looks > 4);
  }
}

}  // namespace namdb::sim
