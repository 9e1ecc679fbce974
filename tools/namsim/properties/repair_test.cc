// Repairs that go wrong: a repairer that dies, a slot that cannot be repaired.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

#include "common/layout/journal.h"
#include "proto/control.pb.h"
#include "tools/namsim/cluster/cluster.h"

namespace namdb::sim {
namespace {

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
    hello.set_protocol_version(1);
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

}  // namespace

TEST_CASE("a repairer fences all who claimed the slot before it, on every memory server", "[engine]") {
  SimWorld world(1);
  Cluster cluster(world, small_cluster(2));
  Manual owner(world, 'o', 1);
  const auto slot =
      owner.call<control::LeaseSlotReply>(control::LEASE_SLOT, control::LeaseSlotRequest()).slot();
  owner.channels.clear();
  // Both claim and lose their channel to server 0 only: they may still write to server 1.
  Manual first(world, 'a', 2);
  Manual second(world, 'b', 2);
  for (Manual* repairer : {&first, &second}) {
    world.run_for(kSecond_ns);
    control::ClaimRepairRequest claim;
    claim.set_slot(slot);
    REQUIRE(repairer->call<control::ClaimRepairReply>(control::CLAIM_REPAIR, claim).granted());
    repairer->channels[0].reset();
  }
  world.run_for(kSecond_ns);
  const std::size_t last = cluster.add_compute();
  CHECK(cluster.worker(last).slots_repaired() == 1);
  CHECK(state_of(cluster, slot) == control::SLOT_CLOSED);
  world.run_for(kSecond_ns);
  CHECK(first.channels[1]->failed());
  CHECK(second.channels[1]->failed());
}

TEST_CASE("a slot that cannot be repaired is reported once, stops no compute server and no other repair",
          "[engine]") {
  SimWorld world(2);
  std::vector<std::string> log;
  ClusterOptions options = small_cluster(1);
  options.log = [&log](const std::string& line) { log.push_back(line); };
  Cluster cluster(world, options);
  control::LeaseSlotReply corrupt;
  std::uint32_t sound = 0;
  {
    Manual owner(world, 'o', 1);
    corrupt = owner.call<control::LeaseSlotReply>(control::LEASE_SLOT, control::LeaseSlotRequest());
    sound = owner.call<control::LeaseSlotReply>(control::LEASE_SLOT, control::LeaseSlotRequest()).slot();
  }
  // A complete entry that makes no sense.
  const std::span<std::byte> journal = std::as_writable_bytes(std::span(cluster.memory(0).words))
                                           .subspan(corrupt.journal_offset(), corrupt.journal_bytes());
  const layout::Stamp stamp{corrupt.slot(), 1};
  const layout::ServerId regions[] = {0};
  layout::JournalWriter writer(journal, stamp, stamp, {.regions = regions});
  writer.chain(layout::GlobalAddress(7, 4096), 0, 0);
  writer.finish({corrupt.slot(), 0, 0});
  world.run_for(kSecond_ns);

  const Status started = cluster.try_add_compute();
  INFO(started.to_string());
  REQUIRE(started.ok());
  CHECK(cluster.worker(0).ready());
  CHECK(cluster.worker(0).slots_repaired() == 1);
  CHECK(state_of(cluster, sound) == control::SLOT_CLOSED);
  world.run_for(5 * kSecond_ns);
  REQUIRE(log.size() == 1);
  CHECK(log[0].find("slot " + std::to_string(corrupt.slot()) + " ") != std::string::npos);
  CHECK(log[0].find("names a memory server that is not there") != std::string::npos);
  CHECK(state_of(cluster, corrupt.slot()) == control::SLOT_REPAIRING);

  // The obstacle is gone: the same repairer, still connected, tries again by itself.
  std::fill(journal.begin(), journal.end(), std::byte{});
  world.run_for(5 * kSecond_ns);
  CHECK(state_of(cluster, corrupt.slot()) == control::SLOT_CLOSED);
  CHECK(cluster.worker(0).slots_repaired() == 2);
  CHECK(log.size() == 1);
}

}  // namespace namdb::sim
