// Cuts, kills, pauses, fences and calls in the simulated network.
#include <cstring>
#include <numeric>
#include <set>

#include "common/fabric/sim/testing/test_cluster.h"

namespace namdb::fabric::sim {

TEST_CASE("a cut drops a suffix of the WRITEs, the rest happens before the server's report, nothing after") {
  std::set<std::size_t> prefixes;
  int late_effects = 0;
  int partial = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Cluster cluster(seed);
    LocalBuffer buffer(cluster.fabrics[0]->pool(), 1024);
    Batch batch;
    for (std::size_t i = 0; i < 8; ++i) {
      for (std::size_t j = 0; j < 4; ++j) buffer.word(4 * i + j) = 1;
      batch.write(32 * i, buffer.data() + 32 * i, 32);
    }
    cluster.channels[0]->post(batch);
    cluster.world.run_for(cluster.world.random().below(4000));
    const bool completed = !batch.pending();
    REQUIRE(cluster.world.cut(*cluster.nodes[0], cluster.server_node) == 1);
    std::uint64_t at_error = 0;
    const auto count = [&] { return std::accumulate(cluster.region.begin(), cluster.region.end(), 0UL); };
    REQUIRE(cluster.world.run_until([&] { return cluster.channels[0]->failed(); }));
    at_error = count();
    REQUIRE(!batch.pending());
    if (completed) REQUIRE(batch.status().ok());
    if (batch.status().ok()) REQUIRE(at_error == 32);
    // The buffer is the client's again: operations that still happen must not take their bytes from there.
    std::memset(buffer.data(), 0xff, 256);
    REQUIRE(cluster.world.run_until([&] { return cluster.service.disconnected.size() == 1; }));
    late_effects += count() > at_error;
    REQUIRE(cluster.service.disconnected == cluster.service.peers);
    cluster.world.run_until_idle();
    REQUIRE(cluster.service.at_disconnect == cluster.region);
    std::size_t prefix = 0;
    while (prefix < 8 && cluster.region[4 * prefix] + cluster.region[4 * prefix + 1] +
                                 cluster.region[4 * prefix + 2] + cluster.region[4 * prefix + 3] ==
                             4) {
      ++prefix;
    }
    const std::size_t rest = count() - 4 * prefix;
    REQUIRE(rest < 4);
    partial += rest != 0;
    prefixes.insert(prefix);
    // A failed channel stays failed.
    batch.clear();
    batch.read(0, buffer.data(), 8);
    REQUIRE(!cluster.world.run(*cluster.nodes[0], post_and_wait(cluster.channels[0].get(), &batch)).ok());
    buffer.reset();
  }
  CHECK(prefixes.size() == 9);
  CHECK(late_effects > 0);
  CHECK(partial > 0);
}

TEST_CASE("a batch whose WRITE was carried out in part at a cut never completes") {
  int partial = 0;
  int complete = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    Cluster cluster(seed, 1, false);
    // The completion would come before the notice of the cut.
    cluster.world.options().reply = {1, 0, 0, 0};
    cluster.channels[0] = cluster.connect(0);
    LocalBuffer buffer(cluster.fabrics[0]->pool(), 64);
    for (std::size_t i = 0; i < 8; ++i) buffer.word(i) = 1;
    Batch batch;
    batch.write(0, buffer.data(), 64);
    cluster.channels[0]->post(batch);
    cluster.world.run_for(cluster.world.random().below(3000));
    REQUIRE(cluster.world.cut(*cluster.nodes[0], cluster.server_node) >= 1);
    cluster.world.run_until_idle();
    const auto landed = std::accumulate(cluster.region.begin(), cluster.region.begin() + 8, 0UL);
    if (batch.status().ok()) REQUIRE(landed == 8);
    partial += landed != 0 && landed != 8;
    complete += batch.status().ok();
    buffer.reset();
  }
  CHECK(partial > 10);
  CHECK(complete > 10);
}

TEST_CASE("operations behind a fence happen at a cut only if the atomics before it do") {
  std::set<std::pair<bool, bool>> fates;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    for (const bool fence : {false, true}) {
      Cluster cluster(seed);
      LocalBuffer buffer(cluster.fabrics[0]->pool(), 64);
      buffer.word() = 1;
      Batch batch;
      batch.compare_and_swap(0, 0, 1, buffer.data() + 8);
      batch.write(8, buffer.data(), 8, fence);
      cluster.channels[0]->post(batch);
      cluster.world.cut(*cluster.nodes[0], cluster.server_node);
      cluster.world.run_until_idle();
      if (fence) REQUIRE((cluster.region[1] == 0 || cluster.region[0] == 1));
      if (!fence) fates.emplace(cluster.region[0] == 1, cluster.region[1] == 1);
      buffer.reset();
    }
  }
  CHECK(fates.size() == 4);
}

