// A memory server's database in the lives that follow each other on one disk: all that was acknowledged is
// there, whatever ended the life before, and wherever in it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/reactor/testing/manual_executor.h"
#include "memory/opening/testing/durable_life.h"

namespace namdb::memory {
namespace {

using reactor::testing::ManualExecutor;
using testing::DurableLife;
using testing::FaultDisk;
using testing::kDatabaseFolder;
using testing::LifeOptions;
using Rows = DurableLife::Rows;
using End = FaultDisk::End;

struct Machine {
  ManualExecutor executor;
  FaultDisk disk{executor, 1};
};

// The answers that clients got, and the change for which they got none.
struct Told {
  Rows rows;
  std::optional<Rows> perhaps;  // the change that got no answer is there
  bool is(const Rows& found) const { return found == rows || (perhaps && found == *perhaps); }
};

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

// One change after the other, until the disk stops.
class Script {
 public:
  explicit Script(Told& told) : told_(told) {}

  void run(DurableLife& life) {
    if (!life.connect().ok()) return;
    const auto tables = [](Rows& rows) { rows["a"]; };
    step([&] { return life.create_table("a"); }, tables);
    for (std::int64_t key = 0; key < 8; ++key) insert(life, "a", key, key);
    update(life, "a", 3, 30);
    step([&] { return life.checkpoint(); }, [](Rows&) {});
    update(life, "a", 3, 31);
    update(life, "a", 4, 40);
    erase(life, "a", 5);
    step([&] { return life.create_table("b"); }, [](Rows& rows) { rows["b"]; });
    for (std::int64_t key = 0; key < 5; ++key) insert(life, "b", key, -key);
    step([&] { return life.create_table("c"); }, [](Rows& rows) { rows["c"]; });
    insert(life, "c", 1, 1);
    step([&] { return life.checkpoint(); }, [](Rows&) {});
    insert(life, "a", 5, 50);
    erase(life, "b", 2);
    step([&] { return life.drop_table("c"); }, [](Rows& rows) { rows.erase("c"); });
    insert(life, "a", 100, 100);
    step([&] { return life.close_slot(); }, [](Rows&) {});
    done_ = !stopped_;
  }
  bool done() const { return done_; }

 private:
  void step(const std::function<Status()>& change, const std::function<void(Rows&)>& effect) {
    if (stopped_) return;
    told_.perhaps = told_.rows;
    effect(*told_.perhaps);
    stopped_ = !change().ok();
    if (!stopped_) told_.rows = *told_.perhaps;
  }
  void insert(DurableLife& life, const std::string& table, std::int64_t key, std::int64_t value) {
    step([&] { return life.insert(table, key, value); }, [&](Rows& rows) { rows[table][key] = value; });
  }
  void update(DurableLife& life, const std::string& table, std::int64_t key, std::int64_t value) {
    step([&] { return life.update(table, key, value); }, [&](Rows& rows) { rows[table][key] = value; });
  }
  void erase(DurableLife& life, const std::string& table, std::int64_t key) {
    step([&] { return life.erase(table, key); }, [&](Rows& rows) { rows[table].erase(key); });
  }

