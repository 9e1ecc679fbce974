// Outcomes of commits that restarts of a memory server have cut off, in the lives that follow.
#include <catch2/catch.hpp>

#include "common/reactor/testing/manual_executor.h"
#include "memory/opening/testing/durable_life.h"

namespace namdb::memory {
namespace {

using reactor::testing::ManualExecutor;
using testing::DurableLife;
using testing::FaultDisk;
using End = FaultDisk::End;

}  // namespace

TEST_CASE("after a restart outcomes of the last life are known, and none is told wrongly in later ones",
          "[opening]") {
  ManualExecutor executor;
  FaultDisk disk(executor, 1);
  std::uint32_t slot = 0;
  constexpr std::uint32_t kCommits = 5;  // of which the owner has not finished the last
  const auto outcome = [&slot](DurableLife& life, std::uint32_t counter) {
    const ServerState& server = life.server().parts();
    return server.outcomes.of({slot, counter}, server.slots->cut_off(slot), server.executor.now_ns());
  };
  {
    DurableLife life(disk, End::killed);
    REQUIRE(life.connect().ok());
    slot = life.slot();
    REQUIRE(life.create_table("a").ok());
    for (std::uint32_t i = 0; i < kCommits; ++i) REQUIRE(life.insert("a", i, i).ok());
    // The checkpoint is the last life's, too.
    if (GENERATE(false, true)) REQUIRE(life.checkpoint().ok());
    disk.stop_at(disk.steps());  // or the slot would be decided at the end
  }
  const bool leased = GENERATE(false, true);
  {
    DurableLife life(disk, End::power_lost);
    REQUIRE(life.status().ok());
    CHECK(outcome(life, kCommits) == CommitOutcome::committed);
    CHECK(outcome(life, kCommits + 1) == CommitOutcome::undone);
    if (leased) REQUIRE(life.connect().ok());
    disk.stop_at(disk.steps());
  }
  {
    DurableLife life(disk, End::power_lost);
    REQUIRE(life.status().ok());
    // Its entries are still in the log.
    CHECK(outcome(life, kCommits) == CommitOutcome::committed);
    CHECK(outcome(life, kCommits + 1) == (leased ? CommitOutcome::unknown : CommitOutcome::undone));
    REQUIRE(life.checkpoint().ok());
  }
  DurableLife life(disk, End::power_lost);
  REQUIRE(life.status().ok());
  CHECK(outcome(life, kCommits) == CommitOutcome::unknown);
  CHECK(outcome(life, kCommits + 1) == CommitOutcome::unknown);
}

}  // namespace namdb::memory
