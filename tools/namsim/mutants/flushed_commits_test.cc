// Commits at level `flushed`, with memory servers whose answers to FLUSH are held up, fall short, or say that
// the log is full.
#include <catch2/catch.hpp>
#include <functional>
#include <memory>

#include "common/calls/journal_calls.h"
#include "common/layout/protocol.h"
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

// The rows from `first` on, up to `end`.
Task<Status> write_rows(txn::Engine* engine, txn::Session* session, std::int64_t first, std::int64_t end,
                        std::int64_t value, bool early) {
  auto table = co_await engine->table("t");
  if (!table.ok()) co_return table.status();
  const auto transaction = engine->begin(*session);
  transaction->answer_when_logged(early);
  std::vector<txn::RowId> found;
  for (std::int64_t id = first; id < end; ++id)
    found.push_back(transaction->get(*table, key_of((*table)->schema, id).bytes()));
  Status status = co_await transaction->fetch();
  for (const txn::RowId row : found) {
    if (status.ok()) status = transaction->update(row).set_integer(1, value);
  }
  if (status.ok()) status = co_await transaction->commit();
  co_return status;
}

Task<Status> write_all(txn::Engine* engine, std::int64_t value) {
  const auto session = engine->open_session();
  co_return co_await write_rows(engine, session.get(), 0, kRows, value, /*early=*/false);
}

