// The engine on a simulated cluster, one property at a time: a single client's view, its costs, and the state
// after a compute server died.
#include <array>
#include <catch2/catch.hpp>

#include "common/layout/key.h"
#include "tools/namsim/cluster/cluster.h"
#include "tools/namsim/workloads/tables.h"

namespace namdb::sim {
namespace engine_test {

using layout::Key;
using reactor::Task;

layout::Schema account_schema() {
  std::vector<layout::Column> columns(3);
  columns[0] = {.name = "id"};
  columns[1] = {.name = "balance"};
  columns[2] = {.name = "note", .type = layout::ColumnType::varchar, .length_bytes = 20};
  auto schema = layout::Schema::create(std::move(columns), {0});
  REQUIRE(schema.ok());
  return std::move(schema).value();
}

ClusterOptions small_cluster() {
  ClusterOptions options;
  options.memory.extent_bytes = 64U << 10;
  options.memory.journal_bytes = 128U << 10;
  return options;
}

// A client's steps. Each fails the test if it fails unexpectedly.
struct Client {
  explicit Client(compute::Worker& engine) : worker(engine), session(engine.open_session()) {}

  Task<Status> create() { co_return co_await create_table(worker, "account", account_schema(), 100, 0); }
  Task<Status> put(std::int64_t id, std::int64_t balance, fabric::OperationCounters* cost = nullptr) {
    auto table = co_await worker.table("account");
    if (!table.ok()) co_return table.status();
    auto transaction = worker.begin(*session);
    layout::Row row((*table)->schema);
    REQUIRE(row.writer().set_integer(0, id).ok());
    REQUIRE(row.writer().set_integer(1, balance).ok());
    transaction->insert(*table, row.bytes());
    Status status = co_await transaction->fetch();
    if (status.ok()) status = co_await transaction->commit();
    if (cost != nullptr) *cost = transaction->counters();
    co_return status;
  }
  // The balance, or -1 when there is no such row.
  Task<Result<std::int64_t>> get(std::int64_t id) {
    auto table = co_await worker.table("account");
    if (!table.ok()) co_return table.status();
    auto transaction = worker.begin(*session);
    const Key key = std::move(Key((*table)->schema).integer(id));
    const txn::RowId row = transaction->get(*table, key.bytes());
    Status status = co_await transaction->fetch();
    if (!status.ok()) co_return status;
    co_return transaction->found(row) ? transaction->row(row).integer(1) : std::int64_t{-1};
  }
  Task<Status> add(std::int64_t from, std::int64_t to, std::int64_t amount,
                   fabric::OperationCounters* cost = nullptr) {
    auto table = co_await worker.table("account");
    if (!table.ok()) co_return table.status();
    auto transaction = worker.begin(*session);
    const Key from_key = std::move(Key((*table)->schema).integer(from));
    const Key to_key = std::move(Key((*table)->schema).integer(to));
    const txn::RowId a = transaction->get(*table, from_key.bytes());
    const txn::RowId b = transaction->get(*table, to_key.bytes());
    Status status = co_await transaction->fetch();
    if (!status.ok()) co_return status;
    const std::int64_t from_balance = transaction->row(a).integer(1);
    const std::int64_t to_balance = transaction->row(b).integer(1);
    status = transaction->update(a).set_integer(1, from_balance - amount);
    if (status.ok()) status = transaction->update(b).set_integer(1, to_balance + amount);
    if (status.ok()) status = co_await transaction->commit();
    if (cost != nullptr) *cost = transaction->counters();
    co_return status;
  }
  Task<Status> erase(std::int64_t id) {
    auto table = co_await worker.table("account");
    if (!table.ok()) co_return table.status();
    auto transaction = worker.begin(*session);
    const Key key = std::move(Key((*table)->schema).integer(id));
    const txn::RowId row = transaction->get(*table, key.bytes());
    Status status = co_await transaction->fetch();
    if (!status.ok()) co_return status;
    transaction->erase(row);
    co_return co_await transaction->commit();
  }
  Task<Result<std::vector<std::int64_t>>> scan() {
    auto table = co_await worker.table("account");
    if (!table.ok()) co_return table.status();
    auto transaction = worker.begin(*session);
    auto scan = transaction->scan(*table);
    std::vector<std::int64_t> ids;
    std::vector<layout::Row> rows;
    do {
      Status status = co_await scan->next(rows);
      if (!status.ok()) co_return status;
      for (const layout::Row& row : rows) ids.push_back(row.view().integer(0));
    } while (!rows.empty());
    std::sort(ids.begin(), ids.end());
    co_return ids;
  }