TEST_CASE("calls are answered, delayed and reordered, and see what completed before") {
  std::set<std::string> logs;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Cluster cluster(seed);
    Channel* channel = cluster.channels[0].get();
    SimNode& node = *cluster.nodes[0];
    REQUIRE(cluster.welcome == "welcome hi");
    LocalBuffer buffer(channel->pool(), 64);
    buffer.word() = 4711;
    Batch batch;
    batch.write(80, buffer.data(), 8);
    REQUIRE(cluster.world.run(node, post_and_wait(channel, &batch)).ok());
    Call call;
    call.method = 1;
    call.request = "80";
    REQUIRE(cluster.world.run(node, call_and_wait(channel, &call)).ok());
    REQUIRE(call.reply == "4711");
    call.method = 3;
    REQUIRE(cluster.world.run(node, call_and_wait(channel, &call)).code() == ErrorCode::duplicate_key);
    REQUIRE(!channel->failed());
    Call calls[3];
    for (int i = 0; i < 3; ++i) {
      calls[i].method = 2;
      calls[i].request = std::string(1, static_cast<char>('a' + i));
      channel->post(calls[i]);
    }
    cluster.world.run_until_idle();
    logs.insert(cluster.service.log);
    buffer.reset();
  }
  CHECK(logs.size() > 2);
}

TEST_CASE("a fence returns once the peer's operations have happened or never will") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Cluster cluster(seed);
    reactor::Gate gate;
    cluster.nodes[0]->spawn(gate, writer_of_word(cluster.channels[0].get(), 1000));
    cluster.world.run_for(cluster.world.random().below(20'000));
    cluster.world.run(cluster.server_node, cluster.server.fence(cluster.service.peers[0]));
    REQUIRE(cluster.service.disconnected.size() == 1);
    cluster.region[0] = 5;
    REQUIRE(cluster.world.run_until([&] { return gate.count() == 0; }));
    REQUIRE(cluster.region[0] == 5);
    REQUIRE(cluster.channels[0]->failed());
  }
}

namespace {

// The objects of a process, which a kill buries as a whole.
struct Process {
  std::unique_ptr<SimClientFabric> fabric;
  std::unique_ptr<Channel> channel;
  reactor::Gate gate;
  int steps = 0;
};

Task<void> busy(Process* process) {
  LocalBuffer buffer(process->channel->pool(), 64);
  buffer.word() = 1;
  Batch batch;
  for (;;) {
    batch.clear();
    batch.fetch_add(0, 1, buffer.data());
    process->channel->post(batch);
    co_await batch.done();
    ++process->steps;
  }
}

}  // namespace

TEST_CASE("a killed node never runs again, and its channels are reported as disconnected") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Cluster cluster(seed, 1);
    auto process = std::make_unique<Process>();
    SimNode& node = cluster.world.add_node("victim");
    process->fabric = std::make_unique<SimClientFabric>(node);
    auto connected = cluster.world.run(node, process->fabric->connect("sim:memory", "", nullptr));
    REQUIRE(connected.ok());
    process->channel = std::move(*connected);
    node.spawn(process->gate, busy(process.get()));
    cluster.world.run_for(30'000);
    cluster.world.kill(node);
    const int steps = process->steps;
    REQUIRE(cluster.world.run_until([&] { return cluster.service.disconnected.size() == 1; }));
    const std::uint64_t counted = cluster.region[0];
    cluster.world.run_for(kSecond_ns);
    REQUIRE(cluster.region[0] == counted);
    REQUIRE(process->steps == steps);
    SimWorld::bury(std::move(process));
  }
}

