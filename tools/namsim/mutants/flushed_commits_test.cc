// Commits at level `flushed`, with memory servers whose answers to FLUSH are held up, fall short, or say that
// the log is full.
#include <catch2/catch.hpp>

#include "tools/namsim/mutants/testing/flushed_cluster.h"

namespace namdb::sim {
namespace {

using reactor::Task;
using Change = ChangedFlushes::Change;

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
