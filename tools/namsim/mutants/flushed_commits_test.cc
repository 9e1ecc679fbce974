// Commits at level `flushed`, with memory servers whose answers to FLUSH are held up, fall short, or say that
// the log is full.
#include <catch2/catch.hpp>
#include <functional>

#include "common/calls/journal_calls.h"
#include "tools/namsim/cluster/cluster.h"
#include "tools/namsim/mutants/mutant.h"
#include "tools/namsim/workloads/tables.h"

namespace namdb::sim {
namespace {

using reactor::Task;

constexpr std::int64_t kRows = 16;  // on both memory servers

// Answers of one memory server to FLUSH, changed as long as a test wants it.
class ChangedFlushes final : public Mutant {
 public:
  enum class Change { nothing, held, refused, short_of, full };

  Task<Status> on_call(fabric::Service* inner, std::size_t server, fabric::PeerId peer, std::uint16_t method,
                       std::string_view request, std::string* reply) override {
    if (method != calls::kFlushMethod) co_return co_await inner->on_call(peer, method, request, *reply);
    ++flushes;
    while (server == at && change == Change::held)
      co_await cluster().memory(server).node->sleep_for(100 * kMicrosecond_ns);
    if (server == at && change == Change::refused) co_return Status(ErrorCode::disk_full, "a full log");
    Status status = co_await inner->on_call(peer, method, request, *reply);
    if (!status.ok() || server != at) co_return status;
    auto flushed = calls::decode_flush_reply(*reply);
    REQUIRE(flushed.has_value());
    if (change == Change::short_of) flushed->durable_position = flushed->freed_position;
    if (change == Change::full) flushed->log_full = true;
    *reply = calls::encode(*flushed);
    co_return status;
  }

  std::size_t at = 1;
  Change change = Change::nothing;
  std::uint64_t flushes = 0;
};

using Change = ChangedFlushes::Change;

Task<Status> write_all(txn::Engine* engine, std::int64_t value, std::int64_t rows = kRows) {
  auto table = co_await engine->table("t");
  if (!table.ok()) co_return table.status();
  const auto session = engine->open_session();
  const auto transaction = engine->begin(*session);
  std::vector<txn::RowId> found;
  for (std::int64_t id = 0; id < rows; ++id)
    found.push_back(transaction->get(*table, key_of((*table)->schema, id).bytes()));
  Status status = co_await transaction->fetch();
  for (const txn::RowId row : found) {
    if (status.ok()) status = transaction->update(row).set_integer(1, value);
  }
  if (status.ok()) status = co_await transaction->commit();
  co_return status;
}

// The sum of all rows, or nothing where one is locked.
Task<Status> read_all(txn::Engine* engine, std::int64_t* sum) {
  *sum = 0;
  auto table = co_await engine->table("t");
  if (!table.ok()) co_return table.status();
  const auto session = engine->open_session();
  const auto transaction = engine->begin(*session);
  std::vector<txn::RowId> found;
  for (std::int64_t id = 0; id < kRows; ++id)
    found.push_back(transaction->get(*table, key_of((*table)->schema, id).bytes()));
  Status status = co_await transaction->fetch();
  for (const txn::RowId row : found) {
    if (status.ok()) *sum += transaction->row(row).integer(1);
  }
  co_return status;
}

struct FlushedCluster {
  explicit FlushedCluster(memory::Durability durability = memory::Durability::flushed,
                          std::uint64_t journal_bytes = 64U << 10)
      : cluster(world, options(durability, journal_bytes, &changed)) {
    cluster.add_compute();
    cluster.add_compute();
    REQUIRE(run(create_table(cluster.worker(0), "t", bigints({"id", "value"}), 64, 4)).ok());
    const layout::Schema schema = bigints({"id", "value"});
    std::vector<layout::Row> rows;
    for (std::int64_t id = 0; id < kRows; ++id) {
      layout::Row& row = rows.emplace_back(schema);
      REQUIRE(row.writer().set_integer(0, id).ok());
      REQUIRE(row.writer().set_integer(1, 0).ok());
    }
    REQUIRE(run(put_rows(cluster.worker(0), "t", &rows)).ok());
    REQUIRE(run(write_all(&cluster.worker(0), 1)).ok());
    for (std::size_t server = 0; server < 2; ++server)
      REQUIRE(cluster.memory(server).server->journals().all().size() == 1);
  }
  static ClusterOptions options(memory::Durability durability, std::uint64_t journal_bytes,
                                ChangedFlushes* changed) {
    ClusterOptions options;
    options.memory_servers = 2;
    options.memory.durability = durability;
    options.memory.journal_bytes = journal_bytes;
    options.interposer = changed;
    return options;
  }
  Status run(Task<Status> task, std::size_t compute = 0) {
    return world.run(cluster.node(compute), std::move(task));
  }
  // As another compute server sees them.
  std::int64_t sum() {
    std::int64_t sum = 0;
    const Status status = run(read_all(&cluster.worker(1), &sum), 1);
    INFO(status.to_string());
    REQUIRE(status.ok());
    return sum;
  }
  // A commit that writes all rows runs beside.
  void begin_write(std::int64_t value) { cluster.node(0).spawn(gate, keep(this, value)); }
  static Task<void> keep(FlushedCluster* self, std::int64_t value) {
    self->written = co_await write_all(&self->cluster.worker(0), value);
    self->done = true;
  }
  void stop() {
    for (std::size_t compute = 0; compute < 2; ++compute)
      REQUIRE(cluster.stop_compute(compute, 10 * kSecond_ns));
    CHECK(cluster.check_at_rest(10 * kSecond_ns) == "");
  }