  compute::Worker& worker;
  std::unique_ptr<txn::Session> session;
};

TEST_CASE("rows that were inserted, updated and deleted are seen by another compute server", "[engine]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    fabric::sim::SimWorld world(seed);
    ClusterOptions options = small_cluster();
    options.memory_servers = 1 + static_cast<std::uint32_t>(seed % 3);
    constexpr std::array kModes = {txn::SnapshotMode::call, txn::SnapshotMode::reads,
                                   txn::SnapshotMode::adaptive, txn::SnapshotMode::together};
    options.worker.snapshot_mode = kModes.at(seed / 3 % kModes.size());
    Cluster cluster(world, options);
    const std::size_t first = cluster.add_compute();
    const std::size_t second = cluster.add_compute();
    {
      Client a(cluster.worker(first));
      Client b(cluster.worker(second));
      INFO("seed " << seed);
      REQUIRE(world.run(cluster.node(first), a.create()).ok());
      for (std::int64_t id = 0; id < 300; ++id) {
        const Status status = world.run(cluster.node(first), a.put(id, 100 + id));
        INFO(status.to_string());
        REQUIRE(status.ok());
      }
      CHECK(world.run(cluster.node(second), b.put(5, 1)).code() == ErrorCode::duplicate_key);
      CHECK(world.run(cluster.node(second), b.get(7)).value() == 107);
      CHECK(world.run(cluster.node(second), b.get(1000)).value() == -1);
      for (int i = 0; i < 30; ++i) REQUIRE(world.run(cluster.node(second), b.add(1, 2, 1)).ok());
      CHECK(world.run(cluster.node(first), a.get(1)).value() == 71);
      CHECK(world.run(cluster.node(first), a.get(2)).value() == 132);
      REQUIRE(world.run(cluster.node(first), a.erase(3)).ok());
      CHECK(world.run(cluster.node(second), b.get(3)).value() == -1);
      REQUIRE(world.run(cluster.node(second), b.put(3, 9)).ok());
      CHECK(world.run(cluster.node(first), a.get(3)).value() == 9);
      REQUIRE(world.run(cluster.node(first), a.erase(4)).ok());
      const auto ids = world.run(cluster.node(second), b.scan());
      REQUIRE(ids.ok());
      CHECK(ids->size() == 299);
    }
  }
}

Task<void> move_for_ever(Client* client) {
  while (true) {
    const Status status = co_await client->add(1, 2, 1);
    if (!status.ok()) co_await client->worker.backoff(1);
  }
}

// A lock that the dead one took without a journal entry is undone once a transaction has met it for a while.
Task<Status> move_once(Client* client) {
  Status status = co_await client->add(1, 2, 1);
  for (std::uint32_t attempt = 1; !status.ok() && status.info().retry && attempt < 200; ++attempt) {
    co_await client->worker.backoff(attempt);
    status = co_await client->add(1, 2, 1);
  }
  co_return status;
}

TEST_CASE(
    "rows that a dead compute server left are whole, and a peer that never saw the table goes on with them",
    "[engine]") {
  for (std::uint64_t seed = 1; seed <= 80; ++seed) {
    fabric::sim::SimWorld world(seed);
    ClusterOptions options = small_cluster();
    options.memory_servers = 1 + static_cast<std::uint32_t>(seed % 2);
    options.worker.heartbeat_ns = kMillisecond_ns;
    Cluster cluster(world, options);
    const std::size_t first = cluster.add_compute();
    const std::size_t idle = cluster.add_compute();
    INFO("seed " << seed);
    auto a = std::make_unique<Client>(cluster.worker(first));
    REQUIRE(world.run(cluster.node(first), a->create()).ok());
    REQUIRE(world.run(cluster.node(first), a->put(1, 100)).ok());
    REQUIRE(world.run(cluster.node(first), a->put(2, 100)).ok());
    auto gate = std::make_unique<reactor::Gate>();
    cluster.node(first).spawn(*gate, move_for_ever(a.get()));
    world.run_for(200'000 + 7'919 * seed);
    cluster.kill_compute(first);
    fabric::sim::SimWorld::bury(std::move(gate));
    fabric::sim::SimWorld::bury(std::move(a));
    REQUIRE(world.run_until([&] { return cluster.memory(0).server->slots()->decided_count() > 0; }));
    Client b(cluster.worker(idle));
    const Status moved = world.run(cluster.node(idle), move_once(&b));
    INFO(moved.to_string());
    REQUIRE(moved.ok());
    const auto from = world.run(cluster.node(idle), b.get(1));
    const auto to = world.run(cluster.node(idle), b.get(2));
    REQUIRE(from.ok());
    REQUIRE(to.ok());
    CHECK(*from + *to == 200);
  }
}

}  // namespace engine_test
}  // namespace namdb::sim
