// Connections between memory servers, in virtual time.
#include "memory/peers/links.h"

#include <catch2/catch.hpp>
#include <span>
#include <string>
#include <vector>

#include "common/calls/hot_calls.h"
#include "common/placement/move_calls.h"
#include "memory/testing/test_cluster.h"
#include "proto/control.pb.h"

namespace namdb::memory {
namespace {

using State = Links::State;

constexpr std::uint64_t kLinkPatience_ns = 60 * kSecond_ns;

// Links of a server 0 to the test cluster's server, which is number 1.
struct LinkedServers {
  explicit LinkedServers(LinkOptions options = {.server_count = 2})
      : cluster(server_1()), node(cluster.world.add_node("m0 as a client")), links(node, options) {
    links.set_fabric([this] { return std::make_unique<fabric::sim::SimClientFabric>(node); });
  }
  ~LinkedServers() { cluster.world.run(node, links.close()); }

  static Options server_1() {
    Options options = testing::small_options();
    options.server_id = 1;
    options.server_count = 2;
    return options;
  }
  Status learn(std::string address = "sim:m0") {
    return links.learn({"sim:nobody", std::move(address)}, {5, cluster.server->epoch()});
  }
  Result<std::string> call(std::uint16_t method, std::string request = {}) {
    return cluster.world.run(node, links.call(1, method, std::move(request)));
  }
  bool becomes(State state) {
    return cluster.world.run_until([&] { return links.state(1) == state; }, kLinkPatience_ns);
  }

