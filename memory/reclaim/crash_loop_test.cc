// A compute server that starts and is killed, again and again.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "memory/testing/test_cluster.h"

namespace namdb::memory {
namespace {

using testing::hello;
using testing::TestClient;
using testing::TestCluster;

Status finish(TestClient& client, std::uint32_t slot) {
  control::ClaimRepairRequest claim;
  claim.set_slot(slot);
  const auto claimed = client.call<control::ClaimRepairReply>(control::CLAIM_REPAIR, claim);
  if (!claimed.ok() || !claimed->granted()) return Status(ErrorCode::internal, "no claim");
  control::FinishRepairRequest request;
  request.set_slot(slot);
  request.set_repair_epoch(claimed->repair_epoch());
  return client.call<control::FinishRepairReply>(control::FINISH_REPAIR, request).status();
}

// A compute server in a crash loop, whatever repairs what it leaves.
struct CrashLoop {
  explicit CrashLoop(std::uint32_t vector_capacity, std::uint64_t region_bytes)
      : cluster(options(vector_capacity), region_bytes), steady(cluster.client("s")) {
    REQUIRE(steady->connect(hello('s')).ok());
  }
  static Options options(std::uint32_t vector_capacity) {
    Options options = testing::small_options();
    options.vector_capacity = vector_capacity;
    options.max_transaction_ns = 60 * kSecond_ns;
    return options;
  }
  // The same name with another id: leases, and is gone. The error of the lease.
  Status start_and_die(int start) {
    const auto client = cluster.client("l" + std::to_string(start));
    control::Hello greeting = hello('l');
    greeting.set_compute_id(std::string(12, 'l') + std::to_string(1000 + start));
    REQUIRE(client->connect(greeting).ok());
    const auto slot = client->lease();
    client->disconnect();
    cluster.run_for(kMillisecond_ns);
    return slot.status();
  }
  void repair_all() {
    const auto all = steady->call<control::ListSlotsReply>(control::LIST_SLOTS, control::ListSlotsRequest());
    REQUIRE(all.ok());
    for (const control::Slot& slot : all->slots()) {
      if (slot.state() == control::SLOT_DEAD) REQUIRE(finish(*steady, slot.slot()).ok());
    }
  }
  std::uint64_t journal_bytes() const { return cluster.server->use().journal_bytes; }

  TestCluster cluster;
  std::unique_ptr<TestClient> steady;
};

TEST_CASE("200 starts that end in a kill take no more memory than one, and others lease") {
  CrashLoop loop(1024, 4U << 20);
  REQUIRE(loop.steady->lease().ok());
  const std::uint64_t one_bytes = loop.journal_bytes();
  for (int start = 0; start < 200; ++start) {
    REQUIRE(loop.start_and_die(start).ok());
    CHECK(loop.journal_bytes() == 2 * one_bytes);
    loop.repair_all();
  }
  const auto other = loop.cluster.client("o");
  REQUIRE(other->connect(hello('o')).ok());
  CHECK(other->lease().ok());
}

TEST_CASE("slots of a compute server's earlier starts take at most half of the vector") {
  CrashLoop loop(64, 8U << 20);
  int starts = 0;
  Status refused;
  while (refused.ok() && starts < 64) {
    refused = loop.start_and_die(starts++);
    loop.repair_all();
  }
  CHECK(refused.code() == ErrorCode::limit_exceeded);
  CHECK(starts == 33);
  std::vector<std::unique_ptr<TestClient>> others;
  for (int i = 0; i < 31; ++i) {
    const auto& other = others.emplace_back(loop.cluster.client("o" + std::to_string(i)));
    control::Hello greeting = hello('o');
    greeting.set_compute_id(std::string(14, 'o') + std::to_string(10 + i));
    REQUIRE(other->connect(greeting).ok());
    CHECK(other->lease().ok());
  }
}

TEST_CASE("a lease waits for the repair of slots whose journals take too much, and not for ever") {
  CrashLoop loop(64, 4U << 20);
  // Of 128 KiB each; an eighth of the region is 512 KiB.
  for (int start = 0; start < 5; ++start) REQUIRE(loop.start_and_die(start).ok());
  const std::uint64_t begun_ns = loop.cluster.world.now_ns();
  const Status refused = loop.start_and_die(5);
  CHECK(refused.code() == ErrorCode::out_of_memory);
  CHECK(loop.cluster.world.now_ns() >= begun_ns + kSecond_ns);
  CHECK(loop.journal_bytes() == 5 * (128U << 10));
  fabric::Call call;
  call.method = static_cast<std::uint16_t>(control::LEASE_SLOT);
  const auto waiting = loop.cluster.client("w");
  REQUIRE(waiting->connect(hello('w')).ok());
  reactor::Gate gate;
  waiting->node().spawn(gate, [](fabric::Channel* channel, fabric::Call* posted) -> reactor::Task<void> {
    channel->post(*posted);
    const Status status = co_await posted->done();
    static_cast<void>(status);
  }(&waiting->channel(), &call));
  loop.cluster.run_for(kMillisecond_ns);
  CHECK(call.pending());
  loop.repair_all();
  loop.cluster.run_for(kMillisecond_ns);
  REQUIRE(!call.pending());
  CHECK(call.status().ok());
}

}  // namespace
}  // namespace namdb::memory
