// Old versions of long rows, each in a group of its own in the overflow region, that readers go back to while
// writers add newer ones and the memory server collects older ones.
#include <catch2/catch.hpp>
#include <string>

#include "proto/control.pb.h"
#include "tools/namsim/cluster/cluster.h"
#include "tools/namsim/testing/seeds.h"
#include "tools/namsim/testing/text_rows.h"

namespace namdb::sim {
namespace {

using reactor::Task;

constexpr TextRows kShape{.rows = 3, .text_bytes = 16'300};
constexpr int kReads = 40;

class LongRowRun {
 public:
  explicit LongRowRun(std::uint64_t seed) : world_(seed, network_of(seed)), cluster_(world_, options()) {
    for (int i = 0; i < 2; ++i) cluster_.add_compute();
    REQUIRE(world_.run(cluster_.node(0), load_text_rows(&cluster_.worker(0), kShape)).ok());
  }
  // Empty, or what is wrong.
  std::string go() {
    cluster_.node(0).spawn(gate_, write_on(this, &cluster_.worker(0)));
    const Status status = world_.run(cluster_.node(1), read_on(this, &cluster_.worker(1)));
    over_ = true;
    world_.run_until([this] { return gate_.count() == 0; });
    return status.ok() ? mistake_ : status.to_string();
  }
  std::int64_t behind() const { return behind_; }
  std::uint64_t collected() { return cluster_.memory(0).server->status().versions_collected(); }

 private:
  static fabric::sim::SimOptions network_of(std::uint64_t seed) {
    Random draw(seed * 7919);
    return fabric::sim::SimOptions::swarm(draw);
  }
  static ClusterOptions options() {
    ClusterOptions options;
    options.region_bytes = 64U << 20;
    options.memory.ring_slots = 2;
    options.memory.collect_interval_ns = kMillisecond_ns;
    options.location_cache_bytes = 4U << 20;
    return options;
  }
  static Task<void> write_on(LongRowRun* self, txn::Engine* engine) {
    const auto session = engine->open_session();
    while (!self->over_) {
      const Status status = co_await update_text_rows(engine, session.get(), kShape, self->written_ + 1);
      if (status.ok()) ++self->written_;
      // A region that is full of what a reader may still look for makes writers wait.
      if (!status.ok() && !status.info().retry && self->mistake_.empty()) self->mistake_ = status.to_string();
      co_await engine->executor().sleep_for(1 + self->world_.random().below(kMillisecond_ns / 4));
    }
  }

  static Task<Status> read(LongRowRun* self, txn::Engine* engine, txn::Session* session) {
    const auto table = co_await engine->table(kTextRows);
    if (!table.ok()) co_return table.status();
    const auto transaction = engine->begin(*session);
    std::int64_t value = -1;
    for (std::int64_t id = 0; id < kShape.rows; ++id) {
      const txn::RowId row = transaction->get(*table, key_of((*table)->schema, id).bytes());
      Status status = co_await transaction->fetch();
      if (!status.ok()) co_return status;
      const layout::RowView view = transaction->row(row);
      if (value < 0) value = view.integer(TextRows::value);
      if (view.integer(TextRows::value) != value || view.text(TextRows::first) != kShape.text_of(value) ||
          view.text(TextRows::second) != kShape.text_of(value))
        self->mistake_ = "rows of one snapshot are not of one version";
      self->behind_ = std::max(self->behind_, self->written_ - value);
      co_await engine->executor().sleep_for(1 + self->world_.random().below(10 * kMillisecond_ns));
    }
    co_return co_await transaction->commit();
  }
  static Task<Status> read_on(LongRowRun* self, txn::Engine* engine) {
    const auto session = engine->open_session();
    for (int i = 0; i < kReads && self->mistake_.empty(); ++i) {
      const Status status = co_await read(self, engine, session.get());
      if (!status.ok()) co_return status;
    }
    co_return Status();
  }

  fabric::sim::SimWorld world_;
  Cluster cluster_;
  reactor::Gate gate_;
  bool over_ = false;
  std::int64_t written_ = 0;
  std::int64_t behind_ = 0;
  std::string mistake_;
};

}  // namespace

TEST_CASE("readers find the old versions of long rows while others are added and collected") {
  const auto [first, count] = Seeds(8);
  std::int64_t behind = 0;
  std::uint64_t collected = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    CAPTURE(seed);
    LongRowRun run(seed);
    REQUIRE(run.go() == "");
    behind = std::max(behind, run.behind());
    collected += run.collected();
  }
  // Farther than one batch of groups reaches, and not only where nothing goes.
  CHECK(behind > 20);
  CHECK(collected > 100 * count);
}

}  // namespace namdb::sim
