// A slot that is leased and not placed in its part of the timestamp vector yet does not pass for retired.
#include <catch2/catch.hpp>

#include "proto/control.pb.h"
#include "tools/namsim/mutants/mutant.h"
#include "tools/namsim/workloads/tables.h"

namespace namdb::sim {
namespace {

using reactor::Task;

// The answer to PLACE_SLOT, and all that it does, comes seconds later.
class PlacedLate final : public Mutant {
 public:
  Task<Status> on_call(fabric::Service* inner, std::size_t server, fabric::PeerId peer, std::uint16_t method,
                       std::string_view request, std::string* reply) override {
    if (method == control::PLACE_SLOT) co_await cluster().memory(server).node->sleep_for(kLate_ns);
    co_return co_await inner->on_call(peer, method, request, *reply);
  }
  static constexpr std::uint64_t kLate_ns = 3 * kSecond_ns;
};

Task<Status> insert(compute::Worker* worker, std::int64_t id) {
  const auto session = worker->open_session();
  auto table = co_await worker->table("rows");
  if (!table.ok()) co_return table.status();
  const auto transaction = worker->begin(*session);
  layout::Row row((*table)->schema);
  REQUIRE(row.writer().set_integer(0, id).ok());
  REQUIRE(row.writer().set_integer(1, id).ok());
  transaction->insert(*table, row.bytes());
  if (Status status = co_await transaction->fetch(); !status.ok()) co_return status;
  co_return co_await transaction->commit();
}

Task<void> insert_later(compute::Worker* worker, std::int64_t id, Status* status) {
  *status = co_await insert(worker, id);
}

}  // namespace

TEST_CASE("a slot that is leased and not placed yet is not taken for retired by memory servers",
          "[partitioned]") {
  fabric::sim::SimWorld world(1);
  PlacedLate late;
  ClusterOptions options;
  options.memory_servers = 2;
  options.memory.extent_bytes = 64U << 10;
  options.memory.journal_bytes = 128U << 10;
  options.memory.timestamp_vector = layout::VectorSpread::partitioned;
  options.interposer = &late;
  Cluster cluster(world, options);
  for (int i = 0; i < 3; ++i) cluster.add_compute();
  const layout::Schema schema = bigints({"id", "value"});
  const auto created = world.run(cluster.node(0), create_table(cluster.worker(0), "rows", schema, 8, 0));
  REQUIRE(created.ok());
  REQUIRE(world.run(cluster.node(0), insert(&cluster.worker(0), 0)).ok());

  Status inserted(ErrorCode::internal, "under way");
  reactor::Gate gate;
  cluster.node(1).spawn(gate, insert_later(&cluster.worker(1), 1, &inserted));
  world.run_for(kMillisecond_ns);
  REQUIRE(world.run(cluster.node(2), insert(&cluster.worker(2), 2)).ok());
  const memory::Slots& slots = *cluster.memory(0).server->slots();
  std::uint32_t unplaced = 0;
  for (const auto& [id, slot] : slots.active()) {
    if (slot.position == 1) unplaced = id;
  }
  REQUIRE(unplaced != 0);
  REQUIRE(slots.next_slot() == unplaced + 2);
  const auto word = [&] { return cluster.memory(1).server->region().vector_word(0).stamp(); };

  world.run_for(2 * kSecond_ns);  // heartbeats bring copies every second
  CHECK(word().none());
  CHECK_FALSE(slots.published({unplaced, 1}));
  world.run_for(3 * kSecond_ns);
  CHECK(inserted.ok());
  CHECK(word() == layout::Stamp{unplaced, 1});
  CHECK(slots.published({unplaced, 1}));
}

}  // namespace namdb::sim
