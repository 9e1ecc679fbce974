// Slots of dead owners: owners that are still connected elsewhere, and a slot that cannot be decided.
#include <catch2/catch.hpp>

#include "common/calls/journal_calls.h"
#include "common/calls/protocol_version.h"
#include "common/layout/journal.h"
#include "proto/control.pb.h"
#include "tools/namsim/cluster/cluster.h"

namespace namdb::sim {
namespace dead_slots_test {

using fabric::sim::SimNode;
using fabric::sim::SimWorld;
using reactor::Task;

ClusterOptions small_cluster(std::uint32_t memory_servers) {
  ClusterOptions options;
  options.memory_servers = memory_servers;
  options.memory.extent_bytes = 64U << 10;
  options.memory.journal_bytes = 128U << 10;
  return options;
}

Task<Status> call_task(fabric::Channel* channel, fabric::Call* call) {
  channel->post(*call);
  co_await call->done();
  co_return call->status();
}

// A compute server that is driven by hand: a channel to each memory server.
struct Manual {
  Manual(SimWorld& its_world, char its_id, std::uint32_t memory_servers)
      : world(its_world), node(its_world.add_node(std::string("manual-") + its_id)), fabric(node) {
    control::Hello hello;
    hello.set_protocol_version(calls::kProtocolVersion);
    hello.set_compute_id(std::string(16, its_id));
    for (std::uint32_t i = 0; i < memory_servers; ++i) {
      std::string welcome;
      auto channel =
          world.run(node, fabric.connect("sim:m" + std::to_string(i), hello.SerializeAsString(), &welcome));
      REQUIRE(channel.ok());
      channels.push_back(std::move(channel).value());
    }
  }
  template <typename Reply, typename Request>
  Reply call(control::Method method, const Request& request) {
    fabric::Call call;
    call.method = static_cast<std::uint16_t>(method);
    call.request = request.SerializeAsString();
    const Status status = world.run(node, call_task(channels[0].get(), &call));
    INFO(status.to_string());
    REQUIRE(status.ok());
    Reply reply;
    REQUIRE(reply.ParseFromString(call.reply));
    return reply;
  }

  calls::OpenJournalReply open_journal(std::uint32_t slot) {
    fabric::Call call;
    call.method = calls::kOpenJournalMethod;
    call.request = calls::encode(calls::OpenJournalRequest{slot});
    REQUIRE(world.run(node, call_task(channels[0].get(), &call)).ok());
    return *calls::decode_open_journal_reply(call.reply, ~std::uint64_t{0});
  }

  SimWorld& world;
  SimNode& node;
  fabric::sim::SimClientFabric fabric;
  std::vector<std::unique_ptr<fabric::Channel>> channels;
};

control::SlotState state_of(Cluster& cluster, std::uint32_t slot) {
  Manual looker(cluster.world(), 'l', 1);
  control::ListSlotsRequest request;
  request.add_slots(slot);
  return looker.call<control::ListSlotsReply>(control::LIST_SLOTS, request).slots(0).state();
}

TEST_CASE("an owner is fenced at every memory server before its slot is closed", "[engine]") {
  SimWorld world(1);
  Cluster cluster(world, small_cluster(2));
  cluster.add_compute();  // tells where the memory servers are
  Manual owner(world, 'o', 2);
  const auto slot =
      owner.call<control::LeaseSlotReply>(control::LEASE_SLOT, control::LeaseSlotRequest()).slot();
  // It may still write to server 1.
  owner.channels[0].reset();
  world.run_for(kSecond_ns);
  CHECK(state_of(cluster, slot) == control::SLOT_CLOSED);
  CHECK(owner.channels[1]->failed());
}

TEST_CASE("a slot that dies before any worker has joined all memory servers waits for one", "[engine]") {
  SimWorld world(3);
  Cluster cluster(world, small_cluster(2));
  std::uint32_t slot = 0;
  {
    Manual owner(world, 'o', 2);
    slot = owner.call<control::LeaseSlotReply>(control::LEASE_SLOT, control::LeaseSlotRequest()).slot();
  }
  world.run_for(10 * kSecond_ns);
  CHECK(state_of(cluster, slot) == control::SLOT_DEAD);
  cluster.add_compute();
  world.run_for(100 * kMillisecond_ns);
  CHECK(state_of(cluster, slot) == control::SLOT_CLOSED);
}

TEST_CASE("a slot that cannot be decided is reported once, stops no compute server and no other slot",
          "[engine]") {
  SimWorld world(2);
  std::vector<std::string> log;
  ClusterOptions options = small_cluster(1);
  options.memory.notice = [&log](const std::string& line) {
    if (line.find("cannot be decided") != std::string::npos) log.push_back(line);
  };
  Cluster cluster(world, options);
  std::uint32_t corrupt = 0;
  std::uint32_t sound = 0;
  {
    Manual owner(world, 'o', 1);
    corrupt = owner.call<control::LeaseSlotReply>(control::LEASE_SLOT, control::LeaseSlotRequest()).slot();
    sound = owner.call<control::LeaseSlotReply>(control::LEASE_SLOT, control::LeaseSlotRequest()).slot();
    const auto ring = owner.open_journal(corrupt);
    // A complete entry that makes no sense.
    const std::span<std::byte> journal =
        std::as_writable_bytes(std::span(cluster.memory(0).words)).subspan(ring.ring_offset, ring.ring_bytes);
    const layout::Stamp stamp{corrupt, 1};
    const layout::ServerId regions[] = {0};
    layout::JournalWriter writer(journal, stamp, stamp, {.regions = regions});
    writer.chain(layout::GlobalAddress(0, 4096), 0, 0);
    writer.finish({corrupt, 0, 0});
  }
  world.run_for(5 * kSecond_ns);
  const Status started = cluster.try_add_compute();
  INFO(started.to_string());
  REQUIRE(started.ok());
  CHECK(cluster.worker(0).ready());
  CHECK(state_of(cluster, sound) == control::SLOT_CLOSED);
  CHECK(state_of(cluster, corrupt) == control::SLOT_DEAD);
  REQUIRE(log.size() == 1);
  CHECK(log[0].find("slot " + std::to_string(corrupt) + ",") != std::string::npos);
  CHECK(log[0].find("has a chain without a new record") != std::string::npos);
}

}  // namespace dead_slots_test
}  // namespace namdb::sim
