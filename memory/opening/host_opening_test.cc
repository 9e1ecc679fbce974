// A memory server's side of opening together with others, against a made-up memory server 0: which calls it
// takes, and which it refuses.
#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>

#include "memory/checkpoint/restorer.h"
#include "memory/opening/host_opening.h"
#include "memory/testing/test_cluster.h"

namespace namdb::memory {
namespace {

constexpr std::uint64_t kHostDatabase = 0xda7aba5e;

Options second_of_two() {
  Options options = testing::small_options();
  options.server_id = 1;
  options.server_count = 2;
  options.durability = Durability::flushed;
  return options;
}

// Nothing is derived but when it is told.
class Unopened final : public UnopenedDatabase {
 public:
  reactor::Task<Status> confirm_log() override {
    while (!confirmed) co_await executor->sleep_for(kMillisecond_ns);
    co_return Status();
  }
  reactor::Task<Status> derive(const control::DeriveRequest* /*request*/, IndexLoads* loads) override {
    ++derived;
    if (waits_for_index == 0) co_return Status();
    co_return co_await loads->complete(waits_for_index);
  }
  bool lost_log() const override { return false; }
  std::uint64_t largest_timestamp() const override { return 17; }
  reactor::Executor* executor = nullptr;
  bool confirmed = true;
  std::uint32_t waits_for_index = 0;
  int derived = 0;
};

struct Host {
  Host() : replay(*parts().region, parts().tables, restorer, parts().options, state) {
    parts().opening = true;
    parts().admits_workers = false;
    parts().opening_service = &opening;
    unopened.executor = &cluster.node;
  }
  ~Host() { cluster.world.run(cluster.node, opening.close()); }

  ServerState& parts() { return cluster.server->parts(); }
  Status gather(std::uint64_t coordinator, std::uint64_t sequence, control::GatherReply* reply = nullptr) {
    control::GatherRequest request;
    request.set_round(coordinator + sequence);
    request.set_database_id(database);
    request.set_coordinator(coordinator);
    request.set_sequence(sequence);
    control::GatherReply ignored;
    return cluster.world.run(cluster.node, opening.gather(&request, reply == nullptr ? &ignored : reply));
  }
  Status derive(std::uint64_t round) {
    control::DeriveRequest request;
    request.set_round(round);
    control::DeriveReply reply;
    return cluster.world.run(cluster.node, opening.derive(&request, &reply));
  }
  Status serve(std::uint64_t round) {
    control::ServeRequest request;
    request.set_round(round);
    request.add_epochs(71);
    request.add_epochs(cluster.server->epoch());
    return cluster.world.run(cluster.node, opening.serve(&request));
  }

