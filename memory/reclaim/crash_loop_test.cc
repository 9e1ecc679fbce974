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

// A compute server in a crash loop.
struct CrashLoop {
  CrashLoop(Options its_options, std::uint64_t region_bytes)
      : cluster(std::move(its_options), region_bytes), steady(cluster.client("s")) {
    REQUIRE(steady->connect(hello('s')).ok());
  }
  static Options options(std::uint32_t vector_capacity) {
    Options options = testing::small_options();
    options.vector_capacity = vector_capacity;
    options.max_transaction_ns = 60 * kSecond_ns;
    return options;
  }
  // The same name with another id: leases, opens a journal, and is gone. The error of one of the two.
  Status start_and_die(int start) {
    const auto client = cluster.client("l" + std::to_string(start));
    control::Hello greeting = hello('l');
    greeting.set_compute_id(std::string(12, 'l') + std::to_string(1000 + start));
    REQUIRE(client->connect(greeting).ok());
    const auto slot = client->lease();
    Status status = slot.ok() ? client->open_journal(slot->slot()).status() : slot.status();
    client->disconnect();
    cluster.run_for(5 * kMillisecond_ns);  // it is noticed, and the slot is closed
    return status;
  }
  std::uint64_t journal_bytes() const { return cluster.server->use().journal_bytes; }

  TestCluster cluster;
  std::unique_ptr<TestClient> steady;
};

TEST_CASE("200 starts that end in a kill take no more memory than one, and others lease") {
  CrashLoop loop(CrashLoop::options(1024), 4U << 20);
  REQUIRE(loop.steady->open_journal(loop.steady->lease()->slot()).ok());
  const std::uint64_t one_bytes = loop.journal_bytes();
  for (int start = 0; start < 200; ++start) {
    REQUIRE(loop.start_and_die(start).ok());
    CHECK(loop.journal_bytes() == one_bytes);
  }
  const auto other = loop.cluster.client("o");
  REQUIRE(other->connect(hello('o')).ok());
  CHECK(other->lease().ok());
}

TEST_CASE("slots of a compute server's earlier starts take at most half of the vector") {
  CrashLoop loop(CrashLoop::options(64), 8U << 20);
  int starts = 0;
  Status refused;
  while (refused.ok() && starts < 64) refused = loop.start_and_die(starts++);
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

TEST_CASE("journals of dead slots take an eighth of the region and one, until they are decided") {
  Options options = CrashLoop::options(64);
  options.server_count = 2;  // and the other one's address is unknown: no slot is closed
  CrashLoop loop(options, 4U << 20);
  // Of 128 KiB each.
  for (int start = 0; start < 5; ++start) REQUIRE(loop.start_and_die(start).ok());
  CHECK(loop.start_and_die(5).code() == ErrorCode::out_of_memory);
  CHECK(loop.journal_bytes() == 5 * (128U << 10));
}

}  // namespace
}  // namespace namdb::memory