TEST_CASE("a killed server fails its clients, and its region is not touched any more") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Cluster cluster(seed, 2);
    reactor::Gate gate;
    for (std::size_t i = 0; i < 2; ++i) {
      cluster.nodes[i]->spawn(gate, writer_of_word(cluster.channels[i].get(), 100));
    }
    cluster.world.run_for(10'000);
    cluster.world.kill(cluster.server_node);
    cluster.region[0] = 3;
    REQUIRE(cluster.world.run_until([&] { return gate.count() == 0; }));
    cluster.world.run_until_idle();
    REQUIRE(cluster.region[0] == 3);
    REQUIRE(cluster.channels[0]->failed());
    auto again = cluster.world.run(*cluster.nodes[0], cluster.fabrics[0]->connect("sim:memory", "", nullptr));
    REQUIRE(again.status().code() == ErrorCode::connection_failure);
    // A server that starts over takes the name, and the old channels stay failed.
    SimNode& node = cluster.world.add_node("memory again");
    TestService service(cluster.region);
    SimServerFabric server(node, std::as_writable_bytes(std::span(cluster.region)), service);
    REQUIRE(cluster.world.run(node, server.listen("sim:memory")).ok());
    auto channel =
        cluster.world.run(*cluster.nodes[0], cluster.fabrics[0]->connect("sim:memory", "", nullptr));
    REQUIRE(channel.ok());
    REQUIRE(cluster.channels[0]->failed());
    REQUIRE(!(*channel)->failed());
    channel->reset();
    cluster.world.run(node, server.close());
  }
}

TEST_CASE("a paused node takes no turn, while the operations that it posted happen") {
  Cluster cluster(1, 1, false);
  Channel* channel = cluster.channels[0].get();
  LocalBuffer buffer(channel->pool(), 64);
  buffer.word() = 9;
  Batch batch;
  batch.write(0, buffer.data(), 8);
  cluster.world.pause(*cluster.nodes[0], kSecond_ns);
  const std::uint64_t start_ns = cluster.world.now_ns();
  channel->post(batch);
  reactor::Gate gate;
  REQUIRE(cluster.world.run_until([&] { return cluster.region[0] == 9; }));
  REQUIRE(cluster.world.now_ns() < start_ns + kMillisecond_ns);
  cluster.world.run(*cluster.nodes[0], [](reactor::Executor* executor) -> Task<void> {
    co_await executor->yield();
  }(cluster.nodes[0]));
  REQUIRE(cluster.world.now_ns() >= start_ns + kSecond_ns);
  REQUIRE(!batch.pending());
  buffer.reset();
}

TEST_CASE("an operation outside of the region is an error, fails the channel and touches nothing") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Cluster cluster(seed);
    Channel* channel = cluster.channels[0].get();
    LocalBuffer buffer(channel->pool(), 64);
    Batch batch;
    batch.write(8 * kRegion_words - 8, buffer.data(), 16);
    REQUIRE(!cluster.world.run(*cluster.nodes[0], post_and_wait(channel, &batch)).ok());
    REQUIRE(channel->failed());
    buffer.reset();
  }
}

TEST_CASE("a connection is refused by the service, and where nothing listens") {
  Cluster cluster(3);
  SimClientFabric& fabric = *cluster.fabrics[0];
  auto refused = cluster.world.run(*cluster.nodes[0], fabric.connect("sim:memory", "refuse", nullptr));
  REQUIRE(refused.status().code() == ErrorCode::fenced);
  auto nobody = cluster.world.run(*cluster.nodes[0], fabric.connect("sim:nobody", "", nullptr));
  REQUIRE(nobody.status().code() == ErrorCode::connection_failure);
}

TEST_CASE("a node's clock never goes back and its timers are never early, whatever the drift") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Cluster cluster(seed);
    SimNode& node = *cluster.nodes[0];
    cluster.world.run(node, [](SimNode* self) -> Task<void> {
      for (std::uint64_t i = 0; i < 20; ++i) {
        const std::uint64_t before = self->now_ns();
        co_await self->sleep_for(i * 12345);
        NAMDB_CHECK(self->now_ns() >= before + i * 12345);
      }
    }(&node));
  }
}

TEST_CASE("connections that are cut at random leave nothing pending") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Cluster cluster(seed, 3);
    cluster.world.options().cut_probability = 0.02;
    cluster.world.options().pause_probability = 0.01;
    reactor::Gate gate;
    for (std::size_t i = 0; i < 3; ++i) {
      cluster.nodes[i]->spawn(gate,
                              mixed_client(cluster.channels[i].get(), cluster.world.random().fork(), 100));
    }
    REQUIRE(cluster.world.run_until([&] { return gate.count() == 0; }));
  }
}

}  // namespace namdb::fabric::sim
