// Routines in the lives of a memory server that follow each other on one disk: all that was acknowledged is
// there, whatever ended the life before, and wherever in it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "memory/opening/testing/disk_lives.h"

namespace namdb::memory {
namespace opening_routines_test {

using testing::DurableLife;
using testing::FaultDisk;
using testing::kDatabaseFolder;
using testing::LifeOptions;
using testing::Machine;
using Definitions = std::map<std::string, std::string>;  // by name
using End = FaultDisk::End;

// The clients' answers, and the change for which they got none.
struct ToldRoutines {
  Definitions definitions;
  std::optional<Definitions> perhaps;
  bool is(const Definitions& found) const { return found == definitions || (perhaps && found == *perhaps); }
};

// Changes of routines, one after the other. False when the disk has stopped before the end.
bool change_routines(DurableLife& life, ToldRoutines& told) {
  struct Change {
    std::string name;  // empty: a checkpoint
    std::optional<std::string> definition;
  };
  const std::string longer(20'000, 'd');
  const std::vector<Change> changes = {{"r", "first"},  {"s", "other"},     {"", std::nullopt},
                                       {"r", "second"}, {"t", longer},      {"s", std::nullopt},
                                       {"t", "short"},  {"s", "again"},     {"", std::nullopt},
                                       {"u", longer},   {"r", std::nullopt}};
  if (!life.connect().ok()) return false;
  for (const Change& change : changes) {
    told.perhaps = told.definitions;
    Status status;
    if (change.name.empty()) {
      status = life.checkpoint();
    } else if (change.definition) {
      (*told.perhaps)[change.name] = *change.definition;
      status = life.put_routine(change.name, *change.definition);
    } else {
      told.perhaps->erase(change.name);
      status = life.drop_routine(change.name);
    }
    if (!status.ok()) return false;
    told.definitions = *told.perhaps;
  }
  return true;
}

Definitions definitions_of(const DurableLife& life) {
  Definitions found;
  for (const auto& [name, routine] : life.routines()) found[name] = routine.definition();
  return found;
}

Definitions opened_definitions(FaultDisk& disk, End end) {
  DurableLife life(disk, end);
  INFO(life.status().to_string());
  REQUIRE(life.status().ok());
  return definitions_of(life);
}

TEST_CASE("a life may end at any step, and the next one has all routines that were acknowledged",
          "[opening]") {
  const End end = GENERATE(End::killed, End::power_lost);
  bool done = false;
  std::uint64_t step = 0;
  for (; !done; ++step) {
    INFO("step " << step);
    Machine machine;
    ToldRoutines told;
    {
      LifeOptions options;
      options.stop_at = step;
      DurableLife life(machine.disk, End::killed, options);
      if (life.status().ok()) done = change_routines(life, told);
    }
    const Definitions found = opened_definitions(machine.disk, end);
    CHECK(told.is(found));
    CHECK(opened_definitions(machine.disk, End::power_lost) == found);
  }
  CHECK(step > 30);
}

TEST_CASE("a routine keeps its number and version from life to life, and no other gets the number",
          "[opening]") {
  const bool by_checkpoint = GENERATE(false, true);
  Machine machine;
  std::string kept;
  std::uint32_t dropped_id = 0;
  std::uint64_t version = 0;
  {
    DurableLife life(machine.disk, End::killed);
    REQUIRE(life.status().ok());
    REQUIRE(life.connect().ok());
    REQUIRE(life.put_routine("kept", "first").ok());
    REQUIRE(life.put_routine("kept", "second").ok());
    REQUIRE(life.put_routine("dropped", "text").ok());
    kept = life.routines().at("kept").SerializeAsString();
    dropped_id = life.routines().at("dropped").id();
    REQUIRE(life.drop_routine("dropped").ok());
    version = life.server().catalog()->version();
    if (by_checkpoint) REQUIRE(life.checkpoint().ok());
  }
  DurableLife life(machine.disk, End::power_lost);
  REQUIRE(life.status().ok());
  REQUIRE(life.routines().size() == 1);
  CHECK(life.routines().at("kept").SerializeAsString() == kept);
  CHECK(life.server().catalog()->version() >= version);
  REQUIRE(life.connect().ok());
  REQUIRE(life.put_routine("dropped", "text").ok());
  CHECK(life.routines().at("dropped").id() > dropped_id);
  CHECK(life.routines().at("dropped").version() > version);
}

TEST_CASE("forced, a database opens although changes of routines are lost", "[opening]") {
  Machine machine;
  LifeOptions forced;
  forced.durable.log.segment_bytes = 256U << 10;
  std::vector<std::uint64_t> blocks;  // offsets of the lost change's
  Definitions expected = {{"kept", "text"}};
  std::uint32_t newest_id = 0;
  bool one_is_left_out = false;
  {
    DurableLife life(machine.disk, End::killed, forced);
    REQUIRE(life.status().ok());
    REQUIRE(life.connect().ok());
    const auto next_block = [&life] {
      const std::uint64_t until_ns = life.cluster().node.now_ns() + kSecond_ns;
      const auto pause = life.cluster().world.run(life.cluster().node, life.database().log().pause(until_ns));
      REQUIRE(pause.ok());
      life.database().log().resume();
      return pause->offset;
    };
    const auto lose_from = [&](std::uint64_t begin) {
      for (const std::uint64_t end = next_block(); begin < end; begin += kDiskPage_bytes)
        blocks.push_back(begin);
    };
    REQUIRE(life.put_routine("kept", "text").ok());
    SECTION("a creation, and the later drop changes nothing") {
      const std::uint64_t begin = next_block();
      REQUIRE(life.put_routine("lost", "text").ok());
      newest_id = life.routines().at("lost").id();
      lose_from(begin);
      REQUIRE(life.drop_routine("lost").ok());
    }
    SECTION("a drop, and there is another one of that name") {
      REQUIRE(life.put_routine("r", "older").ok());
      const std::uint64_t begin = next_block();
      REQUIRE(life.drop_routine("r").ok());
      lose_from(begin);
      REQUIRE(life.put_routine("r", "newer").ok());
      newest_id = life.routines().at("r").id();
      expected["r"] = "newer";
      one_is_left_out = true;
    }
  }
  REQUIRE_FALSE(blocks.empty());
  for (const std::uint64_t block : blocks)
    machine.disk.flip_bit(kDatabaseFolder + "/log/" + segment_name(0), 8 * (block + kBlockHeader_bytes));
  forced.durable.force_lost_log = true;
  {
    DurableLife life(machine.disk, End::killed, forced);
    INFO(life.status().to_string());
    REQUIRE(life.status().ok());
    CHECK(definitions_of(life) == expected);
    const std::vector<std::string>& lost = life.database().opened().lost;
    CHECK(one_is_left_out == std::ranges::any_of(lost, [](const std::string& line) {
            return line.find("a routine \"r\"") != std::string::npos;
          }));
    REQUIRE(life.connect().ok());
    REQUIRE(life.put_routine("later", "text").ok());
    expected["later"] = "text";
    CHECK(life.routines().at("later").id() > newest_id);
    REQUIRE(life.checkpoint().ok());
  }
  CHECK(opened_definitions(machine.disk, End::power_lost) == expected);
}

}  // namespace opening_routines_test
}  // namespace namdb::memory
