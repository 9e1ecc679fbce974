// Shared by the simulator's own tests: one memory server and some clients, on one seed.
#pragma once

#include <catch2/catch.hpp>

#include <memory>
#include <string>
#include <vector>

#include "common/fabric/region_words.h"
#include "common/fabric/sim/client.h"
#include "common/fabric/sim/connection.h"
#include "common/fabric/sim/server.h"
#include "common/fabric/sim/world.h"

namespace namdb::fabric::sim {

using reactor::Task;

inline constexpr std::size_t kRegion_words = 1024;

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

inline Task<Status> post_and_wait(Channel* channel, Batch* batch) {
  channel->post(*batch);
  co_await batch->done();
  co_return batch->status();
}

inline Task<Status> call_and_wait(Channel* channel, Call* call) {
  channel->post(*call);
  co_await call->done();
  co_return call->status();
}

// Clients that read, write and count, and what they saw goes into the region again.
inline Task<void> mixed_client(Channel* channel, Random random, int rounds) {
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

// Writes a million into word 0, again and again.
inline Task<void> writer_of_word(Channel* channel, int rounds) {
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

}  // namespace namdb::fabric::sim
