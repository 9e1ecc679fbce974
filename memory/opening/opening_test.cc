// A memory server's database in the lives that follow each other on one disk: all that was acknowledged is
// there, whatever ended the life before, and wherever in it.
#include <catch2/catch.hpp>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "memory/opening/testing/disk_lives.h"

namespace namdb::memory {
namespace {

using testing::DurableLife;
using testing::FaultDisk;
using testing::finished_disk;
using testing::LifeOptions;
using testing::Machine;
using testing::opened_rows;
using testing::Script;
using testing::Told;
using Rows = DurableLife::Rows;
using End = FaultDisk::End;

reactor::Task<void> ignore(reactor::Task<Status> task) {
  static_cast<void>(co_await std::move(task));
}

reactor::Task<void> close(reactor::Gate* gate) {
  co_await gate->close();
}

// A table with a row, and a checkpoint. All commits are finished: redo would begin behind everything that is
// in the log.
void make_finished_table(DurableLife& life) {
  REQUIRE(life.status().ok());
  REQUIRE(life.connect().ok());
  REQUIRE(life.create_table("a").ok());
  REQUIRE(life.insert("a", 1, 1).ok());
  REQUIRE(life.close_slot().ok());
  REQUIRE(life.checkpoint().ok());
}

}  // namespace

TEST_CASE("a database is created, and the next life has its rows", "[opening]") {
  Machine machine;
  Told told;
  {
    DurableLife life(machine.disk, End::killed);
    REQUIRE(life.status().ok());
    CHECK(life.database().opened().created);
    Script script(told);
    script.run(life);
    CHECK(script.done());
    CHECK(life.rows() == told.rows);
  }
  for (int i = 0; i < 3; ++i) {
    DurableLife life(machine.disk, End::power_lost);
    INFO(life.status().to_string());
    REQUIRE(life.status().ok());
    CHECK_FALSE(life.database().opened().created);
    CHECK(life.database().opened().generation == 3);
    CHECK(life.database().opened().rows == 9 + 4);
    CHECK(life.rows_by_key() == told.rows);
  }
}

TEST_CASE("each life goes on where the last one ended", "[opening]") {
  Machine machine;
  Rows rows;
  std::set<std::uint32_t> slots;
  for (std::int64_t life_number = 0; life_number < 12; ++life_number) {
    DurableLife life(machine.disk, life_number % 2 == 0 ? End::killed : End::power_lost);
    INFO("life " << life_number << ": " << life.status().to_string());
    REQUIRE(life.status().ok());
    CHECK(life.rows_by_key() == rows);
    REQUIRE(life.connect().ok());
    CHECK(slots.insert(life.slot()).second);
    if (life_number == 0) REQUIRE(life.create_table("a").ok());
    // Places of rows that were deleted in earlier lives are used again.
    for (std::int64_t i = 0; i < 6; ++i) {
      const std::int64_t key = life_number * 6 + i;
      REQUIRE(life.insert("a", key, key).ok());
      rows["a"][key] = key;
      if (key < 8) continue;
      REQUIRE(life.erase("a", key - 8).ok());
      rows["a"].erase(key - 8);
    }
    REQUIRE(life.update("a", life_number * 6, -1).ok());
    rows["a"][life_number * 6] = -1;
    if (life_number % 3 == 1) REQUIRE(life.checkpoint().ok());
  }
  CHECK(opened_rows(machine.disk, End::power_lost) == rows);
}

TEST_CASE("a life may end at any step, and the next one has all that was acknowledged", "[opening]") {
  const End end = GENERATE(End::killed, End::power_lost);
  bool done = false;
  std::uint64_t step = 0;
  for (; !done; ++step) {
    INFO("step " << step);
    Machine machine;
    Told told;
    {
      LifeOptions options;
      options.stop_at = step;
      DurableLife life(machine.disk, End::killed, options);
      if (life.status().ok()) {
        Script script(told);
        script.run(life);
        done = script.done();
      }
    }
    const Rows found = opened_rows(machine.disk, end);
    CHECK(told.is(found));
    CHECK(opened_rows(machine.disk, End::power_lost) == found);
  }
  CHECK(step > 100);
}

TEST_CASE("an opening that is cut off at any step leaves what it found", "[opening]") {
  Machine machine;
  Told told;
  const std::unique_ptr<FaultDisk> finished = finished_disk(machine, told);
  const End end = GENERATE(End::killed, End::power_lost);
  bool opened = false;
  std::uint64_t step = 0;
  for (; !opened; ++step) {
    INFO("step " << step);
    const std::unique_ptr<FaultDisk> disk = finished->copy(step);
    // Twice: the second one opens what the first one left.
    for (int i = 0; i < 2; ++i) {
      LifeOptions options;
      options.stop_at = step;
      DurableLife life(*disk, end, options);
      opened = life.status().ok();
      if (opened) CHECK(life.rows_by_key() == told.rows);
    }
    CHECK(opened_rows(*disk, end) == told.rows);
  }
  CHECK(step > 5);
}

TEST_CASE("a change of the catalog that is being logged while a checkpoint is made is not lost",
          "[opening]") {
  Machine machine;
  std::unique_ptr<FaultDisk> disk;
  {
    DurableLife life(machine.disk, End::killed);
    make_finished_table(life);
    // No extent has changed: the next checkpoint's state is taken before the entry is durable.
    ControlChanges& control = *life.server().parts().control;
    const ControlChanges::Change drop = [](Catalog& catalog) { return catalog.drop("a").status(); };
    reactor::Gate gate;
    life.cluster().node.spawn(gate, ignore(control.change(drop)));
    const std::uint64_t version = control.state().version();
    const LogPosition before = life.database().log().appended();
    REQUIRE(life.cluster().world.run_until([&] { return life.database().log().appended() != before; },
                                           kSecond_ns));
    CHECK(control.state().version() == version);
    CHECK(life.database().sweep_log().redo_start() == before);
    REQUIRE(life.checkpoint().ok());
    life.cluster().world.run(life.cluster().node, close(&gate));
    CHECK(control.state().version() == version + 1);
    CHECK(life.database().sweep_log().redo_start() == life.database().log().appended());
    disk = machine.disk.copy(1);
  }
  CHECK(opened_rows(*disk, End::power_lost).empty());
}

TEST_CASE("a mark of grants that is being logged while a checkpoint is made is not lost", "[opening]") {
  Machine machine;
  std::unique_ptr<FaultDisk> disk;
  std::uint64_t handed_out = 0;
  {
    DurableLife life(machine.disk, End::killed);
    make_finished_table(life);
    GrantNumbers& grants = life.server().parts().region->grants();
    const std::uint64_t mark = grants.mark();
    const LogPosition before = life.database().log().appended();
    while (grants.wanted_mark() == mark) REQUIRE(grants.next().has_value());
    REQUIRE(life.cluster().world.run_until([&] { return life.database().log().appended() != before; },
                                           kSecond_ns));
    REQUIRE(grants.mark() == mark);
    REQUIRE(life.checkpoint().ok());
    REQUIRE(life.cluster().world.run_until([&] { return grants.mark() != mark; }, kSecond_ns));
    while (grants.last() <= mark) REQUIRE(grants.next().has_value());
    handed_out = grants.last();
    disk = machine.disk.copy(1);
  }
  DurableLife life(*disk, End::power_lost);
  REQUIRE(life.status().ok());
  CHECK(life.server().parts().region->grants().last() >= handed_out);
}

TEST_CASE("a server with other settings, or of another database, does not open", "[opening]") {
  Machine machine;
  Told told;
  const std::unique_ptr<FaultDisk> disk = finished_disk(machine, told);
  LifeOptions other;
  other.server.protocol = "occ";
  {
    DurableLife life(*disk, End::killed, other);
    CHECK(life.status().code() == ErrorCode::configuration);
    CHECK(life.status().message().find("--protocol") != std::string::npos);
  }
  LifeOptions stranger;
  stranger.durable.database_id = 99;
  {
    DurableLife life(*disk, End::killed, stranger);
    CHECK(life.status().code() == ErrorCode::configuration);
  }
  LifeOptions short_log;
  short_log.durable.log.max_bytes = 40U << 10;
  {
    DurableLife life(*disk, End::killed, short_log);
    CHECK(life.status().code() == ErrorCode::configuration);
    CHECK(life.status().hint().find("--log-bytes") != std::string::npos);
  }
  CHECK(opened_rows(*disk, End::power_lost) == told.rows);
}

TEST_CASE("an opening that is told to stop ends early, and changes nothing", "[opening]") {
  Machine machine;
  Told told;
  const std::unique_ptr<FaultDisk> disk = finished_disk(machine, told);
  for (int patience = 0; patience < 4; ++patience) {
    int asked = 0;
    LifeOptions options;
    options.durable.stopping = [&asked, patience] { return ++asked > patience; };
    DurableLife life(*disk, End::killed, options);
    if (life.status().ok()) break;
    CHECK(life.status().code() == ErrorCode::admin_shutdown);
  }
  CHECK(opened_rows(*disk, End::power_lost) == told.rows);
}

TEST_CASE("slots of earlier lives are retired, and ids go on", "[opening]") {
  Machine machine;
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  {
    DurableLife life(machine.disk, End::killed);
    REQUIRE(life.status().ok());
    REQUIRE(life.connect().ok());
    first = life.slot();
    REQUIRE(life.create_table("a").ok());
    REQUIRE(life.insert("a", 1, 1).ok());
    REQUIRE(life.close_slot().ok());
    REQUIRE(life.connect().ok());
    second = life.slot();
    REQUIRE(life.insert("a", 2, 2).ok());
  }
  DurableLife life(machine.disk, End::power_lost);
  REQUIRE(life.status().ok());
  CHECK(life.server().slots()->retired(first) == 1);
  REQUIRE(life.server().slots()->retired(second).has_value());
  CHECK(*life.server().slots()->retired(second) >= 1);
  CHECK(life.server().slots()->published({second, 1}));
  REQUIRE(life.connect().ok());
  CHECK(life.slot() > second);
}

TEST_CASE("timestamps go on behind those of the rows, though the clock was set back", "[opening]") {
  const bool in_checkpoint = GENERATE(false, true);
  Machine machine;
  LifeOptions options;
  options.server.protocol = "mvcc";
  constexpr std::uint64_t kLate_ns = 1000 * kSecond_ns;
  {
    DurableLife life(machine.disk, End::killed, options);
    REQUIRE(life.status().ok());
    REQUIRE(life.connect().ok());
    REQUIRE(life.create_table("a").ok());
    life.timestamp = kLate_ns;
    REQUIRE(life.insert("a", 1, 1).ok());
    CHECK(life.server().parts().clock_ns() < kLate_ns);
    if (in_checkpoint) {
      REQUIRE(life.close_slot().ok());
      REQUIRE(life.checkpoint().ok());
    }
  }
  DurableLife life(machine.disk, End::power_lost, options);
  REQUIRE(life.status().ok());
  CHECK(life.rows_by_key() == Rows{{"a", {{1, 1}}}});
  CHECK(life.server().parts().clock_ns() > kLate_ns);
}

}  // namespace namdb::memory
