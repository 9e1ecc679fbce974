// Transactions whose journal entries are too long for their slot's ring: they have a room of their own.
#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>

#include "compute/api/transaction.h"
#include "tools/namsim/cluster/cluster.h"
#include "tools/namsim/workloads/tables.h"

namespace namdb::sim {
namespace {

using fabric::sim::SimWorld;
using reactor::Task;

ClusterOptions small_cluster(std::uint64_t region_bytes) {
  ClusterOptions options;
  options.region_bytes = region_bytes;
  options.memory.extent_bytes = 64U << 10;
  options.memory.journal_bytes = 16U << 10;
  return options;
}

// Rows `first` to `first + count` - 1 in one transaction.
// `early`: its answer waits only for its log in memory.
Task<Status> insert_at_once(compute::Worker* worker, std::int64_t first, std::int64_t count,
                            std::int64_t value, bool early = false) {
  const auto session = worker->open_session();
  auto table = co_await worker->table("t");
  if (!table.ok()) co_return table.status();
  const auto transaction = worker->begin(*session);
  transaction->answer_when_logged(early);
  for (std::int64_t id = first; id < first + count; ++id) {
    Status status = insert_pair(*transaction, *table, id, value);
    if (!status.ok()) co_return status;
  }
  if (Status status = co_await transaction->fetch(); !status.ok()) co_return status;
  co_return co_await transaction->commit();
}

// Adds one to each row's value, in one transaction.
Task<Status> update_at_once(compute::Worker* worker, std::int64_t count) {
  const auto session = worker->open_session();
  auto table = co_await worker->table("t");
  if (!table.ok()) co_return table.status();
  const auto transaction = worker->begin(*session);
  std::vector<txn::RowId> rows;
  for (std::int64_t id = 0; id < count; ++id)
    rows.push_back(transaction->get(*table, key_of((*table)->schema, id).bytes()));
  Status status = co_await transaction->fetch();
  for (const txn::RowId row : rows) {
    if (status.ok()) status = transaction->update(row).set_integer(1, transaction->row(row).integer(1) + 1);
  }
  if (status.ok()) status = co_await transaction->commit();
  co_return status;
}

// A large transaction that updates `updates` rows and inserts as many behind them.
Task<Status> change_at_once(compute::Worker* worker, std::int64_t count) {
  const auto session = worker->open_session();
  auto table = co_await worker->table("t");
  if (!table.ok()) co_return table.status();
  const auto transaction = worker->begin(*session);
  std::vector<txn::RowId> rows;
  for (std::int64_t id = 0; id < count; ++id)
    rows.push_back(transaction->get(*table, key_of((*table)->schema, id).bytes()));
  Status status;
  for (std::int64_t id = count; status.ok() && id < 2 * count; ++id)
    status = insert_pair(*transaction, *table, id, 1);
  if (status.ok()) status = co_await transaction->fetch();
  for (const txn::RowId row : rows) {
    if (status.ok()) status = transaction->update(row).set_integer(1, 1);
  }
  if (status.ok()) status = co_await transaction->commit();
  co_return status;
}

class TurnCounter final : public reactor::TurnHook {
 public:
  explicit TurnCounter(reactor::Executor& executor) : executor_(executor) { executor_.add_turn_hook(*this); }
  ~TurnCounter() { executor_.remove_turn_hook(*this); }
  TurnCounter(const TurnCounter&) = delete;
  TurnCounter& operator=(const TurnCounter&) = delete;
  void end_of_turn() override { ++turns_; }
  std::size_t turns() const { return turns_; }

