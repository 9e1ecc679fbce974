// Slots that a worker leases, where the memory server leases no more.
#include "compute/txn/slot_keeper.h"

#include <catch2/catch.hpp>

#include "compute/testing/test_worker.h"

namespace namdb::txn {
namespace {

using protocol::testing::kOwnSlot;
using protocol::testing::TestWorker;

struct KeptSlots {
  TestWorker worker{{.servers = 2, .flushed = true}};

  Status acquired() { return worker.run(worker.slot_keeper.acquire()).status(); }
  void refuse_more() {
    worker.fabric.handle(control::LEASE_SLOT, [](std::string_view, std::string&) {
      return Status(ErrorCode::limit_exceeded, "a channel can hold at most 1 execution slots");
    });
  }
};

}  // namespace

TEST_CASE("where all slots were lost with a channel the transaction is to be tried again", "[slot_keeper]") {
  KeptSlots kept;
  auto slot = kept.worker.run(kept.worker.slot_keeper.acquire());
  REQUIRE(slot.ok());
  CHECK((*slot)->slot() == kOwnSlot);
  kept.refuse_more();
  CHECK(kept.acquired().ok());
  const auto counter = (*slot)->begin_commit_now({});
  REQUIRE(counter.has_value());
  kept.worker.cluster.channel(1).give_up(Status(ErrorCode::connection_failure, "the channel was cut"));
  REQUIRE(kept.worker.cluster.has_lost());
  REQUIRE(!kept.worker.cluster.failed());
  (*slot)->lose(*counter);
  CHECK(kept.acquired().code() == ErrorCode::serialization_failure);
  kept.worker.cluster.channel(0).give_up(Status(ErrorCode::connection_failure, "the end of the test"));
  kept.worker.slot_keeper.fail();
}

TEST_CASE("a memory server that leases no slot at all says why", "[slot_keeper]") {
  KeptSlots kept;
  kept.refuse_more();
  CHECK(kept.acquired().code() == ErrorCode::limit_exceeded);
}

}  // namespace namdb::txn