  std::uint64_t database = kHostDatabase;
  testing::TestCluster cluster{second_of_two()};
  control::ControlState state;
  Restorer restorer{*parts().region, parts().tables};
  LogReplay replay;
  Unopened unopened;
  HostOpening opening{parts(), kHostDatabase, unopened, replay};
};

}  // namespace

TEST_CASE("workers come once the server serves, with the epochs of all servers", "[together]") {
  Host host;
  const auto worker = host.cluster.client("w");
  CHECK(worker->connect(testing::hello('a')).code() == ErrorCode::cannot_connect_now);
  control::GatherReply gathered;
  REQUIRE(host.gather(1000, 1, &gathered).ok());
  CHECK(gathered.epoch() == host.cluster.server->epoch());
  CHECK_FALSE(gathered.was_open());
  // Nothing is derived yet.
  CHECK(host.serve(1001).code() == ErrorCode::cannot_connect_now);
  REQUIRE(host.derive(1001).ok());
  CHECK(worker->connect(testing::hello('a')).code() == ErrorCode::cannot_connect_now);
  REQUIRE(host.serve(1001).ok());
  REQUIRE(worker->connect(testing::hello('a')).ok());
  const auto join = [&](std::uint64_t first) {
    control::JoinClusterRequest request;
    request.add_epochs(first);
    request.add_epochs(host.cluster.server->epoch());
    return worker->call<control::JoinClusterReply>(control::JOIN_CLUSTER, request).status().code();
  };
  CHECK(join(72) == ErrorCode::cannot_connect_now);

  // Another server opens again: this one is open all the time, and its workers have to leave.
  REQUIRE(host.gather(1000, 2, &gathered).ok());
  CHECK(gathered.was_open());
  CHECK_FALSE(worker->call<control::HeartbeatReply>(control::HEARTBEAT, control::HeartbeatRequest()).ok());
  REQUIRE(host.derive(1002).ok());
  REQUIRE(host.serve(1002).ok());
  CHECK(host.unopened.derived == 1);
}

TEST_CASE("calls of rounds that are over change nothing", "[together]") {
  Host host;
  REQUIRE(host.gather(1000, 2).ok());
  // It was overtaken.
  CHECK(host.gather(1000, 1).code() == ErrorCode::cannot_connect_now);
  CHECK(host.derive(1001).code() == ErrorCode::cannot_connect_now);
  REQUIRE(host.derive(1002).ok());
  REQUIRE(host.gather(1000, 3).ok());
  CHECK(host.serve(1002).code() == ErrorCode::cannot_connect_now);
  CHECK(host.serve(1003).code() == ErrorCode::cannot_connect_now);
  // Memory server 0 has restarted.
  REQUIRE(host.gather(500, 1).ok());
  CHECK(host.derive(1003).code() == ErrorCode::cannot_connect_now);
  REQUIRE(host.derive(501).ok());
  REQUIRE(host.serve(501).ok());
}

TEST_CASE("another round ends a server's waiting for keys of one that failed", "[together]") {
  Host host;
  host.unopened.waits_for_index = 9;
  REQUIRE(host.gather(1000, 1).ok());
  reactor::Gate gate;
  Status first;
  const auto derive = [](Host* waiting, Status* status) -> reactor::Task<void> {
    control::DeriveRequest request;
    request.set_round(1001);
    control::DeriveReply reply;
    *status = co_await waiting->opening.derive(&request, &reply);
  };
  host.cluster.node.spawn(gate, derive(&host, &first));
  host.cluster.run_for(kMillisecond_ns);
  CHECK(host.unopened.derived == 1);
  host.unopened.waits_for_index = 0;
  REQUIRE(host.gather(1000, 2).ok());
  CHECK(first.code() == ErrorCode::cannot_connect_now);
  REQUIRE(host.derive(1002).ok());
  REQUIRE(host.serve(1002).ok());
}

TEST_CASE("a server says nothing of its log before copies in sync have it", "[together]") {
  Host host;
  host.unopened.confirmed = false;
  reactor::Gate gate;
  std::optional<Status> answer;
  const auto gather = [](Host* asked, std::optional<Status>* status) -> reactor::Task<void> {
    control::GatherRequest request;
    request.set_round(1001);
    request.set_database_id(kHostDatabase);
    request.set_coordinator(1000);
    request.set_sequence(1);
    control::GatherReply reply;
    *status = co_await asked->opening.gather(&request, &reply);
  };
  host.cluster.node.spawn(gate, gather(&host, &answer));
  host.cluster.run_for(10 * kSecond_ns);
  CHECK_FALSE(answer.has_value());
  host.unopened.confirmed = true;
  host.cluster.run_for(10 * kMillisecond_ns);
  REQUIRE(answer.has_value());
  CHECK(answer->ok());
}

TEST_CASE("a server whose folder belongs to another database does not open", "[together]") {
  Host host;
  host.database = 0xbad;
  CHECK(host.gather(1000, 1).code() == ErrorCode::configuration);
  const Status opened = host.cluster.world.run(host.cluster.node, host.opening.await_served());
  CHECK(opened.code() == ErrorCode::configuration);
  CHECK(opened.message() ==
        "the data folder of memory server 1 belongs to database 00000000da7aba5e, that of memory server 0 to "
        "0000000000000bad");
}

}  // namespace namdb::memory