  fabric::sim::SimWorld world{11};
  ChangedFlushes changed;
  Cluster cluster;
  reactor::Gate gate;
  Status written;
  bool done = false;
};

}  // namespace

TEST_CASE("a commit is seen, and answered, only once all its memory servers have its entry on disk",
          "[flushed]") {
  for (const Change change : {Change::held, Change::refused, Change::short_of}) {
    FlushedCluster flushed;
    flushed.changed.change = change;
    flushed.begin_write(5);
    flushed.world.run_for(20 * kMillisecond_ns);
    CHECK_FALSE(flushed.done);
    CHECK(flushed.sum() == kRows);
    flushed.changed.change = Change::nothing;
    REQUIRE(flushed.world.run_until([&] { return flushed.done; }, kSecond_ns));
    INFO(flushed.written.to_string());
    CHECK(flushed.written.ok());
    CHECK(flushed.sum() == 5 * kRows);
    flushed.stop();
  }
}

TEST_CASE("while a log is full commits are refused with 53100, and reads go on", "[flushed]") {
  FlushedCluster flushed;
  flushed.changed.change = Change::full;
  REQUIRE(flushed.run(write_all(&flushed.cluster.worker(0), 2)).ok());  // it had begun before
  for (int i = 0; i < 3; ++i) {
    const Status refused = flushed.run(write_all(&flushed.cluster.worker(0), 3));
    CHECK(refused.code() == ErrorCode::disk_full);
    CHECK(flushed.sum() == 2 * kRows);
  }
  flushed.changed.change = Change::nothing;
  REQUIRE(flushed.run(write_all(&flushed.cluster.worker(0), 4)).ok());
  CHECK(flushed.sum() == 4 * kRows);
  flushed.stop();
}

TEST_CASE("commits that run at once share their FLUSHes", "[flushed]") {
  FlushedCluster flushed;
  const std::uint64_t before = flushed.changed.flushes;
  flushed.changed.change = Change::held;
  // Each of a row of its own, on either server.
  constexpr std::int64_t kCommits = kRows;
  std::int64_t committed = 0;
  const auto write_one = [](FlushedCluster* self, std::int64_t id, std::int64_t* count) -> Task<void> {
    auto table = co_await self->cluster.worker(0).table("t");
    const auto session = self->cluster.worker(0).open_session();
    const auto transaction = self->cluster.worker(0).begin(*session);
    const txn::RowId row = transaction->get(*table, key_of((*table)->schema, id).bytes());
    Status status = co_await transaction->fetch();
    if (status.ok()) status = transaction->update(row).set_integer(1, 9);
    if (status.ok()) status = co_await transaction->commit();
    if (status.ok()) ++*count;
  };
  for (std::int64_t id = 0; id < kCommits; ++id)
    flushed.cluster.node(0).spawn(flushed.gate, write_one(&flushed, id, &committed));
  flushed.world.run_for(5 * kMillisecond_ns);
  flushed.changed.change = Change::nothing;
  REQUIRE(flushed.world.run_until([&] { return committed == kCommits; }, kSecond_ns));
  CHECK(flushed.sum() == 9 * kRows);
  CHECK(flushed.changed.flushes - before < kCommits);
  flushed.stop();
}

TEST_CASE("in memory a FLUSH is rare, and a stream goes through its ring many times", "[flushed]") {
  FlushedCluster memory(memory::Durability::memory, 64U << 10);
  constexpr std::uint64_t kCommits = 400;
  for (std::uint64_t i = 0; i < kCommits; ++i)
    REQUIRE(memory.run(write_all(&memory.cluster.worker(0), static_cast<std::int64_t>(i))).ok());
  std::uint64_t laps = 0;
  for (std::size_t server = 0; server < 2; ++server) {
    for (const auto& [slot, stream] : memory.cluster.memory(server).server->journals().all())
      laps += stream->certified() / stream->ring().bytes;
  }
  CHECK(laps > 4);
  CHECK(memory.changed.flushes > laps);
  CHECK(memory.changed.flushes < kCommits / 10);
  memory.stop();
}

}  // namespace namdb::sim
