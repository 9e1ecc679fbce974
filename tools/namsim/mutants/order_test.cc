// Transactions that are put in order before they run meet no conflict; and doubles that break the order, each
// of which this notices: transactions then conflict, or wait for each other for ever.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <memory>

#include "common/layout/order_lanes.h"
#include "tools/namsim/cluster/cluster.h"
#include "tools/namsim/mutants/mutant.h"
#include "tools/namsim/testing/pairs_table.h"
#include "tools/namsim/testing/seeds.h"
#include "tools/namsim/workloads/tables.h"

namespace namdb::sim {
namespace {

using layout::OrderWord;
using reactor::Task;

constexpr std::int64_t kRows = 6;
constexpr std::size_t kComputes = 3;
constexpr std::size_t kClients = 4;  // of a compute server
constexpr std::uint64_t kTransactions = 25;

// Every transaction adds 1 to three rows, which it asks for in any order.
class OrderRun {
 public:
  OrderRun(std::uint64_t seed, std::string_view stages, Interposer* double_of_order)
      : world_(seed, network()), cluster_(world_, options_of(stages, double_of_order)) {
    for (std::size_t i = 0; i < kComputes; ++i) cluster_.add_compute();
    REQUIRE(world_.run(cluster_.node(0), load_pairs(&cluster_.worker(0), kRows)).ok());
    for (std::size_t client = 0; client < kComputes * kClients; ++client)
      cluster_.node(client % kComputes).spawn(gates_[client % kComputes], run_client(this, client));
    world_.run_for(5 * kSecond_ns);
  }

  bool all_ended() const { return ended_ == kComputes * kClients; }
  std::uint64_t conflicts() const { return conflicts_; }
  std::int64_t sum() {
    auto sum = world_.run(cluster_.node(0), read_sum(&cluster_.worker(0)));
    REQUIRE(sum.ok());
    return *sum;
  }

 private:
  // Epochs of different workers overlap often.
  static fabric::sim::SimOptions network() {
    fabric::sim::SimOptions network;
    network.request.spread_ns = network.reply.spread_ns = 200'000;
    return network;
  }
  static ClusterOptions options_of(std::string_view stages, Interposer* interposer) {
    ClusterOptions options;
    options.memory_servers = 2;
    options.region_bytes = 64U << 20;
    options.memory.protocol = "calvin";
    options.memory.stages = *protocol::StageCode::parse(stages);
    options.interposer = interposer;
    return options;
  }
  static Task<void> run_client(OrderRun* self, std::size_t client) {
    txn::Engine& engine = self->cluster_.worker(client % kComputes);
    Random random(client + 1);
    const auto session = engine.open_session();
    for (std::uint64_t i = 0; i < kTransactions;) {
      const std::uint64_t first = random.below(kRows);
      const std::uint64_t step = 1 + random.below(2);
      const Status status = co_await add(&engine, session.get(), first, step);
      if (status.ok()) {
        ++i;
      } else {
        ++self->conflicts_;
        co_await engine.backoff(1);
      }
    }
    ++self->ended_;
  }
  static Task<Status> add(txn::Engine* engine, txn::Session* session, std::uint64_t first,
                          std::uint64_t step) {
    auto table = co_await engine->table(kPairs);
    if (!table.ok()) co_return table.status();
    const auto transaction = engine->begin(*session);
    std::vector<txn::RowId> rows;
    for (std::uint64_t i = 0; i < 3; ++i) {
      const auto id = static_cast<std::int64_t>((first + i * step) % kRows);
      rows.push_back(transaction->get(*table, key_of((*table)->schema, id).bytes()));
    }
    Status status = co_await transaction->fetch();
    for (std::size_t i = 0; i < rows.size() && status.ok(); ++i) {
      const std::int64_t value = transaction->row(rows[i]).integer(1);
      status = transaction->update(rows[i]).set_integer(1, value + 1);
    }
    if (status.ok()) status = co_await transaction->commit();
    co_return status;
  }
  static Task<Result<std::int64_t>> read_sum(txn::Engine* engine) {
    auto table = co_await engine->table(kPairs);
    const auto session = engine->open_session();
    const auto transaction = engine->begin(*session);
    std::vector<txn::RowId> rows;
    for (std::int64_t id = 0; id < kRows; ++id)
      rows.push_back(transaction->read(*table, key_of((*table)->schema, id).bytes()));
    Status status = co_await transaction->fetch();
    if (!status.ok()) co_return status;
    std::int64_t sum = 0;
    for (const txn::RowId row : rows) sum += transaction->row(row).integer(1);
    co_return sum;
  }

