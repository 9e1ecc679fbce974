// Scans that READ records in runs, while others move money between accounts, open accounts, close them and
// move them within an index: a scan that counts shows each account once, and all the money that there is.
#include <catch2/catch.hpp>
#include <memory>
#include <set>

#include "tools/namsim/cluster/cluster.h"
#include "tools/namsim/testing/seeds.h"
#include "tools/namsim/workloads/tables.h"

namespace namdb::sim {
namespace scans_beside_writers_test {

using reactor::Task;

// More than one step of a scan takes.
constexpr std::int64_t kAccounts = 600;
constexpr std::int64_t kOpeningBalance = 100;
constexpr std::int64_t kMoney = kAccounts * kOpeningBalance;
constexpr std::uint64_t kGroups = 7;
constexpr std::size_t kWriters = 4;
constexpr std::uint64_t kScans = 24;
enum Column : std::uint32_t { kId, kGroup, kBalance };

struct Outcome {
  std::uint64_t counted = 0;    // scans that their transaction stands for
  std::uint64_t conflicts = 0;  // others
  std::uint64_t overtaken = 0;  // of those that counted: others committed meanwhile
  std::uint64_t reads = 0;      // of those that counted
  std::uint64_t rows = 0;       // likewise
  std::uint64_t changes = 0;    // commits of the writers
  std::uint64_t opened = 0;     // accounts
  std::uint64_t closed = 0;
  std::string mistake;
};

class ScanRun {
 public:
  ScanRun(std::uint64_t seed, std::string_view protocol, bool by_index, txn::ScanReads reads)
      : world_(seed, network_of(seed)), cluster_(world_, options_of(protocol, reads)), by_index_(by_index) {
    snapshot_ = protocol == "si";
    for (std::size_t compute = 0; compute < 2; ++compute) cluster_.add_compute();
    const Status loaded = world_.run(cluster_.node(0), load(&cluster_.worker(0)));
    INFO(loaded.to_string());
    REQUIRE(loaded.ok());
    world_.run_for(100 * kMillisecond_ns);
  }

  const Outcome& go() {
    for (std::size_t writer = 0; writer < kWriters; ++writer)
      cluster_.node(writer % 2).spawn(gates_[writer % 2], write_on(this, &cluster_.worker(writer % 2)));
    const Status status = world_.run(cluster_.node(0), scan_on(this, &cluster_.worker(0)));
    if (outcome_.mistake.empty() && !status.ok()) outcome_.mistake = status.to_string();
    over_ = true;
    world_.run_until([this] { return gates_[0].count() + gates_[1].count() == 0; });
    return outcome_;
  }

 private:
  static fabric::sim::SimOptions network_of(std::uint64_t seed) {
    Random draw(seed * 7919);
    fabric::sim::SimOptions network = fabric::sim::SimOptions::swarm(draw);
    // Under a protocol of clocks who is far ahead or behind sees nothing but conflicts.
    network.clock_drift_ppm = 0;
    return network;
  }
  static ClusterOptions options_of(std::string_view protocol, txn::ScanReads reads) {
    ClusterOptions options;
    options.worker.scan_reads = reads;
    options.memory_servers = 2;
    options.region_bytes = 64U << 20;
    options.memory.protocol = protocol;
    options.location_cache_bytes = 4U << 20;
    return options;
  }
  static Status make_row(layout::Row& row, std::int64_t id, std::int64_t group, std::int64_t balance) {
    layout::RowWriter writer = row.writer();
    Status status = writer.set_integer(kId, id);
    if (status.ok()) status = writer.set_integer(kGroup, group);
    return status.ok() ? writer.set_integer(kBalance, balance) : status;
  }
  static Task<Status> load(txn::Engine* engine) {
    const layout::Schema schema = bigints({"id", "grp", "balance"});
    Status status = co_await create_table(*engine, "accounts", schema, 4 * kAccounts, 0);
    if (!status.ok()) co_return status;
    std::vector<layout::Row> rows;
    for (std::int64_t id = 0; id < kAccounts; ++id) {
      status =
          make_row(rows.emplace_back(schema), id, id % static_cast<std::int64_t>(kGroups), kOpeningBalance);
      if (!status.ok()) co_return status;
    }
    status = co_await put_rows(*engine, "accounts", &rows);
    if (!status.ok()) co_return status;
    txn::IndexDefinition by_group{.name = "by_group", .table = "accounts", .columns = {{kGroup, false}}};
    co_return co_await engine->create_index(std::move(by_group));
  }

  Random& random() { return world_.random(); }
  // An account that may be there.
  std::int64_t draw_account() { return static_cast<std::int64_t>(random().below(next_account_)); }
  void complain(const Status& status) {
    if (outcome_.mistake.empty()) outcome_.mistake = status.to_string();
  }

