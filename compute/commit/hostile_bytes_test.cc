// With any bytes in a region, a lookup, a walk and a chain's lock end in a decision or in an error, and ask
// for nothing outside of the region: random bytes, and random bytes that certify.
#include <catch2/catch.hpp>

#include "compute/commit/chain_locks.h"
#include "compute/testing/hostile_bytes.h"
#include "compute/testing/lookup_scene.h"

namespace namdb::protocol::testing {
namespace {

using layout::GlobalAddress;

constexpr int kRounds = 3000;

ReadDecision hostile_decision(Random& random) {
  constexpr std::array kAll{ReadDecision::visible,         ReadDecision::invisible, ReadDecision::invisible,
                            ReadDecision::locked_by_other, ReadDecision::torn,      ReadDecision::conflict};
  return kAll[random.below(kAll.size())];
}

Status retry_and_place(LookupScene& scene, ChainLocks& chains, const layout::Stamp& stamp) {
  if (Status status = scene.worker.run(chains.retry(stamp)); !status.ok()) return status;
  return scene.worker.run(chains.place());
}

}  // namespace

TEST_CASE("hostile bytes end every lookup in a decision, and lead it nowhere outside", "[hostile]") {
  for (const char* const protocol : {"si", "mvcc"}) {
    for (const char* const stages : {"one-sided", "find"}) {
      LookupScene scene({.protocol = protocol, .stages = stages});
      Random random(1);
      std::size_t present = 0;
      std::size_t absent = 0;
      std::size_t failed = 0;
      std::size_t waiting = 0;
      for (int round = 0; round < kRounds; ++round) {
        INFO(protocol << ", " << stages << ", round " << round);
        fill_with_hostile_bytes(scene.worker, random);
        Random decisions = random.fork();
        scene.decide([&decisions](const RecordRead&) { return hostile_decision(decisions); });
        if (random.chance(0.3)) scene.remember(random.chance(0.5) ? kRecord : kOtherRecord, 0x105);
        if (random.chance(0.8)) {
          scene.start();
        } else {
          scene.start_at(kRecord, 0x105);
        }
        const std::string decision = scene.run(20);
        REQUIRE(decision != "goes on");
        REQUIRE(decision != "no end");
        REQUIRE(scene.worker.fabric.outside() == 0);
        present += decision.starts_with("present");
        absent += decision.starts_with("absent");
        failed += scene.lookup.state() == Lookup::State::failed;
        waiting += scene.lookup.waiting();
        scene.worker.locations.erase(scene.bytes.hash(1));
      }
      // The bytes are hostile, and not only nonsense.
      CHECK(present > kRounds / 50);
      CHECK(absent > kRounds / 50);
      CHECK(failed > kRounds / 50);
      CHECK(waiting > 0);
    }
  }
}

TEST_CASE("hostile bytes end every chain's lock in a decision, and lead it nowhere outside", "[hostile]") {
  LookupScene scene;
  Random random(2);
  std::size_t taken = 0;
  std::size_t refused = 0;
  for (int round = 0; round < kRounds; ++round) {
    INFO("round " << round);
    const GlobalAddress main = scene.bytes.main_bucket(1);
    scene.bytes.bucket(main, {});
    txn::BatchSet batches(scene.worker.cluster);
    ChainLocks chains(scene.worker.state, batches, scene.worker.counters);
    Access access(scene.worker.table, key_of(scene.table, 1), scene.bytes.hash(1));
    scene.start();
    REQUIRE(scene.run() == "absent, chain of 1");
    access.lookup = std::move(scene.lookup);
    chains.add(access);
    REQUIRE(scene.worker.run(chains.reserve_space()).ok());
    fill_with_hostile_bytes(scene.worker, random);
    // No transaction waits for it.
    scene.bytes.word(main, layout::HeaderWord(scene.bytes.word(main) & ~std::uint64_t{1}).value());
    const layout::Stamp stamp{kOwnSlot, static_cast<std::uint32_t>(round) + 1};
    for (std::size_t i = 0; i < chains.size(); ++i) chains.post(i, stamp);
    REQUIRE(scene.worker.run(batches.run(scene.worker.counters)).ok());
    chains.check();
    const Status status = retry_and_place(scene, chains, stamp);
    REQUIRE(scene.worker.fabric.outside() == 0);
    ++(status.ok() ? taken : refused);
    chains.release(stamp);
    REQUIRE(scene.worker.run(batches.run(scene.worker.counters)).ok());
    CHECK(scene.bytes.header(main) != lock_word(stamp));
    chains.give_back_space();
  }
  CHECK(taken > kRounds / 100);
  CHECK(refused > kRounds / 100);
}

}  // namespace namdb::protocol::testing
