// The sweep beside transactions: bodies in chunks are committed and whole, every place is accounted for, and
// a crash leaves all that was committed.
#include "memory/checkpoint/sweeper.h"

#include <catch2/catch.hpp>
#include <optional>
#include <string>

#include "memory/checkpoint/testing/install_workload.h"

namespace namdb::memory {
namespace {

using testing::EntryLog;
using testing::InstallWorkload;
using testing::LoggedEntry;
using testing::MemoryStore;
using testing::RegionScene;

constexpr std::uint32_t kWriters = 6;

struct SweepScene {
  explicit SweepScene(std::uint64_t seed, SweepOptions options = {.turn_bytes = 700, .again_ns = 0})
      : executor(seed), scene(executor), store(executor), workload(scene, log, seed) {
    log.numbers = &scene.region->grants();
    scene.region->grants().set_log(log);
    scene.prepare_tables();
    sweeper = std::make_unique<Sweeper>(executor, *scene.region, *scene.tables, store, log, options);
  }
  ~SweepScene() { end(); }
  void start_writers() {
    for (std::uint32_t i = 0; i < kWriters; ++i) executor.spawn(gate, workload.write());
  }
  void start_sweeps() { executor.spawn(gate, sweep()); }
  void turns(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) executor.turn();
  }
  void end() {
    stopped = true;
    workload.stop();
    executor.run_until([this] { return gate.count() == 0; });
  }
  reactor::Task<void> sweep() {
    while (!stopped) {
      ++sweeps;
      const Status status = co_await sweeper->run();
      if (!status.ok()) ++failures;
      co_await executor.yield();
    }
  }
  Status run_sweep() { return scene.run(sweeper->run()); }

  reactor::testing::ManualExecutor executor;
  RegionScene scene;
  EntryLog log;
  MemoryStore store;
  InstallWorkload workload;
  std::unique_ptr<Sweeper> sweeper;
  reactor::Gate gate;
  bool stopped = false;
  int sweeps = 0;
  int failures = 0;
};

// The rows that a restart finds in a generation and the log.
std::map<std::uint64_t, std::vector<std::byte>> recovered(const MemoryStore::Generation* generation,
                                                          const EntryLog& log) {
  reactor::testing::ManualExecutor executor;
  RegionScene scene(executor);
  scene.restore_tables();
  Restorer restorer(*scene.region, *scene.tables);
  if (generation != nullptr) {
    control::CheckpointState state;
    REQUIRE(state.ParseFromArray(generation->state.data(), static_cast<int>(generation->state.size())));
    REQUIRE(restorer.state(state).ok());
    for (const auto& [extent, bytes] : generation->chunks) {
      const Status status = restorer.chunk(extent, bytes);
      INFO(status.to_string());
      REQUIRE(status.ok());
    }
  }
  testing::redo(scene, restorer, log, generation == nullptr ? 0 : generation->redo_from);
  return scene.rows();
}

// Every body ever committed at a place.
std::map<std::uint64_t, std::vector<const LoggedEntry*>> history(const EntryLog& log) {
  std::map<std::uint64_t, std::vector<const LoggedEntry*>> all;
  for (const LoggedEntry& entry : log.entries) {
    if (!entry.block) all[entry.offset].push_back(&entry);
  }
  return all;
}

}  // namespace

TEST_CASE("a checkpoint beside installs has committed bodies only, and every place", "[sweep]") {
  std::uint64_t bodies = 0;
  std::uint64_t rereads = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SweepScene test(seed);
    test.start_writers();
    test.turns(3000);
    std::vector<bool> finished;  // of the entries before the sweep
    for (const LoggedEntry& entry : test.log.entries) finished.push_back(entry.finished);
    std::map<std::uint64_t, std::pair<std::uint64_t, bool>> at_start;  // last grant and use, by place
    for (const std::uint32_t id : {1U, 2U}) {
      std::uint64_t from = 0;
      while (const auto place = test.scene.records(id).next_granted(from, ~std::uint64_t{0})) {
        at_start[place->offset] = {place->last_grant, place->used};
        from = place->offset + 8;
      }
    }
    REQUIRE(test.run_sweep().ok());
    bodies += test.sweeper->progress().bodies;
    rereads += test.sweeper->progress().rereads;
    const auto entries = history(test.log);
    std::map<std::uint64_t, std::uint64_t> named;  // life by place
    for (const auto& [extent, bytes] : test.store.kept.back().chunks) {
      const auto chunk = decode_chunk(extent, bytes);
      REQUIRE(chunk.ok());
      for (const ChunkSection& section : chunk->sections) {
        for (const ChunkPlace& place : section.places) {
          named[place.offset] = place.life;
          if (place.body.empty()) continue;
          // It was committed there, and was not replaced before the sweep began.
          const auto& here = entries.at(place.offset);
          const auto found = std::ranges::find_if(
              here, [&](const LoggedEntry* entry) { return std::ranges::equal(entry->body, place.body); });
          REQUIRE(found != here.end());
          if (std::next(found) == here.end()) continue;
          const auto next = static_cast<std::size_t>(*std::next(found) - test.log.entries.data());
          CHECK((next >= finished.size() || !finished[next]));
        }
      }
    }
    for (const auto& [offset, state] : at_start) {
      const auto found = named.find(offset);
      const bool has_block = test.scene.records(1).block_of(offset) || test.scene.records(2).block_of(offset);
      if (found == named.end()) {
        CHECK_FALSE(has_block);
      } else if (has_block) {
        CHECK(found->second + 1 >= state.first);
      }
    }
  }
  CHECK(bodies > 500);
  CHECK(rereads > 50);
}