  testing::TestCluster cluster;
  fabric::sim::SimNode& node;
  Links links;
};

reactor::Task<void> keep_outcome(reactor::Task<Result<std::string>> call, Status* outcome) {
  const auto reply = co_await std::move(call);
  if (!reply.ok()) *outcome = reply.status();
}

// A host that had server 1's region, which is at the test cluster's server now.
struct Sign final : fabric::Service {
  Result<std::string> on_connect(fabric::PeerId /*peer*/, std::string_view /*hello*/) override {
    control::Welcome welcome;
    welcome.set_server_id(1);
    welcome.set_server_count(2);
    return welcome.SerializeAsString();
  }
  reactor::Task<Status> on_call(fabric::PeerId /*peer*/, std::uint16_t method, std::string_view /*request*/,
                                std::string& reply) override {
    if (method != placement::kConfigurationMethod) co_return Status(ErrorCode::cannot_connect_now, "gone");
    placement::Configuration known(2);
    known.set(1, {1, "sim:m0"});
    reply = known.encode();
    co_return Status();
  }
  void on_disconnect(fabric::PeerId /*peer*/) override {}
};

Status status_of_call(const Result<std::string>& reply) {
  return reply.ok() ? Status() : reply.status();
}

bool says(const Status& status, const std::string& words) {
  return !status.ok() && status.message().find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("a link is made at the first call, and carries calls", "[links]") {
  LinkedServers servers;
  REQUIRE(servers.learn().ok());
  CHECK(servers.links.state(1) == State::unused);
  CHECK(servers.links.epoch(1) == 0);
  CHECK(status_of_call(servers.call(calls::kPingMethod)).ok());
  CHECK(servers.links.state(1) == State::up);
  CHECK(servers.links.epoch(1) == servers.cluster.server->epoch());
  const auto reply = servers.call(control::STATUS);
  REQUIRE(reply.ok());
  control::StatusReply status;
  REQUIRE(status.ParseFromString(*reply));
  CHECK(status.server_id() == 1);
  // The server knows what it is, and waits for no acknowledgement of it.
  const auto& peers = servers.cluster.server->peers().all();
  REQUIRE(peers.size() == 1);
  CHECK(peers.begin()->second.memory_server);
  CHECK(peers.begin()->second.tool);
  CHECK(servers.cluster.server->peers().acknowledged().epoch == ~std::uint64_t{0});
  // A handler's error is the call's, and the link stays.
  CHECK(status_of_call(servers.call(control::LEASE_SLOT)).code() == ErrorCode::protocol_violation);
  CHECK(servers.links.state(1) == State::up);
}

TEST_CASE("a link to a host whose region has moved finds the new one, where regions may move", "[links]") {
  const bool asks = GENERATE(true, false);
  LinkedServers servers({.server_count = 2, .asks_places = asks});
  fabric::sim::SimNode& node = servers.cluster.world.add_node("sign");
  std::vector<std::uint64_t> memory(64);
  Sign sign;
  fabric::sim::SimServerFabric fabric(node, std::as_writable_bytes(std::span(memory)), sign);
  REQUIRE(servers.cluster.world.run(node, fabric.listen("sim:sign")).ok());
  int learned = 0;
  servers.links.on_learned([&learned] { ++learned; });
  REQUIRE(servers.learn("sim:sign").ok());
  CHECK(status_of_call(servers.call(calls::kPingMethod)).ok() == asks);
  CHECK(learned == (asks ? 1 : 0));
  const placement::Place expected = asks ? placement::Place{1, "sim:m0"} : placement::Place{0, "sim:sign"};
  CHECK(servers.links.configuration().place(1) == expected);
  // Another server may tell, too.
  placement::Configuration told(2);
  told.set(1, {2, "sim:m0"});
  servers.links.learn_places(told);
  REQUIRE(servers.becomes(State::up));
  CHECK(status_of_call(servers.call(calls::kPingMethod)).ok());
  servers.cluster.world.run(node, fabric.close());
}

TEST_CASE("both ends of a link know what either knew of places before a call is made", "[links]") {
  LinkedServers servers({.server_count = 2, .asks_places = true});
  REQUIRE(servers.learn().ok());
  placement::Configuration here(2);
  here.set(0, {1, "sim:here"});
  servers.links.learn_places(here);
  placement::Configuration there(2);
  there.set(1, {2, "sim:m0"});
  servers.cluster.server->links().learn_places(there);
  CHECK(status_of_call(servers.call(calls::kPingMethod)).ok());
  CHECK(servers.links.configuration().place(1) == there.place(1));
  CHECK(servers.cluster.server->links().configuration().place(0) == here.place(0));
}

TEST_CASE("a server that hears that its own region is elsewhere calls nobody from then on", "[links]") {
  LinkedServers servers({.server_count = 2, .asks_places = true});
  REQUIRE(servers.learn().ok());
  placement::Configuration own(2);
  own.set(0, {1, "sim:here"});
  servers.links.learn_places(own);
  placement::Configuration later(2);
  later.set(0, {2, "sim:elsewhere"});
  servers.cluster.server->links().learn_places(later);
  placement::Place told;
  servers.links.on_elsewhere([&told](const placement::Place& place) { told = place; });
  CHECK_FALSE(status_of_call(servers.call(control::STATUS)).ok());
  CHECK(told == later.place(0));
  CHECK(servers.links.state(1) != State::up);
  CHECK_FALSE(status_of_call(servers.call(control::STATUS)).ok());
}

TEST_CASE("without an address a call says what is missing, and works once the address is known", "[links]") {
  LinkedServers servers;
  const Status unknown = status_of_call(servers.call(calls::kPingMethod));
  REQUIRE_FALSE(unknown.ok());
  CHECK(unknown.code() == ErrorCode::connection_failure);
  CHECK(unknown.message() == "memory server 0 does not know the address of memory server 1");
  CHECK_FALSE(unknown.hint().empty());
  CHECK(servers.links.learn({"sim:m0"}, {5}).code() == ErrorCode::protocol_violation);
  REQUIRE(servers.learn().ok());
  CHECK(status_of_call(servers.call(calls::kPingMethod)).ok());
}

TEST_CASE("while a server cannot be reached calls fail at once and say so; the link comes back by itself",
          "[links]") {
  LinkedServers servers;
  REQUIRE(servers.learn().ok());
  REQUIRE(status_of_call(servers.call(calls::kPingMethod)).ok());
  servers.cluster.world.block(servers.node, servers.cluster.node, true);
  REQUIRE(servers.becomes(State::down));
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t before_ns = servers.node.now_ns();
    const Status down = status_of_call(servers.call(calls::kPingMethod));
    REQUIRE_FALSE(down.ok());
    CHECK(down.code() == ErrorCode::connection_failure);
    CHECK(says(down, "memory server 1 at sim:m0 cannot be reached"));
    CHECK(servers.node.now_ns() - before_ns < kMillisecond_ns);
  }
  servers.cluster.world.block(servers.node, servers.cluster.node, false);
  REQUIRE(servers.becomes(State::up));
  CHECK(status_of_call(servers.call(calls::kPingMethod)).ok());
}

TEST_CASE("a call that is under way when the link breaks fails, and the next one may work", "[links]") {
  LinkedServers servers;
  REQUIRE(servers.learn().ok());
  int failed = 0;
  for (int i = 0; i < 40; ++i) {
    servers.cluster.world.at(servers.cluster.world.now_ns() + 2'000,
                             [&servers] { servers.cluster.world.cut(servers.node, servers.cluster.node); });
    if (!status_of_call(servers.call(calls::kPingMethod)).ok()) ++failed;
    REQUIRE(servers.becomes(State::up));
  }
  CHECK(failed > 0);
  // The last cut may have hit no call: then the next one notices it.
  bool answered = false;
  for (int i = 0; i < 3 && !answered; ++i) {
    servers.cluster.world.run_for(kMillisecond_ns);
    REQUIRE(servers.becomes(State::up));
    answered = status_of_call(servers.call(calls::kPingMethod)).ok();
  }
  CHECK(answered);
}

TEST_CASE("a server that is silent is given up, and reached again once it answers", "[links]") {
  LinkOptions options{.server_count = 2};
  options.ping_interval_ns = kMillisecond_ns;
  options.silent_intervals = 5;
  LinkedServers servers(options);
  REQUIRE(servers.learn().ok());
  REQUIRE(status_of_call(servers.call(calls::kPingMethod)).ok());
  servers.cluster.world.pause(servers.cluster.node, 100 * kMillisecond_ns);
  REQUIRE(servers.becomes(State::down));
  CHECK(says(status_of_call(servers.call(calls::kPingMethod)), "has not answered"));
  REQUIRE(servers.becomes(State::up));
}

TEST_CASE("an address where another memory server answers is refused, and a better one is taken", "[links]") {
  LinkOptions options{.server_id = 1, .server_count = 2};
  LinkedServers servers(options);
  REQUIRE(servers.links.learn({"sim:m0", "sim:nobody"}, {5, 6}).ok());
  const auto wrong = servers.cluster.world.run(servers.node, servers.links.call(0, calls::kPingMethod, ""));
  CHECK(says(status_of_call(wrong), "another memory server answers there"));

  LinkedServers moved;
  REQUIRE(moved.learn("sim:elsewhere").ok());
  CHECK(says(status_of_call(moved.call(calls::kPingMethod)), "at sim:elsewhere cannot be reached"));
  REQUIRE(moved.learn().ok());
  REQUIRE(moved.becomes(State::up));
  CHECK(status_of_call(moved.call(calls::kPingMethod)).ok());
}

TEST_CASE("a server that has restarted, and so lost its data, is refused", "[links]") {
  LinkedServers servers;
  const std::uint64_t before = servers.cluster.server->epoch() + 1;
  REQUIRE(servers.links.learn({"sim:nobody", "sim:m0"}, {5, before}).ok());
  const auto restarted = status_of_call(servers.call(calls::kPingMethod));
  CHECK(says(restarted, "it has restarted and is empty"));
  CHECK(restarted.hint() == "restart all memory servers");
}

TEST_CASE("links end while one is down, or a call waits for its first attempt", "[links]") {
  {
    LinkedServers servers;
    REQUIRE(servers.learn("sim:nobody").ok());
    CHECK_FALSE(status_of_call(servers.call(calls::kPingMethod)).ok());
  }
  // A reply never comes, since the server stands still.
  LinkedServers servers;
  REQUIRE(servers.learn().ok());
  servers.cluster.world.pause(servers.cluster.node, kSecond_ns);
  reactor::Gate gate;
  Status outcome;
  servers.node.spawn(gate, keep_outcome(servers.links.call(1, calls::kPingMethod, ""), &outcome));
  servers.cluster.world.run_for(kMillisecond_ns);
  servers.cluster.world.run(servers.node, servers.links.close());
  servers.cluster.world.run_for(kMillisecond_ns);
  CHECK_FALSE(outcome.ok());
}

}  // namespace namdb::memory
