// Compute servers as memory server 0 knows them: by their workers' heartbeats.
#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "memory/testing/test_cluster.h"

namespace namdb::memory {
namespace computes_test {

constexpr std::uint64_t kProcess = 0x1234;

control::HeartbeatRequest beat_of(std::uint64_t process, std::uint32_t sessions) {
  control::HeartbeatRequest request;
  control::ComputeFacts& facts = *request.mutable_compute();
  facts.set_process(process);
  facts.set_address("rack-3:5433");
  facts.set_version("1.3");
  facts.set_started_us(77);
  facts.set_sessions(sessions);
  return request;
}

struct Scene {
  std::unique_ptr<testing::TestClient> connect(char id, std::uint32_t worker, bool tool = false) {
    auto client = cluster.client(std::string("c") + id);
    control::Hello hello = testing::hello(id, tool);
    hello.set_worker(worker);
    REQUIRE(client->connect(hello).ok());
    return client;
  }
  control::HeartbeatReply beat(testing::TestClient& client, const control::HeartbeatRequest& request) {
    const auto reply = client.call<control::HeartbeatReply>(control::HEARTBEAT, request);
    REQUIRE(reply.ok());
    return *reply;
  }
  control::ListComputesReply list(testing::TestClient& client) {
    const auto reply =
        client.call<control::ListComputesReply>(control::LIST_COMPUTES, control::ListComputesRequest());
    REQUIRE(reply.ok());
    return *reply;
  }
  Status drain(testing::TestClient& client, std::uint64_t process) {
    control::DrainComputeRequest request;
    request.set_process(process);
    return client.call<control::DrainComputeReply>(control::DRAIN_COMPUTE, request).status();
  }

  testing::TestCluster cluster{of_version()};

 private:
  static Options of_version() {
    Options options = testing::small_options();
    options.version = "1.2";
    return options;
  }
};

TEST_CASE("programs of different versions with one protocol version work together", "[computes]") {
  Scene scene;
  const auto newer = scene.connect('a', 0);
  scene.beat(*newer, beat_of(kProcess, 1));  // of version 1.3
  CHECK(newer->create(testing::accounts("t")).ok());
  const auto tool = scene.connect('t', 0, true);
  const control::ListComputesReply listed = scene.list(*tool);
  CHECK(listed.computes(0).facts().version() == "1.3");
  const auto status = tool->call<control::StatusReply>(control::STATUS, control::StatusRequest());
  REQUIRE(status.ok());
  CHECK(status->version() == "1.2");
}

TEST_CASE("a compute server is listed with its workers, whatever program it runs", "[computes]") {
  Scene scene;
  const auto first = scene.connect('a', 0);
  const auto second = scene.connect('b', 1);
  const auto other = scene.connect('d', 0);
  const auto tool = scene.connect('t', 0, true);
  CHECK(scene.list(*tool).computes_size() == 0);
  scene.beat(*first, beat_of(kProcess, 2));
  scene.cluster.run_for(kMillisecond_ns);
  scene.beat(*second, beat_of(kProcess, 5));
  scene.beat(*other, control::HeartbeatRequest());  // an older program says nothing
  const control::ListComputesReply listed = scene.list(*tool);
  REQUIRE(listed.computes_size() == 1);
  CHECK(listed.computes(0).workers() == 2);
  CHECK(listed.computes(0).facts().sessions() == 5);
  CHECK(listed.computes(0).facts().address() == "rack-3:5433");
  CHECK(listed.computes(0).facts().version() == "1.3");
  CHECK(listed.computes(0).facts().started_us() == 77);
  CHECK(listed.computes(0).silent_ns() >= kMillisecond_ns);
  CHECK_FALSE(listed.computes(0).draining());
  first->disconnect();
  second->disconnect();
  scene.cluster.run_for(kMillisecond_ns);
  CHECK(scene.list(*tool).computes_size() == 0);
}

TEST_CASE("a tool drains one compute server, and its workers learn it with their next heartbeats",
          "[computes]") {
  Scene scene;
  const auto drained = scene.connect('a', 0);
  const auto other = scene.connect('b', 0);
  const auto tool = scene.connect('t', 0, true);
  CHECK_FALSE(scene.beat(*drained, beat_of(kProcess, 1)).drain());
  CHECK_FALSE(scene.beat(*other, beat_of(kProcess + 1, 1)).drain());
  CHECK(scene.drain(*other, kProcess).code() == ErrorCode::insufficient_privilege);
  CHECK(scene.drain(*tool, 0).code() == ErrorCode::undefined_object);
  CHECK(scene.drain(*tool, 99).code() == ErrorCode::undefined_object);
  REQUIRE(scene.drain(*tool, kProcess).ok());
  CHECK(scene.beat(*drained, beat_of(kProcess, 1)).drain());
  CHECK_FALSE(scene.beat(*other, beat_of(kProcess + 1, 1)).drain());
  int draining = 0;
  const control::ListComputesReply listed = scene.list(*tool);
  for (const control::ComputeServer& each : listed.computes())
    draining += each.draining() && each.facts().process() == kProcess ? 1 : 0;
  CHECK(draining == 1);
}

TEST_CASE("a worker that was fenced hears of it once, when it comes again", "[computes]") {
  Scene scene;
  auto worker = scene.connect('a', 3);
  CHECK_FALSE(scene.beat(*worker, beat_of(kProcess, 1)).lost_lease());
  scene.cluster.server->parts().start_fence(testing::compute_id('a'));
  scene.cluster.run_for(10 * kMillisecond_ns);
  const auto again = scene.connect('n', 3);
  const auto colleague = scene.connect('m', 2);
  CHECK_FALSE(scene.beat(*colleague, beat_of(kProcess, 1)).lost_lease());
  CHECK(scene.beat(*again, beat_of(kProcess, 1)).lost_lease());
  CHECK_FALSE(scene.beat(*again, beat_of(kProcess, 1)).lost_lease());
}

}  // namespace computes_test
}  // namespace namdb::memory