  Told& told_;
  bool stopped_ = false;
  bool done_ = false;
};

// The rows that the next life finds, in the records and by its buckets.
Rows opened_rows(FaultDisk& disk, End end) {
  DurableLife life(disk, end);
  INFO(life.status().to_string());
  REQUIRE(life.status().ok());
  const Rows rows = life.rows();
  CHECK(life.rows_by_key() == rows);
  return rows;
}

// A disk on which a life has come to the end of the script.
std::unique_ptr<FaultDisk> finished_disk(Machine& machine, Told& told) {
  {
    DurableLife life(machine.disk, End::killed);
    REQUIRE(life.status().ok());
    Script script(told);
    script.run(life);
    REQUIRE(script.done());
  }
  return machine.disk.copy(7);
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

TEST_CASE("whatever step a life ends at, the next one has all that was acknowledged", "[opening]") {
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

TEST_CASE("an error of the disk ends the log, and nothing that was acknowledged is lost", "[opening]") {
  std::uint64_t failures = 0;
  bool done = false;
  for (std::uint64_t step = 0; !done; step += 3) {
    INFO("step " << step);
    Machine machine;
    Told told;
    Status failure;
    {
      LifeOptions options;
      options.fail_at = step;
      options.durable.log.on_failure = [&failure](const Status& status) { failure = status; };
      DurableLife life(machine.disk, End::killed, options);
      if (life.status().ok()) {
        Script script(told);
        script.run(life);
        done = script.done();
      }
      if (!failure.ok()) ++failures;
    }
    CHECK(told.is(opened_rows(machine.disk, End::power_lost)));
  }
  CHECK(failures > 10);
}

TEST_CASE("a damaged chunk is taken from the checkpoint before, and written anew", "[opening]") {
  Machine machine;
  Told told;
  const std::unique_ptr<FaultDisk> finished = finished_disk(machine, told);
  std::vector<std::string> chunks;
  {
    DurableLife life(*finished, End::killed);
    REQUIRE(life.status().ok());
    const Manifest& newest = *life.database().checkpoints().newest();
    for (const ChunkRef& ref : newest.chunks) {
      if (ref.generation == newest.generation)
        chunks.push_back(kDatabaseFolder + "/checkpoint/" + chunk_name(ref.key, ref.generation));
    }
  }
  REQUIRE_FALSE(chunks.empty());
  for (const std::string& chunk : chunks) {
    INFO(chunk);
    const std::unique_ptr<FaultDisk> disk = finished->copy(3);
    disk->flip_bit(chunk, 8 * 100);
    {
      DurableLife life(*disk, End::killed);
      INFO(life.status().to_string());
      REQUIRE(life.status().ok());
      CHECK(life.database().opened().damaged_chunks == 1);
      CHECK(life.rows_by_key() == told.rows);
      REQUIRE(life.checkpoint().ok());
    }
    DurableLife life(*disk, End::power_lost);
    REQUIRE(life.status().ok());
    CHECK(life.database().opened().damaged_chunks == 0);
    CHECK(life.rows_by_key() == told.rows);
  }
}

TEST_CASE("damage of the log is an error that says what is lost; forced, all else is there", "[opening]") {
  Machine machine;
  Told told;
  {
    DurableLife life(machine.disk, End::killed);
    REQUIRE(life.status().ok());
    REQUIRE(life.connect().ok());
    REQUIRE(life.create_table("a").ok());
    for (std::int64_t key = 0; key < 20; ++key) REQUIRE(life.insert("a", key, key).ok());
  }
  // Each flush is a block of a page. The first of a row says which block of records was taken; this is the
  // second.
  machine.disk.flip_bit(kDatabaseFolder + "/log/" + segment_name(0), 8 * (7 * 4096 + 200));
  const std::unique_ptr<FaultDisk> disk = machine.disk.copy(1);
  {
    DurableLife life(*disk, End::killed);
    CHECK(life.status().code() == ErrorCode::corrupt_data);
    CHECK(life.status().message().find("bytes of the log are lost") != std::string::npos);
    CHECK(life.status().hint().find("--force lost-log") != std::string::npos);
  }
  LifeOptions forced;
  forced.durable.force_lost_log = true;
  Rows rows;
  {
    DurableLife life(*disk, End::killed, forced);
    INFO(life.status().to_string());
    REQUIRE(life.status().ok());
    CHECK(life.database().opened().lost.size() == 1);
    rows = life.rows_by_key();
    CHECK(rows["a"].size() == 19);
    REQUIRE(life.checkpoint().ok());
  }
  // The checkpoint lies behind the damage.
  CHECK(opened_rows(*disk, End::power_lost) == rows);
}

TEST_CASE("forced, a database opens although changes of the catalog are lost, and later ones are there",
          "[opening]") {
  Machine machine;
  std::vector<std::uint64_t> blocks;  // offsets of the lost change's
  LifeOptions forced;
  forced.durable.log.segment_bytes = 256U << 10;
  {
    DurableLife life(machine.disk, End::killed, forced);
    REQUIRE(life.status().ok());
    REQUIRE(life.connect().ok());
    const auto next_block = [&life] {
      const std::uint64_t until_ns = life.cluster().node.now_ns() + kSecond_ns;
      const auto pause = life.cluster().world.run(life.cluster().node, life.database().log().pause(until_ns));
      REQUIRE(pause.ok());
      REQUIRE(pause->segment == 0);
      life.database().log().resume();
      return pause->offset;
    };
    REQUIRE(life.create_table("a").ok());
    REQUIRE(life.insert("a", 1, 10).ok());
    std::uint64_t begin = next_block();
    SECTION("a table's creation, which goes with its rows, and its later drop changes nothing") {
      REQUIRE(life.create_table("lost").ok());
      for (const std::uint64_t end = next_block(); begin < end; begin += kDiskPage_bytes)
        blocks.push_back(begin);
      REQUIRE(life.insert("lost", 1, 1).ok());
      REQUIRE(life.create_table("b").ok());
      REQUIRE(life.insert("b", 2, 20).ok());
      REQUIRE(life.drop_table("lost").ok());
    }
    SECTION("a table's drop, and there is another one of that name") {
      REQUIRE(life.create_table("b").ok());
      REQUIRE(life.insert("b", 1, 1).ok());
      begin = next_block();
      REQUIRE(life.drop_table("b").ok());
      for (const std::uint64_t end = next_block(); begin < end; begin += kDiskPage_bytes)
        blocks.push_back(begin);
      REQUIRE(life.create_table("b").ok());
      REQUIRE(life.insert("b", 2, 20).ok());
    }
    REQUIRE(life.insert("a", 3, 30).ok());
  }
  REQUIRE_FALSE(blocks.empty());
  for (const std::uint64_t block : blocks)
    machine.disk.flip_bit(kDatabaseFolder + "/log/" + segment_name(0), 8 * (block + kBlockHeader_bytes));
  forced.durable.force_lost_log = true;
  Rows rows{{"a", {{1, 10}, {3, 30}}}, {"b", {{2, 20}}}};
  {
    DurableLife life(machine.disk, End::killed, forced);
    INFO(life.status().to_string());
    REQUIRE(life.status().ok());
    for (const std::string& line : life.database().opened().lost) UNSCOPED_INFO(line);
    CHECK(std::ranges::any_of(life.database().opened().lost, [](const std::string& line) {
      return line.find("control entries") != std::string::npos;
    }));
    CHECK(life.rows_by_key() == rows);
    REQUIRE(life.connect().ok());
    REQUIRE(life.create_table("c").ok());
    REQUIRE(life.insert("c", 4, 40).ok());
    rows["c"][4] = 40;
    REQUIRE(life.checkpoint().ok());
  }
  CHECK(opened_rows(machine.disk, End::power_lost) == rows);
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

TEST_CASE("timestamps go on behind those of the rows, wherever the clock begins", "[opening]") {
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
  }
  DurableLife life(machine.disk, End::power_lost, options);
  REQUIRE(life.status().ok());
  CHECK(life.rows_by_key() == Rows{{"a", {{1, 1}}}});
  CHECK(life.server().parts().clock_ns() > kLate_ns);
}

}  // namespace namdb::memory
