// The memory servers that a commit reaches: those that have its rows, and for the timestamp vector server 0.
#include <catch2/catch.hpp>

#include "common/calls/batch_calls.h"
#include "common/calls/journal_calls.h"
#include "common/layout/placement.h"
#include "tools/namsim/cluster/cluster.h"
#include "tools/namsim/mutants/look.h"
#include "tools/namsim/mutants/mutant.h"
#include "tools/namsim/workloads/tables.h"

namespace namdb::sim {
namespace {

constexpr const char* kPlaced = "placed";

// Sound: counts what reaches server 0.
class CountServer0 final : public Mutant {
 public:
  void before(Posting& posting) override {
    if (posting.server != 0) return;
    const Look look(cluster());
    const std::uint64_t vector_end = look.vector_offset() + layout::vector_bytes(kVectorCapacity);
    for (const fabric::Operation& operation : posting.operations) {
      const bool vector =
          operation.remote_offset >= look.vector_offset() && operation.remote_offset < vector_end;
      ++(vector ? in_vector : elsewhere);
    }
  }
  reactor::Task<Status> on_call(fabric::Service* inner, std::size_t server, fabric::PeerId peer,
                                std::uint16_t method, std::string_view request, std::string* reply) override {
    if (server == 0 && (method == calls::kFlushMethod || method == calls::kOpenJournalMethod ||
                        method == calls::kBatchCallMethod))
      ++elsewhere;
    co_return co_await inner->on_call(peer, method, request, *reply);
  }
  void forget() { in_vector = elsewhere = 0; }

  static constexpr std::uint32_t kVectorCapacity = 64;
  std::uint64_t in_vector = 0;
  std::uint64_t elsewhere = 0;
};

layout::Schema placed_schema() {
  std::vector<layout::Column> columns(3);
  columns[0] = {.name = "place"};
  columns[1] = {.name = "id"};
  columns[2] = {.name = "value"};
  return std::move(*layout::Schema::create(std::move(columns), {0, 1}, {0}));
}

// A row at that place is inserted, and then changed.
reactor::Task<Status> write_row(txn::Engine* engine, std::int64_t place, std::int64_t id) {
  auto table = co_await engine->table(kPlaced);
  if (!table.ok()) co_return table.status();
  const auto session = engine->open_session();
  for (const bool fresh : {true, false}) {
    const auto transaction = engine->begin(*session);
    layout::Row row((*table)->schema);
    static_cast<void>(row.writer().set_integer(0, place).ok() && row.writer().set_integer(1, id).ok() &&
                      row.writer().set_integer(2, fresh ? 1 : 2).ok());
    if (fresh) {
      transaction->insert(*table, row.bytes());
      Status status = co_await transaction->fetch();
      if (status.ok()) status = co_await transaction->commit();
      if (!status.ok()) co_return status;
      continue;
    }
    layout::Key key((*table)->schema);
    key.integer(place).integer(id);
    const txn::RowId found = transaction->get(*table, key.bytes());
    Status status = co_await transaction->fetch();
    if (status.ok()) status = transaction->update(found).set_integer(2, 2);
    if (status.ok()) status = co_await transaction->commit();
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

}  // namespace

TEST_CASE("a commit whose rows are on memory server 1 reaches server 0 for the timestamp vector alone",
          "[journal]") {
  for (const auto durability : {memory::Durability::memory, memory::Durability::flushed}) {
    fabric::sim::SimWorld world(5);
    CountServer0 counted;
    ClusterOptions options;
    options.memory_servers = 2;
    options.memory.durability = durability;
    options.memory.vector_capacity = CountServer0::kVectorCapacity;
    options.interposer = &counted;
    Cluster cluster(world, options);
    cluster.add_compute();
    const auto run = [&](reactor::Task<Status> task) { return world.run(cluster.node(0), std::move(task)); };
    REQUIRE(run(create_table(cluster.worker(0), kPlaced, placed_schema(), 64, 2)).ok());
    std::int64_t place = 1;
    while (layout::partition_server(layout::partition_hash(place), 2) != 1) ++place;
    REQUIRE(run(write_row(&cluster.worker(0), place, 1)).ok());  // leases the slot
    world.run_for(kMillisecond_ns);
    counted.forget();
    const Status status = run(write_row(&cluster.worker(0), place, 2));
    INFO(status.to_string());
    REQUIRE(status.ok());
    CHECK(counted.in_vector > 0);
    CHECK(counted.elsewhere == 0);
    CHECK(cluster.memory(0).server->journals().all().empty());
    CHECK(cluster.memory(1).server->journals().all().size() == 1);
    REQUIRE(cluster.stop_compute(0, 10 * kSecond_ns));
    CHECK(cluster.check_at_rest(10 * kSecond_ns) == "");
  }
}

}  // namespace namdb::sim