 private:
  reactor::Executor& executor_;
  std::size_t turns_ = 0;
};

// Updates and inserts so many rows each; the turns that the commit took.
Task<Result<std::size_t>> turns_of_commit(reactor::Executor* executor, compute::Worker* worker,
                                          std::int64_t count) {
  const auto session = worker->open_session();
  auto table = co_await worker->table("t");
  if (!table.ok()) co_return table.status();
  const auto transaction = worker->begin(*session);
  std::vector<txn::RowId> rows;
  for (std::int64_t id = 0; id < count; ++id)
    rows.push_back(transaction->get(*table, key_of((*table)->schema, id).bytes()));
  Status status;
  for (std::int64_t id = 1; status.ok() && id <= count; ++id)
    status = insert_pair(*transaction, *table, -id, 1);
  if (status.ok()) status = co_await transaction->fetch();
  for (const txn::RowId row : rows) {
    if (status.ok()) status = transaction->update(row).set_integer(1, 1);
  }
  const TurnCounter counter(*executor);
  if (status.ok()) status = co_await transaction->commit();
  if (!status.ok()) co_return status;
  co_return counter.turns();
}

struct Content {
  std::int64_t rows = 0;
  std::int64_t sum = 0;  // of the values
  friend bool operator==(const Content&, const Content&) = default;
};

Task<Result<Content>> content(compute::Worker* worker) {
  const auto session = worker->open_session();
  auto table = co_await worker->table("t");
  if (!table.ok()) co_return table.status();
  const auto transaction = worker->begin(*session);
  std::vector<layout::Row> rows;
  const Status status = co_await scan_rows(*worker, *transaction, *table, 0, &rows);
  if (!status.ok()) co_return status;
  Content found;
  for (const layout::Row& row : rows) {
    ++found.rows;
    found.sum += row.view().integer(1);
  }
  co_return found;
}

// Of all slots.
std::size_t rooms(Cluster& cluster) {
  std::size_t count = 0;
  for (const auto& [id, stream] : cluster.memory(0).server->journals().all()) count += stream->rooms().size();
  return count;
}

struct Large {
  explicit Large(ClusterOptions options, std::uint64_t seed = 1) : world(seed), cluster(world, options) {
    cluster.add_compute();
  }
  void create(std::uint64_t size_hint_rows = 512) {
    REQUIRE(run(create_table(worker(), "t", bigints({"id", "value"}), size_hint_rows, 0)).ok());
  }
  compute::Worker& worker() { return cluster.worker(0); }
  template <typename T>
  T run(Task<T> task) {
    return world.run(cluster.node(0), std::move(task));
  }
  Content found() {
    auto all = run(content(&worker()));
    REQUIRE(all.ok());
    return *all;
  }
  void stop() {
    REQUIRE(cluster.stop_compute(0, 60 * kSecond_ns));
    CHECK(cluster.check_at_rest(60 * kSecond_ns).empty());
  }

