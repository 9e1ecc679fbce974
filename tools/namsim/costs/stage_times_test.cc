// Where transactions' time goes by stage: in virtual time nothing but waiting takes time, so it adds up.
#include <catch2/catch.hpp>
#include <string_view>

#include "common/protocols/protocol.h"
#include "compute/cluster/stage_times.h"
#include "tools/namsim/cluster/cluster.h"
#include "tools/namsim/testing/pairs_table.h"
#include "tools/namsim/workloads/tables.h"

namespace namdb::sim {
namespace {

using reactor::Task;
using txn::StageTimes;

struct Taken {
  Status status;
  std::uint64_t time_ns = 0;
  std::uint64_t round_trips = 0;
  std::uint64_t calls = 0;
};

// Reads four rows, and with `commit` writes one of them.
Task<Taken> run(txn::Engine* engine, StageTimes* times, bool commit = true) {
  auto table = co_await engine->table(kPairs);
  const auto session = engine->open_session();
  Taken taken;
  *times = {};
  const std::uint64_t began_ns = engine->executor().fresh_now_ns();
  const auto transaction = engine->begin(*session);
  std::vector<txn::RowId> rows;
  for (std::int64_t id = 0; id < 4; ++id)
    rows.push_back(transaction->get(*table, key_of((*table)->schema, id).bytes()));
  taken.status = co_await transaction->fetch();
  taken.calls = transaction->counters().calls;
  if (!commit) co_return taken;
  if (taken.status.ok()) taken.status = transaction->update(rows[0]).set_integer(1, 7);
  if (taken.status.ok()) taken.status = co_await transaction->commit();
  taken.time_ns = engine->executor().fresh_now_ns() - began_ns;
  taken.round_trips = transaction->counters().round_trips;
  co_return taken;
}

template <std::size_t kCount>
StageTimes::Cost sum(const std::array<StageTimes::Cost, kCount>& costs) {
  StageTimes::Cost all;
  for (const StageTimes::Cost& cost : costs) all += cost;
  return all;
}

}  // namespace

TEST_CASE("the stages of a transaction take all its time and round trips, one-sided and two-sided") {
  for (const protocol::ProtocolTraits& protocol : protocol::protocol_traits()) {
    for (const char* const stages : {"one-sided", "two-sided", "one-sided, flushed"}) {
      CAPTURE(protocol.name, stages);
      const bool flushed = std::string_view(stages).ends_with("flushed");
      fabric::sim::SimWorld world(1);
      StageTimes times;
      ClusterOptions options;
      options.region_bytes = 64U << 20;
      options.memory.protocol = protocol.name;
      options.memory.stages = *protocol::StageCode::parse(flushed ? "one-sided" : stages);
      if (flushed) options.memory.durability = memory::Durability::flushed;
      options.worker.stage_times = &times;
      options.worker.optimisations.passive_acknowledgement = false;
      Cluster cluster(world, options);
      const std::size_t compute = cluster.add_compute();
      txn::Engine* const engine = &cluster.worker(compute);
      REQUIRE(world.run(cluster.node(compute), load_pairs(engine, 4)).ok());
      REQUIRE(world.run(cluster.node(compute), run(engine, &times)).status.ok());
      world.run_for(kMillisecond_ns);  // what goes on in the background
      const Taken taken = world.run(cluster.node(compute), run(engine, &times));
      REQUIRE(taken.status.ok());
      const StageTimes counted = times;
      StageTimes::Cost all = sum(counted.stages);
      all += sum(counted.waits);
      CHECK(all.time_ns == taken.time_ns);
      CHECK(all.round_trips == taken.round_trips);
      // Under `si`, and in order, the install is posted with the log, and has no wait of its own. By calls
      // both are one.
      const bool posts_together = std::string_view(protocol.name) == "si" || protocol.ordered;
      const bool with_log = std::string_view(stages) == "two-sided" ||
                            (posts_together && std::string_view(stages) == "one-sided");
      CHECK(times.of(protocol::Stage::install).times == (with_log ? 0 : 1));
      for (const protocol::Stage stage : {protocol::Stage::read, protocol::Stage::log}) {
        CHECK(times.of(stage).times == 1);
        CHECK(times.of(stage).time_ns > 0);
      }
      CHECK(times.of(protocol::Stage::release).times == 0);
      CHECK(times.of(txn::Wait::flush).times == (flushed ? 1 : 0));
    }
  }
}

TEST_CASE(
    "keys that the memory server looks up take find's time, keys whose addresses are known that of read") {
  for (const bool cached : {false, true}) {
    CAPTURE(cached);
    fabric::sim::SimWorld world(1);
    StageTimes times;
    ClusterOptions options;
    options.region_bytes = 64U << 20;
    options.memory.protocol = "occ";
    options.memory.stages = protocol::StageCode().with(protocol::Stage::find);
    options.worker.stage_times = &times;
    options.worker.optimisations.location_cache = cached;
    Cluster cluster(world, options);
    const std::size_t compute = cluster.add_compute();
    txn::Engine* const engine = &cluster.worker(compute);
    REQUIRE(world.run(cluster.node(compute), load_pairs(engine, 4)).ok());
    REQUIRE(world.run(cluster.node(compute), run(engine, &times)).status.ok());
    const Taken taken = world.run(cluster.node(compute), run(engine, &times, false));
    REQUIRE(taken.status.ok());
    // With a cached location the record is READ there, which is the one-sided stage `read`, without a call.
    CHECK(taken.calls == (cached ? 0 : 1));
    CHECK(times.of(protocol::Stage::find).times == (cached ? 0 : 1));
    CHECK(times.of(protocol::Stage::read).times == (cached ? 1 : 0));
  }
}

TEST_CASE("locks released in the background take no time of a transaction") {
  fabric::sim::SimWorld world(1);
  StageTimes times;
  ClusterOptions options;
  options.region_bytes = 64U << 20;
  options.memory.protocol = "nowait";
  options.worker.stage_times = &times;
  Cluster cluster(world, options);
  const std::size_t compute = cluster.add_compute();
  txn::Engine* const engine = &cluster.worker(compute);
  REQUIRE(world.run(cluster.node(compute), load_pairs(engine, 4)).ok());
  REQUIRE(world.run(cluster.node(compute), run(engine, &times, false)).status.ok());
  world.run_for(kMillisecond_ns);
  CHECK(times.of(protocol::Stage::lock).times == 1);
  CHECK(times.of(protocol::Stage::release).times == 0);
  // It was: no transaction meets a lock.
  REQUIRE(world.run(cluster.node(compute), run(engine, &times)).status.ok());
}

}  // namespace namdb::sim
