#include <catch2/catch.hpp>

#include <cstring>
#include <numeric>
#include <set>

#include "common/fabric/region_words.h"
#include "common/fabric/sim/client.h"
#include "common/fabric/sim/server.h"
#include "common/fabric/sim/world.h"

namespace namdb::fabric::sim {
namespace {

using reactor::Task;

constexpr std::size_t kRegion_words = 1024;

// Method 0 echoes; method 1 answers with the word at the request's offset; method 2 logs the request.
class TestService final : public Service {
 public:
  explicit TestService(std::span<std::uint64_t> region) : region_(region) {}
  Result<std::string> on_connect(PeerId peer, std::string_view hello) override {
    if (hello == "refuse") return Status(ErrorCode::fenced, "refused");
    peers.push_back(peer);
    return std::string("welcome ") + std::string(hello);
  }
  Task<Status> on_call(PeerId, std::uint16_t method, std::string_view request, std::string& reply) override {
    if (method == 0) reply = request;
    if (method == 1) reply = std::to_string(region_[std::stoul(std::string(request)) / 8]);
    if (method == 2) log += request;
    if (method == 3) co_return Status(ErrorCode::duplicate_key, "no");
    co_return Status();
  }
  void on_disconnect(PeerId peer) override {
    disconnected.push_back(peer);
    at_disconnect.assign(region_.begin(), region_.end());
  }
  std::vector<PeerId> peers;
  std::vector<PeerId> disconnected;
  std::vector<std::uint64_t> at_disconnect;
  std::string log;

 private:
  std::span<std::uint64_t> region_;
};

// One server and some clients; everything that a test needs in one place.
class Cluster {
 public:
  explicit Cluster(std::uint64_t seed, std::size_t clients = 1, bool swarm = true)
      : world(seed, options_of(seed, swarm)),
        region(kRegion_words),
        service(region),
        server_node(world.add_node("memory")),
        server(server_node, std::as_writable_bytes(std::span(region)), service) {
    const Status listening = world.run(server_node, server.listen("sim:memory"));
    REQUIRE(listening.ok());
    for (std::size_t i = 0; i < clients; ++i) {
      nodes.push_back(&world.add_node("compute" + std::to_string(i)));
      fabrics.push_back(std::make_unique<SimClientFabric>(*nodes.back()));
      channels.push_back(connect(i));
    }
  }
  ~Cluster() {
    channels.clear();
    fabrics.clear();
    if (server_node.alive()) world.run(server_node, server.close());
    world.run_until_idle();
  }
  static SimOptions options_of(std::uint64_t seed, bool swarm) {
    Random random(seed ^ 0x5eed);
    return swarm ? SimOptions::swarm(random) : SimOptions();
  }
  std::unique_ptr<Channel> connect(std::size_t i) {
    auto result = world.run(*nodes[i], fabrics[i]->connect("sim:memory", "hi", &welcome));
    REQUIRE(result.ok());
    return std::move(*result);
  }
  std::byte* word(std::size_t index) { return reinterpret_cast<std::byte*>(&region[index]); }

  std::string welcome;
  SimWorld world;
  std::vector<std::uint64_t> region;
  TestService service;
  SimNode& server_node;
  SimServerFabric server;
  std::vector<SimNode*> nodes;
  std::vector<std::unique_ptr<SimClientFabric>> fabrics;
  std::vector<std::unique_ptr<Channel>> channels;
};

Task<Status> post_and_wait(Channel* channel, Batch* batch) {
  channel->post(*batch);
  co_await batch->done();
  co_return batch->status();
}

Task<Status> call_and_wait(Channel* channel, Call* call) {
  channel->post(*call);
  co_await call->done();
  co_return call->status();
}

// Clients that read, write and count, and what they saw goes into the region again.
Task<void> mixed_client(Channel* channel, Random random, int rounds) {
  LocalBuffer buffer(channel->pool(), 512);
  Batch batch;
  for (int i = 0; i < rounds; ++i) {
    batch.clear();
    batch.write(8 * random.below(64), buffer.data(), 64);
    batch.read(8 * random.below(64), buffer.data() + 64, 128);
    batch.fetch_add(8 * random.below(64), 1, buffer.data() + 256, random.chance(0.5));
    batch.compare_and_swap(8 * random.below(64), random.below(3), random.next(), buffer.data() + 264);
    channel->post(batch);
    co_await batch.done();
    for (int j = 0; j < 8; ++j) buffer.word(j) = buffer.word(8 + j) + 1;
    if (random.chance(0.2)) co_await channel->executor().sleep_for(random.below(5000));
  }
}

std::uint64_t fingerprint_of(std::uint64_t seed, std::uint64_t& region_hash) {
  Cluster cluster(seed, 3);
  reactor::Gate gate;
  for (std::size_t i = 0; i < 3; ++i) {
    cluster.nodes[i]->spawn(gate, mixed_client(cluster.channels[i].get(), cluster.world.random().fork(), 30));
  }
  REQUIRE(cluster.world.run_until([&] { return gate.count() == 0; }));
  region_hash = 0;
  for (const std::uint64_t word : cluster.region) region_hash = region_hash * 31 + word;
  return cluster.world.fingerprint();
}

}  // namespace

TEST_CASE("the same seed gives the same run, another seed another one") {
  std::set<std::uint64_t> seen;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    std::uint64_t first_hash = 0;
    std::uint64_t second_hash = 0;
    const std::uint64_t first = fingerprint_of(seed, first_hash);
    REQUIRE(first == fingerprint_of(seed, second_hash));
    REQUIRE(first_hash == second_hash);
    seen.insert(first);
  }
  REQUIRE(seen.size() == 30);
}

