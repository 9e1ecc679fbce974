// A decider on memory server 0 of three, over the simulated fabric: the calls of production, links between
// the servers, and an owner that lives on.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "common/calls/hot_calls.h"
#include "common/calls/journal_calls.h"
#include "common/layout/journal.h"
#include "memory/testing/test_cluster.h"

namespace namdb::memory {
namespace {

using fabric::sim::SimNode;

constexpr std::uint16_t kServers = 3;
constexpr std::uint64_t kServerRegion_bytes = 4U << 20;

struct SimServer {
  SimServer(fabric::sim::SimWorld& world, std::uint16_t id, layout::VectorSpread vector)
      : node(world.add_node("m" + std::to_string(id))), words(kServerRegion_bytes / 8) {
    Options options = testing::small_options();
    options.server_id = id;
    options.server_count = kServers;
    options.timestamp_vector = vector;
    const auto region = std::as_writable_bytes(std::span(words));
    server = std::move(*MemoryServer::create(node, region, std::move(options)));
    fabric = std::make_unique<fabric::sim::SimServerFabric>(node, region, *server);
    SimNode* const self = &node;
    server->start(*fabric, [self] { return std::make_unique<fabric::sim::SimClientFabric>(*self); });
    REQUIRE(world.run(node, fabric->listen("sim:m" + std::to_string(id))).ok());
  }
  SimNode& node;
  std::vector<std::uint64_t> words;
  std::unique_ptr<MemoryServer> server;
  std::unique_ptr<fabric::sim::SimServerFabric> fabric;
};

// One worker of a compute server, connected to all memory servers, with a slot and its journal on each.
struct OwnerAndServers {
  explicit OwnerAndServers(layout::VectorSpread vector = layout::VectorSpread::whole)
      : world(1), owner(world.add_node("owner")), client(owner) {
    for (std::uint16_t i = 0; i < kServers; ++i)
      servers.push_back(std::make_unique<SimServer>(world, i, vector));
    for (std::uint16_t i = 0; i < kServers; ++i) {
      control::Hello hello = testing::hello('o');
      if (i > 0) hello.set_cluster_epoch(servers[0]->server->epoch());
      std::string welcome;
      auto channel =
          world.run(owner, client.connect("sim:m" + std::to_string(i), hello.SerializeAsString(), &welcome));
      REQUIRE(channel.ok());
      channels.push_back(std::move(*channel));
    }
    control::JoinClusterRequest join;
    for (std::uint16_t i = 0; i < kServers; ++i) {
      join.add_epochs(servers[i]->server->epoch());
      join.add_addresses("sim:m" + std::to_string(i));
    }
    for (std::uint16_t i = 0; i < kServers; ++i)
      REQUIRE(call(i, control::JOIN_CLUSTER, join.SerializeAsString()).ok());
    // The second one, whose word is on server 1 where the vector is partitioned.
    for (int leases = 0; leases < 2; ++leases) {
      const auto lease = call(0, control::LEASE_SLOT, "");
      REQUIRE(lease.ok());
      control::LeaseSlotReply leased;
      REQUIRE(leased.ParseFromString(*lease));
      slot = leased.slot();
    }
    for (std::uint16_t i = 0; i < kServers; ++i) {
      const auto opened = call(i, calls::kOpenJournalMethod, calls::encode(calls::OpenJournalRequest{slot}));
      REQUIRE(opened.ok());
      rings.push_back(*calls::decode_open_journal_reply(*opened, kServerRegion_bytes));
      positions.push_back(0);
    }
  }
  ~OwnerAndServers() {
    channels.clear();
    for (auto& server : servers) world.run(server->node, server->server->stop());
    for (auto& server : servers) world.run(server->node, server->fabric->close());
  }

  static reactor::Task<Status> post(fabric::Channel* channel, fabric::Call* request) {
    channel->post(*request);
    co_await request->done();
    co_return request->status();
  }
  Result<std::string> call(std::uint16_t server, std::uint16_t method, std::string request) {
    fabric::Call bytes;
    bytes.method = method;
    bytes.request = std::move(request);
    Status status = world.run(owner, post(channels[server].get(), &bytes));
    if (!status.ok()) return status;
    return std::move(bytes.reply);
  }
  // The part of a commit that writes to these regions lands on that host. No table has its record.
  void write_part(std::uint16_t host, std::uint32_t counter, const std::vector<layout::ServerId>& regions) {
    std::vector<std::byte> bytes(4096);
    const layout::Stamp stamp{slot, counter};
    const layout::EntryHead head{1, 0, 0, regions};
    layout::JournalWriter writer(bytes, stamp, stamp, head);
    std::vector<std::byte> body(layout::kBodyPrefix_bytes + 64);
    layout::seal_body(body, layout::GlobalAddress(host, 64U << 10), {.stamp = stamp, .table = 0});
    writer.update(layout::GlobalAddress(host, 64U << 10), 0, body, body, layout::ImageForm::whole);
    const std::uint32_t length = writer.finish({slot, host, positions[host]});
    const auto region = std::as_writable_bytes(std::span(servers[host]->words));
    std::ranges::copy(
        std::span(bytes).first(length),
        region.begin() + static_cast<std::ptrdiff_t>(rings[host].ring_offset + positions[host]));
    positions[host] += layout::journal_stream_bytes(length);
  }
  Result<std::uint32_t> decide() {
    Decider decider(servers[0]->server->hosts());
    UndecidedSlot undecided;
    undecided.slot = slot;
    undecided.owner = testing::compute_id('o');
    undecided.server_count = kServers;
    for (std::uint16_t i = 0; i < kServers; ++i) undecided.hosts.push_back(i);
    return world.run(servers[0]->node, decider.decide(std::move(undecided)));
  }
  bool has_stream(std::uint16_t host) const {
    return servers[host]->server->journals().find(slot) != nullptr;
  }

