// Commits that are answered before they are on disk, while the answers of a memory server to FLUSH are held
// up, and when their connection breaks or a memory server ends.
#include <catch2/catch.hpp>

#include "tools/namsim/mutants/testing/flushed_cluster.h"

namespace namdb::sim {
namespace early_commits_test {

using reactor::Task;
using Change = ChangedFlushes::Change;

// The session's next transaction.
enum class Next : std::uint8_t { reads, scans, writes, writes_early };

Status go_on(FlushedCluster& flushed, txn::Session* session, Next next) {
  txn::Engine& engine = flushed.cluster.worker(0);
  std::int64_t sum = 0;
  return flushed.insist([&] {
    if (next == Next::reads) return read_rows(&engine, session, &sum);
    if (next == Next::scans) return scan_rows(&engine, session, &sum);
    return write_rows(&engine, session, 0, 1, 1, next == Next::writes_early);
  });
}

class Canceled final : public txn::Interrupt {
 public:
  Status check() const override { return on ? Status(ErrorCode::query_canceled, "canceled") : Status(); }
  bool on = false;
};

Task<Status> read_canceled(txn::Engine* engine, txn::Session* session, const Canceled* canceled) {
  auto table = co_await engine->table("t");
  if (!table.ok()) co_return table.status();
  const auto transaction = engine->begin(*session);
  transaction->set_interrupt(canceled);
  transaction->get(*table, key_of((*table)->schema, 0).bytes());
  co_return co_await transaction->fetch();
}

TEST_CASE(
    "at level memory a commit is answered before it is flushed, and until then only its session sees it",
    "[flushed][early]") {
  for (const protocol::ProtocolTraits& protocol : protocol::protocol_traits()) {
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

TEST_CASE("a commit that is answered when it is on disk is answered behind its session's earlier ones",
          "[flushed][early]") {
  FlushedCluster flushed;
  txn::Engine& engine = flushed.cluster.worker(0);
  const std::int64_t row = flushed.row_of_first_server();
  flushed.changed.change = Change::held;
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

TEST_CASE("a session goes on behind a connection that broke before its early commits were on disk",
          "[flushed][early]") {
  for (const protocol::ProtocolTraits& protocol : protocol::protocol_traits()) {
    DYNAMIC_SECTION(protocol.name) {
      FlushedCluster flushed(memory::Durability::flushed, 64U << 10, protocol.name, /*on_disk=*/true);
      const auto session = flushed.cluster.worker(0).open_session();
      flushed.commit_early(session.get(), 0, kRows, 5);
      flushed.changed.change = Change::broken;
      flushed.await_reconnection();
      // All memory servers have the commit, and decide that it happened. No worker is told.
      const auto read = flushed.read(session.get());
      INFO(read.status.to_string());
      CHECK(read.status.ok());
      CHECK(read.sum == 5 * kRows);
      CHECK(flushed.sum() == 5 * kRows);
      flushed.stop();
    }
  }
}

TEST_CASE("a session is told once that early commits were lost with a memory server, and goes on",
          "[flushed][early]") {
  for (const protocol::ProtocolTraits& protocol : protocol::protocol_traits()) {
    DYNAMIC_SECTION(protocol.name) {
      for (const Next next : {Next::reads, Next::scans, Next::writes, Next::writes_early}) {
        FlushedCluster flushed(memory::Durability::flushed, 64U << 10, protocol.name, /*on_disk=*/true);
        const auto session = flushed.cluster.worker(0).open_session();
        flushed.commit_early(session.get(), 0, kRows, 5);
        flushed.cluster.begin_restart_memory(1, DiskAfter::power_lost);
        flushed.changed.change = Change::nothing;
        REQUIRE(flushed.cluster.await_opened(1, 10 * kSecond_ns));
        flushed.await_reconnection();
        const Status told = go_on(flushed, session.get(), next);
        REQUIRE_FALSE(told.ok());
        INFO(told.to_string());
        CHECK(told.code() == ErrorCode::commits_lost);
        CHECK(told.message().find("1 is lost") != std::string::npos);
        const auto read = flushed.read(session.get());
        CHECK(read.status.ok());
        CHECK(read.sum == kRows);
        CHECK(go_on(flushed, session.get(), next).ok());
        flushed.touch_all();
        flushed.stop();
      }
    }
  }
}

TEST_CASE("a commit on disk is never there without the early commits of its session", "[flushed][early]") {
  FlushedCluster flushed(memory::Durability::flushed, 64U << 10, protocol::kDefaultProtocol,
                         /*on_disk=*/true);
  txn::Engine& engine = flushed.cluster.worker(0);
  const auto session = engine.open_session();
  const std::int64_t row = flushed.row_of_first_server();
  flushed.commit_early(session.get(), 0, kRows / 2, 5);
  // It would be on disk, on the other memory server, at once.
  const auto late = flushed.begin(write_rows(&engine, session.get(), row, row + 1, 6, /*early=*/false));
  CHECK_FALSE(flushed.done_soon(*late));
  flushed.cluster.begin_restart_memory(1, DiskAfter::power_lost);
  flushed.changed.change = Change::nothing;
  REQUIRE(flushed.cluster.await_opened(1, 10 * kSecond_ns));
  REQUIRE(flushed.world.run_until([&] { return late->done; }, 20 * kSecond_ns));
  INFO(late->status.to_string());
  REQUIRE_FALSE(late->status.ok());
  CHECK(late->status.code() == ErrorCode::commits_lost);
  flushed.await_reconnection();
  CHECK(flushed.sum() == kRows);
  flushed.touch_all();
  flushed.stop();
}

TEST_CASE("a client that cancels does not wait for what became of its early commits", "[flushed][early]") {
  FlushedCluster flushed(memory::Durability::flushed, 64U << 10, protocol::kDefaultProtocol,
                         /*on_disk=*/true);
  txn::Engine& engine = flushed.cluster.worker(0);
  const auto session = engine.open_session();
  flushed.commit_early(session.get(), 0, kRows, 5);
  flushed.changed.change = Change::broken;
  flushed.changed.undecided = true;
  flushed.await_reconnection();
  Canceled canceled;
  const auto read = flushed.begin(read_canceled(&engine, session.get(), &canceled));
  CHECK_FALSE(flushed.done_soon(*read));
  canceled.on = true;
  REQUIRE(flushed.world.run_until([&] { return read->done; }, kSecond_ns));
  CHECK(read->status.code() == ErrorCode::query_canceled);
  // It is told later what there is to be told: nothing.
  flushed.changed.undecided = false;
  const auto again = flushed.read(session.get());
  CHECK(again.status.ok());
  CHECK(again.sum == 5 * kRows);
  flushed.stop();
}

}  // namespace early_commits_test
}  // namespace namdb::sim