namespace {

Task<void> pattern_writer(Channel* channel, int rounds) {
  LocalBuffer buffer(channel->pool(), 64);
  Batch batch;
  for (int i = 1; i <= rounds; ++i) {
    for (int j = 0; j < 8; ++j) buffer.word(j) = static_cast<std::uint64_t>(i);
    batch.clear();
    batch.write(0, buffer.data(), 64);
    channel->post(batch);
    co_await batch.done();
  }
}

struct TearsSeen {
  std::array<bool, 7> rising{};   // word j older than word j + 1
  std::array<bool, 7> falling{};  // and newer
};

Task<void> pattern_reader(Channel* channel, int rounds, TearsSeen* seen) {
  LocalBuffer buffer(channel->pool(), 64);
  Batch batch;
  for (int i = 0; i < rounds; ++i) {
    batch.clear();
    batch.read(0, buffer.data(), 64);
    channel->post(batch);
    co_await batch.done();
    for (std::size_t j = 0; j < 7; ++j) {
      seen->rising[j] |= buffer.word(j) < buffer.word(j + 1);
      seen->falling[j] |= buffer.word(j) > buffer.word(j + 1);
    }
  }
}

}  // namespace

TEST_CASE("READs and WRITEs are torn at every 8-byte boundary, in both directions") {
  TearsSeen seen;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Cluster cluster(seed, 2);
    reactor::Gate gate;
    cluster.nodes[0]->spawn(gate, pattern_writer(cluster.channels[0].get(), 50));
    cluster.nodes[1]->spawn(gate, pattern_reader(cluster.channels[1].get(), 50, &seen));
    REQUIRE(cluster.world.run_until([&] { return gate.count() == 0; }));
  }
  for (std::size_t j = 0; j < 7; ++j) {
    CHECK(seen.rising[j]);
    CHECK(seen.falling[j]);
  }
}

TEST_CASE("a later WRITE overtakes an earlier READ, CAS or FETCH-ADD, never when it is fenced") {
  std::array<int, 3> overtaken{};
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    for (const bool fence : {false, true}) {
      Cluster cluster(seed);
      LocalBuffer buffer(cluster.fabrics[0]->pool(), 64);
      buffer.word(3) = 7;
      Batch batch;
      batch.read(0, buffer.data(), 8);
      batch.compare_and_swap(8, 0, 1, buffer.data() + 8);
      batch.fetch_add(16, 1, buffer.data() + 16);
      batch.write(0, buffer.data() + 24, 8, fence);
      batch.write(8, buffer.data() + 24, 8, fence);
      batch.write(16, buffer.data() + 24, 8, fence);
      REQUIRE(cluster.world.run(*cluster.nodes[0], post_and_wait(cluster.channels[0].get(), &batch)).ok());
      for (std::size_t i = 0; i < 3; ++i) {
        const bool later = buffer.word(i) == 7;
        if (fence) REQUIRE(!later);
        overtaken[i] += later;
        // An atomic that is not atomic against WRITEs may swallow one that lands in its middle.
        if (fence) REQUIRE(cluster.region[i] == 7);
      }
      buffer.reset();
    }
  }
  for (const int count : overtaken) CHECK(count > 0);
}

TEST_CASE("an atomic overtakes an earlier READ unless it is fenced, and may overtake an earlier WRITE") {
  int read_overtaken = 0;
  int write_overtaken = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    for (const bool fence : {false, true}) {
      Cluster cluster(seed);
      LocalBuffer buffer(cluster.fabrics[0]->pool(), 64);
      buffer.word(3) = 7;
      Batch batch;
      batch.read(0, buffer.data(), 8);
      batch.write(8, buffer.data() + 24, 8);
      batch.fetch_add(0, 5, buffer.data() + 32, fence);
      batch.compare_and_swap(8, 7, 9, buffer.data() + 8);
      REQUIRE(cluster.world.run(*cluster.nodes[0], post_and_wait(cluster.channels[0].get(), &batch)).ok());
      if (fence) REQUIRE(buffer.word(0) == 0);
      read_overtaken += buffer.word(0) == 5;
      write_overtaken += buffer.word(1) == 0;
      buffer.reset();
    }
  }
  CHECK(read_overtaken > 0);
  CHECK(write_overtaken > 0);
}

