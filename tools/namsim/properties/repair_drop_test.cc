// A table is dropped while somebody is in the middle of a repair that writes to it.
#include <catch2/catch.hpp>

#include "common/layout/key.h"
#include "proto/control.pb.h"
#include "tools/namsim/cluster/cluster.h"
#include "tools/namsim/scenario/scenario.h"
#include "tools/namsim/workloads/tables.h"

namespace namdb::sim {
namespace {

using reactor::Task;

// Memory server 0 speaks of dead slots only to who asks for one, and holds back the catalog from the first
// compute server that claims a repair.
class HeldRepair final : public Interposer, private fabric::Service {
 public:
  bool claimed() const { return repairer_ != 0; }
  void release() { held_ = false; }

  void attach(Cluster& cluster) override { cluster_ = &cluster; }
  std::unique_ptr<fabric::ClientFabric> client(std::size_t,
                                               std::unique_ptr<fabric::ClientFabric> fabric) override {
    return fabric;
  }
  std::unique_ptr<fabric::Service> service(std::size_t, fabric::Service& service) override {
    inner_ = &service;
    return std::make_unique<Forward>(*this);
  }

 private:
  struct Forward final : fabric::Service {
    explicit Forward(HeldRepair& owner) : to(owner) {}
    Result<std::string> on_connect(fabric::PeerId peer, std::string_view hello) override {
      return to.on_connect(peer, hello);
    }
    Task<Status> on_call(fabric::PeerId peer, std::uint16_t method, std::string_view request,
                         std::string& reply) override {
      return to.on_call(peer, method, request, reply);
    }
    void on_disconnect(fabric::PeerId peer) override { to.on_disconnect(peer); }
    fabric::Service& to;
  };
  Result<std::string> on_connect(fabric::PeerId peer, std::string_view hello) override {
    return inner_->on_connect(peer, hello);
  }
  Task<Status> on_call(fabric::PeerId peer, std::uint16_t method, std::string_view request,
                       std::string& reply) override {
    std::string* const answer = &reply;
    if (method == control::CLAIM_REPAIR && repairer_ == 0) repairer_ = peer;
    while (method == control::GET_CATALOG && peer == repairer_ && held_)
      co_await cluster_->memory(0).node->sleep_for(kMillisecond_ns);
    Status status = co_await inner_->on_call(peer, method, request, *answer);
    control::ListSlotsReply list;
    if (method == control::LIST_SLOTS && request.empty() && list.ParseFromString(*answer)) {
      for (control::Slot& slot : *list.mutable_slots()) {
        if (slot.state() == control::SLOT_DEAD) slot.set_state(control::SLOT_LEASED);
      }
      *answer = list.SerializeAsString();
    }
    co_return status;
  }
  void on_disconnect(fabric::PeerId peer) override { inner_->on_disconnect(peer); }

  Cluster* cluster_ = nullptr;
  fabric::Service* inner_ = nullptr;
  fabric::PeerId repairer_ = 0;
  bool held_ = true;
};

Task<Status> create_with_a_row(compute::Worker* worker) {
  const layout::Schema schema = bigints({"id", "value"});
  Status status = co_await create_table(*worker, "dropped", schema, 512, 0);
  if (!status.ok()) co_return status;
  auto table = co_await worker->table("dropped");
  if (!table.ok()) co_return table.status();
  const auto session = worker->open_session();
  const auto transaction = worker->begin(*session);
  layout::Row row((*table)->schema);
  status = row.writer().set_integer(0, 1);
  if (status.ok()) status = row.writer().set_integer(1, 1);
  if (status.ok()) transaction->insert(*table, row.bytes());
  if (status.ok()) status = co_await transaction->fetch();
  if (status.ok()) status = co_await transaction->commit();
  co_return status;
}

Task<Status> update(compute::Worker* worker) {
  auto table = co_await worker->table("dropped");
  if (!table.ok()) co_return table.status();
  const auto session = worker->open_session();
  const auto transaction = worker->begin(*session);
  const txn::RowId row =
      transaction->get(*table, std::move(layout::Key((*table)->schema).integer(1)).bytes());
  Status status = co_await transaction->fetch();
  if (status.ok()) status = transaction->update(row).set_integer(1, 2);
  if (!status.ok()) co_return status;
  co_return co_await transaction->commit();
}

}  // namespace

TEST_CASE("a dropped table's memory is not used again before a repair that may write to it has ended",
          "[engine]") {
  fabric::sim::SimWorld world(3);
  HeldRepair held;
  ClusterOptions options;
  options.memory.extent_bytes = 64U << 10;
  options.memory.journal_bytes = 128U << 10;
  options.memory.collect_interval_ns = kMillisecond_ns;
  options.memory.reuse_interval_ns = kMillisecond_ns;
  options.worker.heartbeat_ns = kMillisecond_ns;
  options.interposer = &held;
  Cluster cluster(world, options);
  cluster.add_compute();
  cluster.add_compute();
  REQUIRE(world.run(cluster.node(0), create_with_a_row(&cluster.worker(0))).ok());
  const memory::MemoryServer& server = *cluster.memory(0).server;
  const memory::SlabAllocator& records = server.tables().all().begin()->second->records;
  std::uint64_t record = records.next_used(0);
  while (cluster.memory(0).words[record / 8] == 0) record = records.next_used(record);

  // A third one dies with the row's lock.
  const std::size_t owner = cluster.add_compute();
  REQUIRE(world.run(cluster.node(owner), update(&cluster.worker(owner))).ok());
  std::uint64_t& header = cluster.memory(0).words[record / 8];
  const layout::Stamp last = layout::HeaderWord(header).stamp();
  cluster.kill_compute(owner);
  header = layout::HeaderWord({last.slot, last.counter + 1}, false, true).value();
  for (int attempt = 0; attempt < 100 && !held.claimed(); ++attempt) {
    CHECK_FALSE(world.run(cluster.node(0), update(&cluster.worker(0))).ok());
    world.run_for(10 * kMillisecond_ns);
  }
  REQUIRE(held.claimed());

  const std::uint64_t before_bytes = server.use().table_bytes;
  REQUIRE(world.run(cluster.node(1), cluster.worker(1).drop_table("dropped")).ok());
  world.run_for(kSecond_ns);
  CHECK(server.use().table_bytes == before_bytes);
  held.release();
  world.run_for(kSecond_ns);
  CHECK(server.use().table_bytes == 0);
  CHECK(cluster.worker(0).slots_repaired() + cluster.worker(1).slots_repaired() <= 1);
}

// Nobody repairs a row of a table that is gone; an older snapshot may still wait for it.
TEST_CASE("who waits for a row that a dead commit left half written in a dropped table is told of the drop",
          "[engine]") {
  Scenario scenario = Scenario::of_seed(806787, "schema");
  scenario.resize(
      {.memory_servers = 2, .computes = 3, .clients = 3, .transactions = 12, .keys = 2, .kills = 2});
  REQUIRE(scenario.use_faults(draw_faults(scenario.seed), "seed").ok());
  CHECK(run_scenario(scenario, promised_level("si")).anomaly == "");
}

}  // namespace namdb::sim
