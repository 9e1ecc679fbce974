// A caller that finds the region full while memory is on its way back waits for it, and not for ever.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "memory/testing/test_cluster.h"

namespace namdb::memory {
namespace {

using testing::TestClient;
using testing::TestCluster;

constexpr std::uint64_t kInterval_ns = 10 * kMillisecond_ns;

Options options() {
  Options options = testing::small_options();
  options.reuse_interval_ns = kInterval_ns;
  return options;
}

// A call that others may overtake.
struct Background {
  fabric::Call call;
  reactor::Gate gate;

  Background(TestClient& client, control::Method method, const std::string& request) {
    call.method = static_cast<std::uint16_t>(method);
    call.request = request;
    client.node().spawn(gate, [](fabric::Channel* channel, fabric::Call* posted) -> reactor::Task<void> {
      channel->post(*posted);
      const Status status = co_await posted->done();
      static_cast<void>(status);
    }(&client.channel(), &call));
  }
};

struct FullRegion {
  TestCluster cluster{options(), 2U << 20};
  std::unique_ptr<TestClient> client = cluster.client("c");
  std::vector<control::TableDescriptor> tables;

  // Of 60 KiB each.
  static control::TableDescriptor large(std::size_t number) {
    return testing::accounts("t" + std::to_string(number), 320);
  }
  FullRegion() {
    REQUIRE(client->connect(testing::hello('a')).ok());
    while (true) {
      auto created = client->create(large(tables.size()));
      if (!created.ok()) {
        REQUIRE(created.status().code() == ErrorCode::out_of_memory);
        break;
      }
      tables.push_back(std::move(*created));
      REQUIRE(tables.size() < 100);
    }
    REQUIRE(tables.size() > 4);
  }
  void drop_one() {
    control::DropTableRequest drop;
    drop.set_name(tables.back().name());
    REQUIRE(client->call<control::DropTableReply>(control::DROP_TABLE, drop).ok());
    control::DiscardTableRequest discard;
    discard.set_table(tables.back().id());
    REQUIRE(client->call<control::DiscardTableReply>(control::DISCARD_TABLE, discard).ok());
    tables.pop_back();
  }
  std::string preparation() {
    control::PrepareTableRequest prepare;
    *prepare.mutable_table() = large(1000);
    prepare.mutable_table()->set_id(1000);
    prepare.mutable_table()->set_generation(1);
    return prepare.SerializeAsString();
  }
};

}  // namespace

TEST_CASE("a table that finds the region full waits for the memory of a dropped one") {
  FullRegion full;
  full.drop_one();
  Background preparing(*full.client, control::PREPARE_TABLE, full.preparation());
  full.cluster.run_for(kMillisecond_ns);
  CHECK(preparing.call.pending());
  for (int i = 0; i < 4; ++i) {
    REQUIRE(full.client->acknowledge_all().ok());
    full.cluster.run_for(kInterval_ns);
  }
  REQUIRE(!preparing.call.pending());
  CHECK(preparing.call.status().ok());
}

TEST_CASE("records that find the region full wait for the memory of a dropped table") {
  FullRegion full;
  control::AllocateRecordsRequest request;
  request.set_table(full.tables.front().id());
  request.set_count(1);
  // Until its own extents, and those that tables leave to old versions, are used up.
  while (full.client->call<control::AllocateReply>(control::ALLOCATE_RECORDS, request).ok())
    request.set_count(4096);
  full.drop_one();
  Background allocating(*full.client, control::ALLOCATE_RECORDS, request.SerializeAsString());
  full.cluster.run_for(kMillisecond_ns);
  CHECK(allocating.call.pending());
  for (int i = 0; i < 4; ++i) {
    REQUIRE(full.client->acknowledge_all().ok());
    full.cluster.run_for(kInterval_ns);
  }
  REQUIRE(!allocating.call.pending());
  CHECK(allocating.call.status().ok());
}

TEST_CASE("a table does not wait for memory that does not come back, nor for ever for some that is kept") {
  FullRegion full;
  Background hopeless(*full.client, control::PREPARE_TABLE, full.preparation());
  full.cluster.run_for(kMillisecond_ns);
  REQUIRE(!hopeless.call.pending());
  CHECK(hopeless.call.status().code() == ErrorCode::out_of_memory);
  // No worker acknowledges.
  full.drop_one();
  Background kept(*full.client, control::PREPARE_TABLE, full.preparation());
  full.cluster.run_for(4 * kInterval_ns);
  CHECK(kept.call.pending());
  full.cluster.run_for(2 * kInterval_ns);
  REQUIRE(!kept.call.pending());
  CHECK(kept.call.status().code() == ErrorCode::out_of_memory);
}

TEST_CASE("a compute server that waits for memory is fenced without delay") {
  FullRegion full;
  full.drop_one();
  Background kept(*full.client, control::PREPARE_TABLE, full.preparation());
  const auto other = full.cluster.client("d");
  REQUIRE(other->connect(testing::hello_of_memory_server('b')).ok());
  control::FenceRequest fence;
  fence.set_compute_id(testing::compute_id('a'));
  REQUIRE(other->call<control::FenceReply>(control::FENCE, fence).ok());
  full.cluster.run_for(kMillisecond_ns);
  CHECK(!kept.call.pending());
}

}  // namespace namdb::memory