TEST_CASE("a READ sees every earlier WRITE and atomic, WRITEs and atomics keep their order") {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    Cluster cluster(seed);
    LocalBuffer buffer(cluster.fabrics[0]->pool(), 1024);
    for (std::size_t i = 0; i < 8; ++i) buffer.word(i) = 100 + i;
    buffer.word(8) = 55;
    Batch batch;
    batch.write(0, buffer.data() + 64, 8);
    batch.write(0, buffer.data(), 64);
    batch.fetch_add(64, 3, buffer.data() + 128);
    batch.compare_and_swap(64, 3, 10, buffer.data() + 136);
    batch.fetch_add(64, 1, buffer.data() + 144);
    batch.read(0, buffer.data() + 256, 128);
    REQUIRE(cluster.world.run(*cluster.nodes[0], post_and_wait(cluster.channels[0].get(), &batch)).ok());
    for (std::size_t i = 0; i < 8; ++i) REQUIRE(buffer.word(32 + i) == 100 + i);
    REQUIRE(buffer.word(40) == 11);
    REQUIRE(buffer.word(16) == 0);
    REQUIRE(buffer.word(17) == 3);
    REQUIRE(buffer.word(18) == 10);
    REQUIRE(cluster.region[8] == 11);
    buffer.reset();
  }
}

TEST_CASE("local buffers hold garbage or parts until the completion, and operations take effect before it") {
  int not_there_yet = 0;
  int effect_before_completion = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Cluster cluster(seed);
    LocalBuffer buffer(cluster.fabrics[0]->pool(), 128);
    std::iota(cluster.region.begin(), cluster.region.begin() + 8, 1000);
    for (int i = 0; i < 8; ++i) buffer.word(i) = 0;
    buffer.word(8) = 77;
    Batch batch;
    batch.read(0, buffer.data(), 64);
    batch.write(512, buffer.data() + 64, 8);
    cluster.channels[0]->post(batch);
    cluster.world.run_until([&] { return !batch.pending() || cluster.region[64] == 77; });
    effect_before_completion += batch.pending();
    not_there_yet += std::memcmp(buffer.data(), cluster.region.data(), 64) != 0;
    REQUIRE(cluster.world.run_until([&] { return !batch.pending(); }));
    REQUIRE(std::memcmp(buffer.data(), cluster.region.data(), 64) == 0);
    REQUIRE(cluster.region[64] == 77);
    buffer.reset();
  }
  CHECK(effect_before_completion == 40);
  CHECK(not_there_yet > 5);
}

namespace {

Task<void> adder(Channel* channel, int rounds, bool compare_and_swap) {
  LocalBuffer buffer(channel->pool(), 64);
  Batch batch;
  std::uint64_t expected = 0;
  for (int i = 0; i < rounds;) {
    batch.clear();
    if (compare_and_swap) {
      batch.compare_and_swap(0, expected, expected + 1, buffer.data());
    } else {
      batch.fetch_add(0, 1, buffer.data());
    }
    channel->post(batch);
    co_await batch.done();
    if (!compare_and_swap || buffer.word() == expected) ++i;
    expected = buffer.word() + (buffer.word() == expected);
  }
}

Task<void> writer_of_word(Channel* channel, int rounds) {
  LocalBuffer buffer(channel->pool(), 64);
  Batch batch;
  for (int i = 0; i < rounds; ++i) {
    buffer.word() = 1'000'000;
    batch.clear();
    batch.write(0, buffer.data(), 8);
    channel->post(batch);
    co_await batch.done();
  }
}

}  // namespace

TEST_CASE("atomics of all channels are atomic among themselves") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    for (const bool compare_and_swap : {false, true}) {
      Cluster cluster(seed, 3);
      reactor::Gate gate;
      for (std::size_t i = 0; i < 3; ++i) {
        cluster.nodes[i]->spawn(gate, adder(cluster.channels[i].get(), 20, compare_and_swap));
      }
      cluster.server_node.spawn(gate, adder(&cluster.server.loopback(), 20, compare_and_swap));
      REQUIRE(cluster.world.run_until([&] { return gate.count() == 0; }));
      REQUIRE(cluster.region[0] == 80);
    }
  }
}

TEST_CASE("atomics lose WRITEs that land in their middle, unless the channel says that they cannot") {
  int lost_split = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Cluster cluster(seed, 2);
    reactor::Gate gate;
    cluster.nodes[0]->spawn(gate, adder(cluster.channels[0].get(), 20, false));
    cluster.nodes[1]->spawn(gate, writer_of_word(cluster.channels[1].get(), 1));
    REQUIRE(cluster.world.run_until([&] { return gate.count() == 0; }));
    const bool lost = cluster.region[0] < 1'000'000;
    if (cluster.channels[0]->atomics_with_cpu()) REQUIRE(!lost);
    lost_split += lost;
  }
  CHECK(lost_split > 0);
}

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
    // The buffer is the client's again: what still happens must not take its bytes from there.
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
    // What failed stays failed.
    batch.clear();
    batch.read(0, buffer.data(), 8);
    REQUIRE(!cluster.world.run(*cluster.nodes[0], post_and_wait(cluster.channels[0].get(), &batch)).ok());
    buffer.reset();
  }
  CHECK(prefixes.size() == 9);
  CHECK(late_effects > 0);
  CHECK(partial > 0);
}

TEST_CASE("what is behind a fence happens at a cut only if the atomics before it do") {
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

// What a process owns; on a kill it is buried as a whole.
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