// The sum of all rows, as that session sees them.
Task<Status> read_rows(txn::Engine* engine, txn::Session* session, std::int64_t* sum) {
  *sum = 0;
  auto table = co_await engine->table("t");
  if (!table.ok()) co_return table.status();
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

// The same by a scan of the table.
Task<Status> scan_rows(txn::Engine* engine, txn::Session* session, std::int64_t* sum) {
  *sum = 0;
  auto table = co_await engine->table("t");
  if (!table.ok()) co_return table.status();
  const auto transaction = engine->begin(*session);
  const auto scan = transaction->scan(*table);
  std::vector<layout::Row> rows;
  do {
    Status status = co_await scan->next(rows);
    if (!status.ok()) co_return status;
    for (const layout::Row& row : rows) *sum += row.view().integer(1);
  } while (!rows.empty());
  co_return Status();
}

// The same of a session of its own.
Task<Status> read_all(txn::Engine* engine, std::int64_t* sum) {
  const auto session = engine->open_session();
  co_return co_await read_rows(engine, session.get(), sum);
}

Task<Status> insert_rows(txn::Engine* engine, txn::Session* session, std::int64_t first, std::int64_t end,
                         bool early) {
  auto table = co_await engine->table("t");
  if (!table.ok()) co_return table.status();
  const auto transaction = engine->begin(*session);
  transaction->answer_when_logged(early);
  Status status;
  for (std::int64_t id = first; id < end && status.ok(); ++id) {
    layout::Row row((*table)->schema);
    status = row.writer().set_integer(0, id);
    if (status.ok()) status = row.writer().set_integer(1, 1);
    transaction->insert(*table, row.bytes());
  }
  if (status.ok()) status = co_await transaction->fetch();
  if (status.ok()) status = co_await transaction->commit();
  co_return status;
}

Task<Status> insert_row(txn::Engine* engine, txn::Session* session, std::int64_t id, std::int64_t value,
                        bool early) {
  auto table = co_await engine->table("t");
  if (!table.ok()) co_return table.status();
  const auto transaction = engine->begin(*session);
  transaction->answer_when_logged(early);
  layout::Row row((*table)->schema);
  Status status = row.writer().set_integer(0, id);
  if (status.ok()) status = row.writer().set_integer(1, value);
  transaction->insert(*table, row.bytes());
  if (status.ok()) status = co_await transaction->fetch();
  if (status.ok()) status = co_await transaction->commit();
  co_return status;
}

Task<Status> read_row(txn::Engine* engine, txn::Session* session, std::int64_t id, std::int64_t* value) {
  auto table = co_await engine->table("t");
  if (!table.ok()) co_return table.status();
  const auto transaction = engine->begin(*session);
  const txn::RowId row = transaction->get(*table, key_of((*table)->schema, id).bytes());
  Status status = co_await transaction->fetch();
  if (status.ok()) *value = transaction->found(row) ? transaction->row(row).integer(1) : -1;
  co_return status;
}

struct FlushedCluster {
  explicit FlushedCluster(memory::Durability durability = memory::Durability::flushed,
                          std::uint64_t journal_bytes = 64U << 10,
                          std::string_view protocol = layout::kDefaultProtocol)
      : cluster(world, options(durability, journal_bytes, &changed, protocol)) {
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
                                ChangedFlushes* changed, std::string_view protocol) {
    ClusterOptions options;
    options.memory_servers = 2;
    options.memory.durability = durability;
    options.memory.protocol = protocol;
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
  // A task of worker 0 that runs beside.
  struct Beside {
    Status status;
    bool done = false;
  };
  std::shared_ptr<Beside> begin(Task<Status> task) {
    auto beside = std::make_shared<Beside>();
    cluster.node(0).spawn(gate, await(std::move(task), beside));
    return beside;
  }
  static Task<void> await(Task<Status> task, std::shared_ptr<Beside> beside) {
    beside->status = co_await std::move(task);
    beside->done = true;
  }
  // So long that it would be done if it waited for nothing but the network.
  bool done_soon(const Beside& beside) {
    return world.run_until([&] { return beside.done; }, 20 * kMillisecond_ns);
  }
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

TEST_CASE(
    "at level memory a commit is answered before it is flushed, and until then only its session sees it",
    "[flushed][early]") {
  for (const layout::ProtocolTraits& protocol : layout::protocol_traits()) {
    DYNAMIC_SECTION(protocol.name) {
      FlushedCluster flushed(memory::Durability::flushed, 64U << 10, protocol.name);
      txn::Engine& engine = flushed.cluster.worker(0);
      const auto session = engine.open_session();
      flushed.changed.change = Change::held;
      const auto early = flushed.begin(write_rows(&engine, session.get(), 0, kRows, 5, /*early=*/true));
      REQUIRE(flushed.done_soon(*early));
      INFO(early->status.to_string());
      CHECK(early->status.ok());
      std::int64_t own_sum = 0;
      std::int64_t scanned_sum = 0;
      const auto read = flushed.begin(read_rows(&engine, session.get(), &own_sum));
      CHECK_FALSE(flushed.done_soon(*read));
      flushed.changed.change = Change::nothing;
      REQUIRE(flushed.done_soon(*read));
      if (read->status.ok()) CHECK(own_sum == 5 * kRows);  // otherwise it met locks, and is to be tried again
      const auto scan = flushed.begin(scan_rows(&engine, session.get(), &scanned_sum));
      REQUIRE(flushed.done_soon(*scan));
      CHECK(scanned_sum == 5 * kRows);
      CHECK(flushed.sum() == 5 * kRows);
      flushed.stop();
    }
  }
}

TEST_CASE("others do not see what is not flushed; the session goes on elsewhere, and scans wait",
          "[flushed][early]") {
  FlushedCluster flushed;
  txn::Engine& engine = flushed.cluster.worker(0);
  const auto session = engine.open_session();
  flushed.changed.change = Change::held;
  // Of rows on both servers: the second server's part is not flushed.
  constexpr std::int64_t kEarly = kRows / 2;
  const auto early = flushed.begin(write_rows(&engine, session.get(), 0, kEarly, 5, /*early=*/true));
  REQUIRE(flushed.done_soon(*early));
  REQUIRE(early->status.ok());
  CHECK(flushed.sum() == kRows);

  // It reads what it has not written, and commits that, early, and a row that is new.
  std::int64_t other = 0;
  const auto read = flushed.begin(read_row(&engine, session.get(), kRows - 1, &other));
  REQUIRE(flushed.done_soon(*read));
  CHECK(other == 1);
  const auto next = flushed.begin(write_rows(&engine, session.get(), kEarly, kRows, 6, /*early=*/true));
  REQUIRE(flushed.done_soon(*next));
  CHECK(next->status.ok());
  const auto inserted = flushed.begin(insert_row(&engine, session.get(), 100, 7, /*early=*/true));
  REQUIRE(flushed.done_soon(*inserted));
  CHECK(inserted->status.ok());

  // It waits for its own rows, where they are not flushed.
  std::int64_t sum = 0;
  std::int64_t new_row = 0;
  const auto scan = flushed.begin(scan_rows(&engine, session.get(), &sum));
  const auto by_key = flushed.begin(read_row(&engine, session.get(), 100, &new_row));
  CHECK_FALSE(flushed.done_soon(*scan));
  CHECK(flushed.sum() == kRows);
  flushed.changed.change = Change::nothing;
  REQUIRE(flushed.done_soon(*scan));
  REQUIRE(flushed.done_soon(*by_key));
  CHECK(sum == 5 * kEarly + 6 * (kRows - kEarly) + 7);
  CHECK(new_row == 7);
  CHECK(flushed.sum() == 5 * kEarly + 6 * (kRows - kEarly));
  flushed.stop();
}

TEST_CASE(
    "new rows that are answered early, too many to be installed in the background, leave no chain locked",
    "[flushed][early]") {
  FlushedCluster flushed(memory::Durability::flushed, 256U << 10);
  txn::Engine& engine = flushed.cluster.worker(0);
  const auto session = engine.open_session();
  REQUIRE(flushed.run(insert_rows(&engine, session.get(), 1'000, 1'200, /*early=*/true)).ok());
  REQUIRE(flushed.run(insert_rows(&engine, session.get(), 2'000, 2'200, /*early=*/false)).ok());
  flushed.stop();
}

TEST_CASE("a commit that is answered when it is on disk is answered behind its session's earlier ones",
          "[flushed][early]") {
  FlushedCluster flushed;
  txn::Engine& engine = flushed.cluster.worker(0);
  flushed.changed.change = Change::held;
  // A row on the first server, whose FLUSHes are not held.
  std::int64_t row = kRows / 2;
  for (; row < kRows; ++row) {
    const auto probing = engine.open_session();
    const auto probe = flushed.begin(write_rows(&engine, probing.get(), row, row + 1, 1, /*early=*/false));
    if (flushed.done_soon(*probe)) break;
    flushed.changed.change = Change::nothing;
    REQUIRE(flushed.done_soon(*probe));
    flushed.changed.change = Change::held;
  }
  REQUIRE(row < kRows);
  const auto session = engine.open_session();
  const auto early = flushed.begin(write_rows(&engine, session.get(), 0, kRows / 2, 5, /*early=*/true));
  REQUIRE(flushed.done_soon(*early));
  const auto late = flushed.begin(write_rows(&engine, session.get(), row, row + 1, 6, /*early=*/false));
  CHECK_FALSE(flushed.done_soon(*late));
  flushed.changed.change = Change::nothing;
  REQUIRE(flushed.done_soon(*late));
  CHECK(late->status.ok());
  CHECK(flushed.sum() == 5 * kRows / 2 + 6 + kRows / 2 - 1);
  flushed.stop();
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