TEST_CASE("a crash leaves all that was committed, from either generation", "[sweep]") {
  int with_two = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    INFO("seed " << seed);
    SweepScene test(seed);
    test.start_writers();
    test.start_sweeps();
    Random random(seed);
    for (int crash = 0; crash < 6; ++crash) {
      test.turns(random.between(100, 2500));
      const EntryLog log = test.log;
      const auto want = InstallWorkload::committed(log);
      if (log.begin == 0) CHECK(recovered(nullptr, log) == want);
      for (const MemoryStore::Generation& generation : test.store.kept)
        CHECK(recovered(&generation, log) == want);
      if (test.store.kept.size() == 2) ++with_two;
    }
    test.end();
    CHECK(test.failures == 0);
    CHECK(test.sweeps > 1);
  }
  CHECK(with_two > 50);
}

TEST_CASE("an entry that is logged before a sweep and installed behind it is in the next one", "[sweep]") {
  SweepScene test(1);
  control::AllocateReply reply;
  REQUIRE(test.scene.tables->allocate_records(1, 1, reply).ok());
  const std::uint64_t offset = reply.ranges(0).offset();
  const auto body = test.scene.make_body(1, offset, {.stamp = {16, 1}, .incarnation = 1});
  LoggedEntry birth;
  birth.table = 1;
  birth.offset = offset;
  birth.grant = reply.grant();
  birth.body = body;
  test.log.entries.push_back(birth);
  REQUIRE(test.run_sweep().ok());
  CHECK(test.store.kept.back().redo_from == 1);  // behind the block's entry
  CHECK(recovered(&test.store.kept.back(), test.log).at(offset) == body);
  test.scene.region->write(offset + 8, body);
  test.log.entries.back().finished = true;
  REQUIRE(test.run_sweep().ok());
  CHECK(test.store.kept.back().redo_from == 2);
  CHECK(recovered(&test.store.kept.back(), test.log).at(offset) == body);
  // Nothing changed since: no chunk is written.
  REQUIRE(test.run_sweep().ok());
  CHECK(test.store.written.empty());
  CHECK(recovered(&test.store.kept.back(), test.log).at(offset) == body);
}

TEST_CASE("an extent with something half-installed throughout keeps its chunk and its redo", "[sweep]") {
  SweepScene test(1);
  test.start_writers();
  test.turns(2000);
  test.end();
  REQUIRE(test.run_sweep().ok());
  const std::uint64_t first = test.store.kept.back().redo_from;
  const auto rows = test.scene.rows();
  REQUIRE(rows.size() > 3);
  const auto& [offset, body] = *rows.begin();
  const std::uint64_t extent = offset & ~(RegionScene::kExtent_bytes - 1);
  const auto update = [&test](std::uint64_t at, const std::vector<std::byte>& old) {
    const layout::BodyHeader before = layout::decode_body_header(old.data());
    LoggedEntry entry;
    entry.table = before.table;
    entry.offset = at;
    entry.displaced = before.header_word();
    entry.body = test.scene.make_body(before.table, at,
                                      {.stamp = {17, before.stamp.counter}, .displaced = entry.displaced});
    test.log.entries.push_back(entry);
    test.scene.region->changed().mark(at);
    return entry;
  };
  // A commit that ends, and one that dies in the middle of its install.
  const auto& [other, other_body] = *rows.rbegin();
  test.scene.region->write(other + 8, update(other, other_body).body);
  test.log.entries.back().finished = true;
  const LoggedEntry entry = update(offset, body);
  test.scene.region->write(offset + 8, std::span(entry.body).first(16));
  REQUIRE(test.run_sweep().ok());
  CHECK(test.sweeper->progress().kept_extents == 1);
  REQUIRE(test.sweeper->progress().stuck.size() == 1);
  CHECK(test.sweeper->progress().stuck[0].table == "t" + std::to_string(entry.table));
  CHECK(test.sweeper->progress().stuck[0].address == test.scene.region->address(offset));
  CHECK(test.store.kept.back().redo_from == first);
  CHECK(std::ranges::find(test.store.written, extent) == test.store.written.end());
  CHECK(recovered(&test.store.kept.back(), test.log).at(offset) == entry.body);
  // Repaired: the next sweep has it.
  test.scene.region->write(offset + 8, entry.body);
  test.log.entries.back().finished = true;
  REQUIRE(test.run_sweep().ok());
  CHECK(test.sweeper->progress().stuck.empty());
  CHECK(test.store.kept.back().redo_from == test.log.entries.size());
  CHECK(std::ranges::find(test.store.written, extent) != test.store.written.end());
  CHECK(recovered(&test.store.kept.back(), test.log).at(offset) == entry.body);
}

