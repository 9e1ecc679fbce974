#include "compute/protocol/nowait/no_wait.h"

#include <catch2/catch.hpp>

#include "compute/testing/protocol_scene.h"

namespace namdb::protocol::testing {
namespace no_wait_test {

using layout::HeaderWord;
using layout::Stamp;

constexpr Stamp kStored{16, 10};
constexpr Stamp kLater{16, 11};
constexpr Stamp kHolder{30, 7};
constexpr Stamp kCollector{layout::kCollectorSlot, 3};
// The priority that the transaction draws, and its lock word.
constexpr std::uint32_t kPriority = 1000;
constexpr HeaderWord kOwnLock = lock_word({kOwnSlot, kPriority});

struct NoWaitScene : ProtocolScene {
  NoWaitScene() : ProtocolScene({.protocol = "nowait"}) {
    worker.executor.advance(kPriority * PriorityClock::kTick_ns);
  }
};

TEST_CASE("the meaning of a met lock under NOWAIT, by the bytes of the record", "[nowait]") {
  struct DecisionRow {
    const char* name;
    HeaderWord header;
    Stamp version;
    const char* decision;
  };
  const std::vector<DecisionRow> rows = {
      {"it is not locked", free_word(kStored), kStored, "visible"},
      {"header and body of two versions", free_word(kLater), kStored, "torn"},
      {"another transaction holds it: no waiting", lock_word(kHolder), kStored, "conflict"},
      {"another transaction of the same slot holds it", lock_word({kOwnSlot, kPriority + 1}), kStored,
       "conflict"},
      {"the memory server holds it for a moment", lock_word(kCollector), kStored, "locked by other"},
      {"the transaction itself holds it", kOwnLock, kStored, "visible"},
      {"the own stamp without a lock is a version", free_word({kOwnSlot, kPriority}), kStored, "torn"},
  };
  for (const DecisionRow& row : rows) {
    INFO(row.name);
    NoWaitScene scene;
    REQUIRE(scene.begin().ok());
    REQUIRE(scene.worker.run(scene.locking().before_fetch()).ok());
    CHECK(scene.decide(row.header, {.stamp = row.version}) == row.decision);
  }
}

}  // namespace no_wait_test
}  // namespace namdb::protocol::testing