  SimWorld world;
  Cluster cluster;
};

}  // namespace

TEST_CASE("one transaction inserts 10,000 rows, and another updates them all", "[large]") {
  for (const char* protocol : {"si", "occ"}) {
    ClusterOptions options = small_cluster(64U << 20);
    options.memory_servers = 2;
    options.memory.protocol = protocol;
    Large large(options);
    large.create();
    const std::uint64_t journal_bytes = large.cluster.memory(0).server->use().journal_bytes;
    const Status inserted = large.run(insert_at_once(&large.worker(), 0, 10'000, 7));
    INFO(protocol << ": " << inserted.to_string());
    REQUIRE(inserted.ok());
    CHECK(large.found() == Content{10'000, 70'000});
    const Status updated = large.run(update_at_once(&large.worker(), 10'000));
    INFO(updated.to_string());
    REQUIRE(updated.ok());
    CHECK(large.found() == Content{10'000, 80'000});
    CHECK(rooms(large.cluster) == 0);
    CHECK(large.cluster.memory(0).server->use().journal_bytes <=
          std::max<std::uint64_t>(journal_bytes, 16U << 10));
    large.stop();
  }
}

TEST_CASE("a commit gives others their turn for every thousand rows, in each of its stages", "[large]") {
  constexpr std::int64_t kRows = 10'000;
  constexpr std::size_t kStages = 4;  // locks, images, installs, and what is planned before
  for (const char* protocol : {"si", "sundial"}) {
    ClusterOptions options = small_cluster(64U << 20);
    options.memory.protocol = protocol;
    Large large(options);
    large.create(2 * kRows);
    REQUIRE(large.run(insert_at_once(&large.worker(), 0, kRows, 0)).ok());
    const Result<std::size_t> turns =
        large.run(turns_of_commit(&large.cluster.node(0), &large.worker(), kRows));
    INFO(protocol << ": " << turns.status().to_string());
    REQUIRE(turns.ok());
    CHECK(*turns >= kStages * 2 * kRows / 1000);
    CHECK(large.found() == Content{2 * kRows, 2 * kRows});
    large.stop();
  }
}

TEST_CASE("a commit that may be answered early, and is too long for that, leaves no lock behind", "[large]") {
  ClusterOptions options = small_cluster(64U << 20);
  options.memory.journal_bytes = 1U << 20;
  options.memory.durability = memory::Durability::flushed;
  Large large(options);
  large.create();
  REQUIRE(large.run(insert_at_once(&large.worker(), 0, 400, 1, /*early=*/true)).ok());
  CHECK(rooms(large.cluster) == 0);
  // Into the same chains.
  REQUIRE(large.run(insert_at_once(&large.worker(), 400, 400, 1, /*early=*/true)).ok());
  CHECK(large.found() == Content{800, 800});
  large.stop();
}

TEST_CASE("one transaction writes 64 MiB of rows", "[large]") {
  constexpr std::int64_t kText_bytes = 4000;
  constexpr std::int64_t kRows = (64 << 20) / kText_bytes + 1;
  ClusterOptions options = small_cluster(512U << 20);
  options.memory.extent_bytes = 2U << 20;
  options.memory.ring_slots = 1;
  Large large(options);
  std::vector<layout::Column> columns = {
      {.name = "id"}, {.name = "value"}, {.name = "text", .type = layout::ColumnType::varchar}};
  columns[2].length_bytes = kText_bytes;
  REQUIRE(large
              .run(create_table(large.worker(), "t",
                                std::move(*layout::Schema::create(std::move(columns), {0})), 512, 1))
              .ok());
  const auto insert = [](compute::Worker* worker) -> Task<Status> {
    const auto session = worker->open_session();
    auto table = co_await worker->table("t");
    if (!table.ok()) co_return table.status();
    const auto transaction = worker->begin(*session);
    const std::string text(kText_bytes, 'x');
    for (std::int64_t id = 0; id < kRows; ++id) {
      layout::Row row((*table)->schema);
      Status status = row.writer().set_integer(0, id);
      if (status.ok()) status = row.writer().set_integer(1, 3);
      if (status.ok()) status = row.writer().set_text(2, text);
      if (!status.ok()) co_return status;
      transaction->insert(*table, row.bytes());
    }
    if (Status status = co_await transaction->fetch(); !status.ok()) co_return status;
    co_return co_await transaction->commit();
  };
  const Status inserted = large.run(insert(&large.worker()));
  INFO(inserted.to_string());
  REQUIRE(inserted.ok());
  CHECK(large.found() == Content{kRows, 3 * kRows});
  CHECK(rooms(large.cluster) == 0);
}

TEST_CASE("a transaction that writes more than a room holds is refused, and committed rows stay", "[large]") {
  ClusterOptions options = small_cluster(32U << 20);
  options.memory.max_journal_room_bytes = 64U << 10;
  Large large(options);
  large.create();
  REQUIRE(large.run(insert_at_once(&large.worker(), 0, 200, 1)).ok());
  const Status refused = large.run(insert_at_once(&large.worker(), 200, 2000, 1));
  CHECK(refused.code() == ErrorCode::limit_exceeded);
  // Only its whole entry is too long.
  std::optional<Status> between;
  for (std::int64_t count = 250; !between || between->ok(); count += 10)
    between = large.run(insert_at_once(&large.worker(), 1000 * count, count, 0));
  CHECK(between->code() == ErrorCode::limit_exceeded);
  CHECK(rooms(large.cluster) == 0);
  CHECK(large.found().sum == 200);
  REQUIRE(large.run(insert_at_once(&large.worker(), 200, 200, 1)).ok());
  CHECK(large.found().sum == 400);
  large.stop();
}

TEST_CASE("a transaction whose entry the log could never hold is refused, and everything goes on",
          "[large]") {
  ClusterOptions options = small_cluster(64U << 20);
  options.durable = true;
  Large large(options);
  large.create();
  std::int64_t rows = 0;
  Status status;
  std::int64_t count = 500;
  for (; status.ok(); count *= 2) {
    status = large.run(insert_at_once(&large.worker(), 100'000 * count, count, 1));
    if (status.ok()) rows += count;
  }
  INFO(count << " rows: " << status.to_string());
  CHECK(status.code() == ErrorCode::limit_exceeded);
  CHECK(rows >= 2000);
  // Much more than the whole log.
  CHECK(large.run(insert_at_once(&large.worker(), 0, 40'000, 1)).code() == ErrorCode::limit_exceeded);
  CHECK(rooms(large.cluster) == 0);
  CHECK(large.found() == Content{rows, rows});
  REQUIRE(large.run(insert_at_once(&large.worker(), 0, 500, 1)).ok());
  CHECK(large.found() == Content{rows + 500, rows + 500});
  large.stop();
}

TEST_CASE("a large transaction that finds no room for its journal leaves nothing behind", "[large]") {
  ClusterOptions options = small_cluster(4U << 20);
  options.memory_servers = 2;
  Large large(options);
  large.create();
  REQUIRE(large.run(insert_at_once(&large.worker(), 0, 200, 1)).ok());
  Status status;
  std::int64_t count = 400;
  for (; status.ok(); count += 400)
    status = large.run(insert_at_once(&large.worker(), 10'000 * count, count, 0));
  INFO(status.to_string());
  CHECK(status.code() == ErrorCode::out_of_memory);
  CHECK(rooms(large.cluster) == 0);
  CHECK(large.found().sum == 200);
  large.stop();
}

TEST_CASE("a compute server that dies in a large transaction leaves all of it or nothing", "[large]") {
  constexpr std::int64_t kRows = 300;
  std::size_t none = 0;
  std::size_t rolled_forward = 0;
  std::size_t with_room = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    ClusterOptions options = small_cluster(16U << 20);
    options.memory_servers = 1 + static_cast<std::uint32_t>(seed % 2);
    options.memory.protocol = seed % 3 == 0 ? "occ" : "si";
    options.worker.heartbeat_ns = kMillisecond_ns;
    Large large(options, seed);
    const std::size_t other = large.cluster.add_compute();
    large.create();
    REQUIRE(large.run(insert_at_once(&large.worker(), 0, kRows, 0)).ok());
    INFO("seed " << seed);

    auto gate = std::make_unique<reactor::Gate>();
    auto answered = std::make_unique<std::optional<Status>>();
    const auto change = [](compute::Worker* worker, std::optional<Status>* answer) -> Task<void> {
      *answer = co_await change_at_once(worker, kRows);
    };
    large.cluster.node(0).spawn(*gate, change(&large.worker(), answered.get()));
    // Half of them once it has its room.
    if (seed % 4 != 0)
      REQUIRE(large.world.run_until([&] { return rooms(large.cluster) != 0 || answered->has_value(); }));
    large.world.run_for(seed % 4 == 0 ? 3500 * seed : 150 * seed);
    const bool had_room = rooms(large.cluster) != 0;
    const bool was_answered = answered->has_value();
    large.cluster.kill_compute(0);
    SimWorld::bury(std::move(gate));
    SimWorld::bury(std::move(answered));
    REQUIRE(
        large.world.run_until([&] { return large.cluster.memory(0).server->slots()->decided_count() > 0; }));
    CHECK(rooms(large.cluster) == 0);

    const auto found = large.world.run(large.cluster.node(other), content(&large.cluster.worker(other)));
    REQUIRE(found.ok());
    const bool all = *found == Content{2 * kRows, 2 * kRows};
    CHECK((all || *found == Content{kRows, 0}));
    if (was_answered) CHECK(all);
    with_room += had_room ? 1 : 0;
    none += all ? 0 : 1;
    rolled_forward += all && had_room && !was_answered ? 1 : 0;
    // Locks that no entry names are left: a transaction that meets one gives way, and has it undone.
    Status touched(ErrorCode::serialization_failure, "");
    for (std::int64_t attempt = 0; attempt < kRows && !touched.ok() && touched.info().retry; ++attempt) {
      touched = large.world.run(large.cluster.node(other), touch_rows(large.cluster.worker(other), "t"));
      large.world.run_for(kMillisecond_ns);
    }
    INFO(touched.to_string());
    REQUIRE(touched.ok());
    REQUIRE(large.cluster.stop_compute(other, 60 * kSecond_ns));
    CHECK(large.cluster.check_at_rest(60 * kSecond_ns).empty());
  }
  CHECK(with_room >= 20);
  CHECK(none >= 10);
  CHECK(rolled_forward >= 10);
}

}  // namespace namdb::sim