TEST_CASE("a reclaimed tombstone is no row, and its life is over", "[sweep]") {
  SweepScene test(1);
  control::AllocateReply reply;
  REQUIRE(test.scene.tables->allocate_records(1, 1, reply).ok());
  const std::uint64_t offset = reply.ranges(0).offset();
  const layout::BodyHeader header{.stamp = {16, 2}, .deleted = true, .displaced = layout::HeaderWord(16)};
  test.scene.region->write(offset + 8, test.scene.make_body(1, offset, header));
  const layout::HeaderWord collector({layout::kCollectorSlot, 1}, false, true);
  for (const layout::HeaderWord word : {header.header_word(), collector}) {
    test.scene.region->store(offset, word.value());
    test.scene.region->changed().mark(offset);
    REQUIRE(test.run_sweep().ok());
    const auto chunk = decode_chunk(test.store.written.at(0), test.store.kept.back().chunks.begin()->second);
    REQUIRE(chunk.ok());
    const ChunkPlace& place = chunk->sections.at(0).places.at(0);
    CHECK(place.body.empty() == (word == collector));
    CHECK(place.life == reply.grant());
  }
}

TEST_CASE("a sweep leaves turns to others, and keeps its rate", "[sweep]") {
  for (const std::uint64_t rate_bytes : {std::uint64_t{0}, std::uint64_t{100'000}}) {
    SweepScene test(1, {.rate_bytes = rate_bytes, .turn_bytes = 1000});
    test.start_writers();
    test.turns(3000);
    test.end();
    const std::uint64_t begin_ns = test.executor.now_ns();
    std::uint64_t others = 0;
    bool done = false;
    reactor::Gate beside;
    test.executor.spawn(beside, [](SweepScene* scene, bool* ended) -> reactor::Task<void> {
      const Status status = co_await scene->sweeper->run();
      CHECK(status.ok());
      *ended = true;
    }(&test, &done));
    test.executor.run_until([&] {
      ++others;
      return done;
    });
    const std::uint64_t bytes = test.sweeper->progress().chunk_bytes;
    REQUIRE(bytes > 2000);
    CHECK(others > bytes / 2000);
    const std::uint64_t took_ns = test.executor.now_ns() - begin_ns;
    if (rate_bytes == 0) CHECK(took_ns == 0);
    if (rate_bytes != 0) CHECK(took_ns > bytes * kSecond_ns / rate_bytes / 2);
  }
}

TEST_CASE("a failed checkpoint leaves the earlier ones, and the next one has its work", "[sweep]") {
  SweepScene test(3);
  test.start_writers();
  test.turns(2000);
  test.end();
  test.store.fail_puts = 2;
  CHECK(test.run_sweep().code() == ErrorCode::disk_full);
  CHECK(test.store.abandoned == 1);
  CHECK(test.store.kept.empty());
  REQUIRE(test.run_sweep().ok());
  CHECK(recovered(&test.store.kept.back(), test.log) == InstallWorkload::committed(test.log));
  test.sweeper->stop();
  CHECK(test.run_sweep().code() == ErrorCode::admin_shutdown);
}

TEST_CASE("a sweep that waits for its pace ends at once when it is stopped, and goes on when it hurries",
          "[sweep]") {
  bool hurries = false;
  SweepOptions options{.rate_bytes = 1, .turn_bytes = 700};
  options.hurry = [&hurries] { return hurries; };
  SweepScene test(1, options);
  test.start_writers();
  test.turns(3000);
  test.end();
  std::optional<Status> ended;
  reactor::Gate beside;
  test.executor.spawn(beside, [](SweepScene* scene, std::optional<Status>* result) -> reactor::Task<void> {
    *result = co_await scene->sweeper->run();
  }(&test, &ended));
  test.executor.run_ready();
  REQUIRE_FALSE(ended.has_value());
  bool stopped = false;
  SECTION("stopped") {
    stopped = true;
    test.sweeper->stop();
  }
  SECTION("hurried") {
    hurries = true;
    test.sweeper->look_again();
  }
  test.executor.run_ready();
  REQUIRE(ended.has_value());
  CHECK(ended->ok() != stopped);
  if (stopped) CHECK(ended->code() == ErrorCode::admin_shutdown);
}

}  // namespace namdb::memory