  fabric::sim::SimWorld world_;
  Cluster cluster_;
  std::array<reactor::Gate, kComputes> gates_;
  std::uint64_t conflicts_ = 0;
  std::size_t ended_ = 0;
};

std::uint64_t lanes_offset(Cluster& cluster) {
  const layout::RegionMap& map = cluster.memory(0).server->region().map();
  return layout::order_lanes_offset(map.vector_offset, map.vector_capacity);
}

// A look at the lanes shows others' words as `seen` has them.
class LookAtLanes : public Mutant {
 public:
  void after(Posting& posting) override {
    if (posting.server != 0) return;
    for (const fabric::Operation& operation : posting.operations) {
      if (operation.kind != fabric::OperationKind::read ||
          operation.remote_offset != lanes_offset(cluster()) ||
          operation.length_bytes <= layout::kOrderOwners_bytes)
        continue;
      for (std::uint64_t at = layout::kOrderOwners_bytes; at < operation.length_bytes; at += 8) {
        const OrderWord word = OrderWord::of(layout::load_word(operation.local + at));
        if (word.epoch != 0) layout::store_word(operation.local + at, seen(word).value());
      }
    }
  }

 protected:
  virtual OrderWord seen(OrderWord word) const = 0;
};

// Workers do not see transactions whose numbers are not known yet.
class AnnouncedNotSeen final : public LookAtLanes {
  OrderWord seen(OrderWord word) const override { return word.number == 0 ? OrderWord{} : word; }
};

// Locks are taken in the order in which transactions come: others seem to come later.
class AsTheyCome final : public LookAtLanes {
  OrderWord seen(OrderWord word) const override {
    return word.number == 0 ? OrderWord{} : OrderWord{word.epoch, 0x40000000};
  }
};

// A transaction is taken out of its lane before it is over: as soon as its number stands there.
class LeavesEarly final : public Mutant {
 public:
  void before(Posting& posting) override {
    for (fabric::Operation& operation : posting.operations) {
      if (operation.kind != fabric::OperationKind::write ||
          operation.length_bytes != layout::kOrderWords_bytes || posting.server != 0)
        continue;
      posting.buffers.emplace_back(*posting.pool, operation.length_bytes);
      std::byte* const copy = posting.buffers.back().data();
      std::memcpy(copy, operation.local, operation.length_bytes);
      for (std::uint32_t at = 0; at < operation.length_bytes; at += 8) {
        if (OrderWord::of(layout::load_word(copy + at)).number != 0) layout::store_word(copy + at, 0);
      }
      operation.local = copy;
    }
  }
};

// A place is used again while others may still READ its rows: they find no rows there.
class RowsReusedEarly final : public Mutant {
 public:
  void after(Posting& posting) override {
    for (const fabric::Operation& operation : posting.operations) {
      if (posting.server == 0 && operation.kind == fabric::OperationKind::read &&
          operation.length_bytes == layout::kOrderEntry_bytes &&
          operation.remote_offset >= lanes_offset(cluster()) &&
          operation.remote_offset < lanes_offset(cluster()) + layout::kOrderLanes_bytes)
        std::memset(operation.local, 0, operation.length_bytes);
    }
  }
};

}  // namespace

TEST_CASE("transactions in order never conflict, and none is lost", "[order]") {
  const std::string_view stages = GENERATE("one-sided", "two-sided");
  const auto [first, count] = Seeds(10);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    CAPTURE(stages, seed);
    OrderRun run(seed, stages, nullptr);
    REQUIRE(run.all_ended());
    CHECK(run.conflicts() == 0);
    CHECK(run.sum() == static_cast<std::int64_t>(3 * kComputes * kClients * kTransactions));
  }
}

TEMPLATE_TEST_CASE("an order that is broken is noticed", "[order]", AnnouncedNotSeen, AsTheyCome, LeavesEarly,
                   RowsReusedEarly) {
  bool noticed = false;
  for (std::uint64_t seed = 1; seed <= 100 && !noticed; ++seed) {
    auto broken = std::make_unique<TestType>();
    auto run = std::make_unique<OrderRun>(seed, "one-sided", broken.get());
    noticed = !run->all_ended() || run->conflicts() != 0;
    if (run->all_ended()) continue;
    // It is abandoned where it stands, with all that waits for ever.
    static_cast<void>(run.release());
    static_cast<void>(broken.release());
  }
  CHECK(noticed);
}

}  // namespace namdb::sim