  // Pauses so that some commits fall into the time of a scan.
  static Task<void> write_on(ScanRun* self, txn::Engine* engine) {
    const auto session = engine->open_session();
    while (!self->over_) {
      const Status status = co_await self->write(engine, session.get());
      if (status.ok()) ++self->outcome_.changes;
      if (!status.ok() && !status.info().retry) self->complain(status);
      co_await engine->executor().sleep_for(1 + self->random().below(self->pause_ns_));
    }
  }
  Task<Status> write(txn::Engine* engine, txn::Session* session) {
    const auto table = co_await engine->table("accounts");
    if (!table.ok()) co_return table.status();
    const auto transaction = engine->begin(*session);
    const std::int64_t ids[2] = {draw_account(), draw_account()};
    if (ids[0] == ids[1]) co_return Status();
    txn::RowId rows[2];
    for (std::size_t i = 0; i < 2; ++i)
      rows[i] = transaction->get(*table, key_of((*table)->schema, ids[i]).bytes());
    Status status = co_await transaction->fetch();
    if (!status.ok()) co_return status;
    if (!transaction->found(rows[0]) || !transaction->found(rows[1])) co_return Status();
    const std::int64_t balances[2] = {transaction->row(rows[0]).integer(kBalance),
                                      transaction->row(rows[1]).integer(kBalance)};
    const auto amount = static_cast<std::int64_t>(random().between(1, 50));
    const std::uint64_t kind = random().below(4);
    if (kind == 0) {  // the first account is closed
      transaction->erase(rows[0]);
      status = transaction->update(rows[1]).set_integer(kBalance, balances[0] + balances[1]);
    } else {
      status = transaction->update(rows[0]).set_integer(kBalance, balances[0] - amount);
      if (!status.ok()) co_return status;
      if (kind == 1) {  // a new account gets the money
        layout::Row row((*table)->schema);
        status = make_row(row, static_cast<std::int64_t>(next_account_++),
                          static_cast<std::int64_t>(random().below(kGroups)), amount);
        if (status.ok()) transaction->insert(*table, row.bytes());
        if (status.ok()) status = co_await transaction->fetch();
      } else {
        layout::RowWriter second = transaction->update(rows[1]);
        status = second.set_integer(kBalance, balances[1] + amount);
        if (status.ok() && kind == 2)
          status = second.set_integer(kGroup, static_cast<std::int64_t>(random().below(kGroups)));
      }
    }
    if (status.ok()) status = co_await transaction->commit();
    if (status.ok()) {
      outcome_.closed += kind == 0 ? 1 : 0;
      outcome_.opened += kind == 1 ? 1 : 0;
    }
    co_return status;
  }

  static Task<Status> scan_on(ScanRun* self, txn::Engine* engine) {
    const auto session = engine->open_session();
    for (std::uint64_t i = 0; i < kScans && self->outcome_.mistake.empty(); ++i) {
      const std::uint64_t began_ns = engine->executor().now_ns();
      const std::uint64_t changes = self->outcome_.changes;
      Status status = co_await self->scan(engine, session.get());
      if (!status.ok() && !status.info().retry) co_return status;
      if (status.ok() && self->outcome_.changes != changes) ++self->outcome_.overtaken;
      if (!status.ok()) ++self->outcome_.conflicts;
      // Under validation each change makes a scan fail: about one in a scan's time, then.
      const std::uint64_t took_ns = engine->executor().now_ns() - began_ns;
      self->pause_ns_ = (self->snapshot_ ? 1 : 4 * kWriters) * took_ns + 1;
    }
    co_return Status();
  }
  Task<Status> scan(txn::Engine* engine, txn::Session* session) {
    const auto table = co_await engine->table("accounts");
    if (!table.ok()) co_return table.status();
    const auto transaction = engine->begin(*session);
    const auto scan = by_index_ ? transaction->scan_index(*table, (*table)->indexes.front(), {})
                                : transaction->scan(*table);
    std::set<std::int64_t> ids;
    std::int64_t money = 0;
    std::vector<layout::Row> rows;
    std::uint64_t seen = 0;
    do {
      Status status = co_await scan->next(rows);
      if (!status.ok()) co_return status;
      for (const layout::Row& row : rows) {
        ids.insert(row.view().integer(kId));
        money += row.view().integer(kBalance);
      }
      seen += rows.size();
    } while (!rows.empty());
    const std::uint64_t reads = transaction->counters().reads;
    Status status = co_await transaction->commit();
    if (!status.ok()) co_return status;
    ++outcome_.counted;
    outcome_.reads += reads;
    outcome_.rows += seen;
    if (seen != ids.size()) outcome_.mistake = "a scan shows an account twice";
    if (money != kMoney) outcome_.mistake = "a scan shows " + std::to_string(money - kMoney) + " too much";
    co_return Status();
  }

  fabric::sim::SimWorld world_;
  Cluster cluster_;
  bool by_index_;
  bool snapshot_ = false;
  bool over_ = false;
  std::uint64_t next_account_ = kAccounts;
  std::uint64_t pause_ns_ = kMillisecond_ns;
  std::array<reactor::Gate, 2> gates_;
  Outcome outcome_;
};

TEST_CASE("a scan that READs in runs beside writers shows all the money that there is", "[protocols]") {
  const std::string name =
      GENERATE("si", "si by calls", "occ", "nowait", "waitdie", "mvcc", "sundial", "drtm", "calvin");
  const std::string protocol = name.substr(0, name.find(' '));
  const txn::ScanReads reads = name == protocol ? txn::ScanReads::buckets : txn::ScanReads::calls;
  const bool by_index = GENERATE(false, true);
  Outcome sum;
  const auto [first, count] = Seeds(6);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    CAPTURE(name, by_index, seed);
    ScanRun run(seed, protocol, by_index, reads);
    const Outcome& outcome = run.go();
    REQUIRE(outcome.mistake == "");
    sum.counted += outcome.counted;
    sum.conflicts += outcome.conflicts;
    sum.overtaken += outcome.overtaken;
    sum.reads += outcome.reads;
    sum.rows += outcome.rows;
    sum.changes += outcome.changes;
    sum.opened += outcome.opened;
    sum.closed += outcome.closed;
  }
  CAPTURE(name, by_index, sum.counted, sum.conflicts, sum.overtaken, sum.reads, sum.rows, sum.changes,
          sum.opened, sum.closed);
  CHECK(sum.counted >= count * kScans / 5);
  CHECK(sum.overtaken >= count);
  CHECK(sum.opened >= count);
  CHECK(2 * sum.closed >= count);
  // In runs: not a READ for each row.
  CHECK(sum.reads < sum.rows / 2);
}

}  // namespace scans_beside_writers_test
}  // namespace namdb::sim
