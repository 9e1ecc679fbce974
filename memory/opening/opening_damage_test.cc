// A memory server's database on a disk that fails, is full or damaged: it says which part is lost, and has
// all else.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "memory/opening/testing/disk_lives.h"

namespace namdb::memory {
namespace opening_damage_test {

using testing::DurableLife;
using testing::FaultDisk;
using testing::finished_disk;
using testing::kDatabaseFolder;
using testing::LifeOptions;
using testing::Machine;
using testing::opened_rows;
using testing::Script;
using testing::Told;
using Rows = DurableLife::Rows;
using End = FaultDisk::End;

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

TEST_CASE("without its first control entry a database opens, forced, by the settings of its first checkpoint",
          "[opening]") {
  Machine machine;
  LifeOptions forced;
  {
    DurableLife life(machine.disk, End::killed);
    REQUIRE(life.status().ok());
    REQUIRE(life.connect().ok());
    REQUIRE(life.create_table("a").ok());
    REQUIRE(life.insert("a", 1, 1).ok());
  }
  // The log's first block has nothing else.
  machine.disk.flip_bit(kDatabaseFolder + "/log/" + segment_name(0),
                        8 * (kDiskPage_bytes + kBlockHeader_bytes));
  forced.durable.force_lost_log = true;
  Rows rows{{"a", {{1, 1}}}};
  {
    DurableLife life(machine.disk, End::killed, forced);
    INFO(life.status().to_string());
    REQUIRE(life.status().ok());
    CHECK(life.database().opened().lost.size() == 1);
    CHECK(life.rows_by_key() == rows);
    REQUIRE(life.connect().ok());
    REQUIRE(life.create_table("b").ok());
    rows["b"];
    REQUIRE(life.checkpoint().ok());
  }
  CHECK(opened_rows(machine.disk, End::power_lost) == rows);
}

TEST_CASE("an entry that cannot be redone does not come into the log, and its owner's slot is decided",
          "[opening]") {
  Machine machine;
  std::vector<std::string> notices;
  LifeOptions options;
  options.server.notice = [&notices](const std::string& line) { notices.push_back(line); };
  Rows rows{{"a", {{1, 1}}}};
  {
    DurableLife life(machine.disk, End::killed, options);
    REQUIRE(life.status().ok());
    REQUIRE(life.connect().ok());
    REQUIRE(life.create_table("a").ok());
    REQUIRE(life.insert("a", 1, 1).ok());
    const std::uint32_t slot = life.slot();
    const Status refused = life.insert_flawed("a", 2, DurableLife::Flaw::length);
    CHECK(refused.code() == ErrorCode::protocol_violation);
    CHECK(refused.message().find("commit 2 of slot " + std::to_string(slot)) != std::string::npos);
    CHECK(life.server().status().entries_refused() == 1);
    CHECK(std::ranges::count_if(notices, [](const std::string& line) {
            return line.find("is refused") != std::string::npos;
          }) == 1);
    life.die();
    CHECK(life.server().slots()->retired(slot) == 1);
    REQUIRE(life.connect().ok());
    REQUIRE(life.insert("a", 3, 3).ok());
    rows["a"][3] = 3;
  }
  CHECK(opened_rows(machine.disk, End::power_lost) == rows);
}

TEST_CASE("a change that the records contradict keeps the database shut, and forced it is left out",
          "[opening]") {
  Machine machine;
  {
    DurableLife life(machine.disk, End::killed);
    REQUIRE(life.status().ok());
    REQUIRE(life.connect().ok());
    REQUIRE(life.create_table("a").ok());
    REQUIRE(life.insert("a", 1, 1).ok());
    REQUIRE(life.insert_flawed("a", 2, DurableLife::Flaw::body).ok());
    REQUIRE(life.insert("a", 3, 3).ok());
  }
  {
    DurableLife life(machine.disk, End::killed);
    CHECK(life.status().code() == ErrorCode::corrupt_data);
    CHECK(life.status().message().find("does not fit its table") != std::string::npos);
    CHECK(life.status().hint().find("--force unfit-entries") != std::string::npos);
  }
  const Rows rows{{"a", {{1, 1}, {3, 3}}}};
  LifeOptions forced;
  forced.durable.force_unfit_entries = true;
  {
    DurableLife life(machine.disk, End::killed, forced);
    INFO(life.status().to_string());
    REQUIRE(life.status().ok());
    REQUIRE(life.database().opened().lost.size() == 1);
    CHECK(life.database().opened().lost[0].find("does not fit its table") != std::string::npos);
    CHECK(life.rows_by_key() == rows);
    REQUIRE(life.checkpoint().ok());
  }
  CHECK(opened_rows(machine.disk, End::power_lost) == rows);
}

TEST_CASE("a log that is full of commits of a compute server that died takes their decision, and gets room",
          "[opening]") {
  Machine machine;
  LifeOptions options;
  options.durable.log.max_bytes = 4 * options.durable.log.segment_bytes;
  options.durable.log.reserve_bytes = options.durable.log.segment_bytes / 2;
  Rows rows;
  {
    DurableLife life(machine.disk, End::killed, options);
    REQUIRE(life.status().ok());
    REQUIRE(life.connect().ok());
    REQUIRE(life.create_table("a").ok());
    Status status;
    for (std::int64_t key = 0; status.ok(); ++key) {
      status = life.insert("a", key, key);
      if (status.ok()) rows["a"][key] = key;
      REQUIRE(key < 1000);
    }
    CHECK(status.code() == ErrorCode::disk_full);
    const std::uint32_t slot = life.slot();
    life.die();
    CHECK(life.server().slots()->retired(slot).has_value());
    for (int i = 0; i < 2; ++i) REQUIRE(life.checkpoint().ok());
    REQUIRE(life.connect().ok());
    REQUIRE(life.insert("a", 1000, 1).ok());
    rows["a"][1000] = 1;
  }
  CHECK(opened_rows(machine.disk, End::power_lost) == rows);
}

TEST_CASE("a log that is cut at any page opens with the commits before that, or names the file",
          "[opening]") {
  Machine machine;
  {
    DurableLife life(machine.disk, End::killed);
    REQUIRE(life.status().ok());
    REQUIRE(life.connect().ok());
    REQUIRE(life.create_table("a").ok());
    for (std::int64_t key = 0; key < 8; ++key) REQUIRE(life.insert("a", key, key).ok());
  }
  std::uint64_t number = 0;
  while (machine.disk.has(kDatabaseFolder + "/log/" + segment_name(number + 1))) ++number;
  std::size_t most = 0;
  for (std::uint64_t segment = 0; segment <= number; ++segment) {
    const std::string path = kDatabaseFolder + "/log/" + segment_name(segment);
    const std::uint64_t length = machine.disk.bytes(path).size();
    for (std::uint64_t page = 0; page < length; page += kDiskPage_bytes) {
      INFO(path << " at " << page);
      // Shorter, which no loss of power does.
      const std::unique_ptr<FaultDisk> cut = machine.disk.copy(1);
      cut->cut(path, page);
      {
        DurableLife life(*cut, End::killed);
        CHECK(life.status().code() == ErrorCode::corrupt_data);
        CHECK(life.status().message().find(path) != std::string::npos);
        CHECK(life.status().hint().find("from a backup") != std::string::npos);
      }
      // As if nothing behind had been written.
      if (page == 0) continue;
      const std::unique_ptr<FaultDisk> ends = machine.disk.copy(1);
      const std::vector<std::byte> nothing(length - page);
      ends->overwrite(path, page, nothing);
      DurableLife life(*ends, End::killed);
      if (!life.status().ok()) {
        CHECK(life.status().code() == ErrorCode::corrupt_data);
        continue;
      }
      const Rows rows = life.rows_by_key();
      const std::size_t count = rows.contains("a") ? rows.at("a").size() : 0;
      CHECK(count >= most);
      most = std::max(most, count);
      for (std::size_t key = 0; key < count; ++key)
        CHECK(rows.at("a").contains(static_cast<std::int64_t>(key)));
    }
  }
  CHECK(most == 8);
}

TEST_CASE("a damaged manifest is passed for the checkpoint before, and two of them are named", "[opening]") {
  Machine machine;
  Told told;
  const std::unique_ptr<FaultDisk> finished = finished_disk(machine, told);
  std::vector<std::string> manifests;
  for (std::uint64_t generation = 1; generation < 9; ++generation) {
    const std::string path = kDatabaseFolder + "/checkpoint/" + manifest_name(generation);
    if (finished->has(path)) manifests.push_back(path);
  }
  REQUIRE(manifests.size() == 2);
  Random random(4);
  for (int round = 0; round < 30; ++round) {
    const std::unique_ptr<FaultDisk> disk = finished->copy(1);
    disk->flip_bit(manifests.back(), random.below(8 * 100));
    CHECK(opened_rows(*disk, End::killed) == told.rows);
    disk->flip_bit(manifests.front(), random.below(8 * 100));
    DurableLife life(*disk, End::killed);
    CHECK(life.status().code() == ErrorCode::corrupt_data);
    CHECK(life.status().message().find("manifest") != std::string::npos);
    CHECK(life.status().hint().find("from a backup") != std::string::npos);
  }
}

}  // namespace opening_damage_test
}  // namespace namdb::memory