  fabric::sim::SimWorld world;
  SimNode& owner;
  fabric::sim::SimClientFabric client;
  std::vector<std::unique_ptr<SimServer>> servers;
  std::vector<std::unique_ptr<fabric::Channel>> channels;
  std::uint32_t slot = 0;
  std::vector<calls::OpenJournalReply> rings;
  std::vector<std::uint64_t> positions;
};

}  // namespace

TEST_CASE(
    "a slot is decided over links between memory servers, after its living owner is fenced everywhere") {
  OwnerAndServers all;
  for (const std::uint16_t host : {0, 1}) all.write_part(host, 1, {0, 1});
  for (const std::uint16_t host : {1, 2}) all.write_part(host, 2, {1, 2});
  all.write_part(2, 3, {0, 2});  // never complete: server 0 has no part
  const auto final_counter = all.decide();
  REQUIRE(final_counter.ok());
  CHECK(*final_counter == 2);
  for (std::uint16_t host = 0; host < kServers; ++host) {
    CHECK_FALSE(all.has_stream(host));
    CHECK(all.servers[host]->server->peers().of(testing::compute_id('o')).empty());
  }
  CHECK_FALSE(all.call(1, calls::kPingMethod, "").ok());
  // A successor that knows nothing comes to the same end.
  const auto again = all.decide();
  REQUIRE(again.ok());
  CHECK(*again == 2);
}

TEST_CASE("server 0 closes the slots of an owner that is gone, and the vector shows the last commit") {
  const auto vector = GENERATE(layout::VectorSpread::whole, layout::VectorSpread::partitioned);
  OwnerAndServers all(vector);
  for (const std::uint16_t host : {0, 1}) all.write_part(host, 1, {0, 1});
  for (const std::uint16_t host : {1, 2}) all.write_part(host, 2, {1, 2});
  all.write_part(2, 3, {0, 2});  // never complete: server 0 has no part
  all.channels.clear();
  const Slots& slots = *all.servers[0]->server->slots();
  REQUIRE(all.world.run_until([&] { return slots.decided_count() == 2; }, 60 * kSecond_ns));
  CHECK(slots.dead_count() == 0);
  CHECK(slots.find(all.slot)->final_counter == 2);
  CHECK(slots.published({all.slot, 2}));
  for (std::uint16_t host = 0; host < kServers; ++host) CHECK_FALSE(all.has_stream(host));
  const bool whole = vector == layout::VectorSpread::whole;
  const Region& region = all.servers[whole ? 0 : 1]->server->region();
  CHECK(region.vector_word(whole ? 1 : 0).stamp() == layout::Stamp{all.slot, 2});
}

TEST_CASE("a slot waits for a memory server that cannot be reached, and is decided when it is back") {
  OwnerAndServers all;
  for (const std::uint16_t host : {0, 1}) all.write_part(host, 1, {0, 1});
  for (const std::uint16_t host : {0, 2}) all.write_part(host, 2, {0, 2});
  all.world.block(all.servers[0]->node, all.servers[2]->node, true);
  const auto waits = all.decide();
  REQUIRE_FALSE(waits.ok());
  CHECK(waits.status().code() == ErrorCode::cannot_connect_now);
  CHECK(waits.status().message().find("waits for memory server 2") != std::string::npos);
  // The commit that does not concern it is decided.
  const auto* const stream = all.servers[1]->server->journals().find(all.slot);
  REQUIRE(stream != nullptr);
  CHECK(stream->verdicts() == std::map<std::uint32_t, Verdict>{{1, Verdict::committed}});
  all.world.block(all.servers[0]->node, all.servers[2]->node, false);
  REQUIRE(all.world.run_until([&] { return all.servers[0]->server->links().state(2) == Links::State::up; },
                              60 * kSecond_ns));
  const auto decided = all.decide();
  REQUIRE(decided.ok());
  CHECK(*decided == 2);
}

}  // namespace namdb::memory
