// Entries that are sent ahead of the commit's locks (compute/index/index_writes.h).
#include <catch2/catch.hpp>
#include <vector>

#include "common/calls/index_calls.h"
#include "tools/namsim/cluster/cluster.h"
#include "tools/namsim/mutants/mutant.h"
#include "tools/namsim/testing/pairs_table.h"
#include "tools/namsim/workloads/tables.h"

namespace namdb::sim {
namespace {

using reactor::Task;

// Commits hear of their entries so much later, and with that of their locks. Notes which calls were ahead.
class SlowAnswers final : public Mutant {
 public:
  Task<Status> on_call(fabric::Service* inner, std::size_t server, fabric::PeerId peer, std::uint16_t method,
                       std::string_view request, std::string* reply) override {
    Status status = co_await inner->on_call(peer, method, request, *reply);
    if (method != calls::kIndexWriteMethod) co_return status;
    ahead.push_back(calls::decode_index_changes(request)->at(0).ahead);
    if (ahead.back()) co_await cluster().memory(server).node->sleep_for(delay_ns);
    co_return status;
  }
  std::uint64_t delay_ns = 0;
  std::vector<bool> ahead;
};

Task<Status> change(txn::Engine* engine, std::int64_t second) {
  auto table = co_await engine->table(kPairs);
  const auto session = engine->open_session();
  const auto transaction = engine->begin(*session);
  const txn::RowId row = transaction->get(*table, key_of((*table)->schema, 0).bytes());
  if (Status status = co_await transaction->fetch(); !status.ok()) co_return status;
  if (Status status = transaction->update(row).set_integer(1, second); !status.ok()) co_return status;
  co_return co_await transaction->commit();
}

}  // namespace

TEST_CASE("a commit that gets its locks late sends its entries again, under them", "[indexes]") {
  fabric::sim::SimWorld world(1);
  SlowAnswers answers;
  ClusterOptions options;
  options.interposer = &answers;
  Cluster cluster(world, options);
  const std::size_t compute = cluster.add_compute();
  txn::Engine* const engine = &cluster.worker(compute);
  const auto run = [&](Task<Status> task) { return world.run(cluster.node(compute), std::move(task)); };
  REQUIRE(run(load_pairs(engine, 4)).ok());
  REQUIRE(run(engine->create_index({"by_second", kPairs, {{1, false}}, false, false})).ok());
  answers.ahead.clear();
  REQUIRE(run(change(engine, 5)).ok());
  CHECK(answers.ahead == std::vector<bool>{true});
  answers.ahead.clear();
  answers.delay_ns = calls::kAheadOfLocks_ns + kMillisecond_ns;
  REQUIRE(run(change(engine, 6)).ok());
  CHECK(answers.ahead == std::vector<bool>{true, false});
}

}  // namespace namdb::sim
