// A table gets another definition while others change its rows: nothing that they commit is lost, and no
// transaction sees the new table without its rows.
#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "compute/api/table_change.h"
#include "compute/api/transaction.h"
#include "tools/namsim/cluster/cluster.h"
#include "tools/namsim/testing/eager_cluster.h"
#include "tools/namsim/workloads/tables.h"

namespace namdb::sim {
namespace table_replacement_test {

constexpr const char* kTable = "counters";
constexpr const char* kOther = "other";
constexpr std::int64_t kRows = 60;

// Each row gets a third column, which is its second one's double.
class Doubling final : public txn::RowChange {
 public:
  explicit Doubling(layout::Schema schema) : schema_(std::move(schema)) {}
  reactor::Task<Status> change(const std::vector<layout::Row>* rows,
                               std::vector<std::vector<std::byte>>* changed) override {
    for (const layout::Row& old : *rows) {
      layout::Row made(schema_);
      const std::int64_t value = old.view().integer(1);
      const bool fits = made.writer().set_integer(0, old.view().integer(0)).ok() &&
                        made.writer().set_integer(1, value).ok() &&
                        made.writer().set_integer(2, 2 * value).ok();
      if (!fits) co_return Status(ErrorCode::internal, "a value does not fit");
      changed->emplace_back(made.view().bytes().begin(), made.view().bytes().end());
    }
    co_return Status();
  }

 private:
  layout::Schema schema_;
};

struct Counts {
  std::int64_t committed = 0;
  std::int64_t refused = 0;  // while the table was altered
  bool stop = false;
  std::string mistake;
};

reactor::Task<void> note_end(reactor::Task<Status> client, Counts* counts) {
  const Status status = co_await std::move(client);
  if (!status.ok()) counts->mistake += status.to_string() + "; ";
}

// Adds one to a row, again and again; and adds two to its third column, where it has one.
reactor::Task<Status> count_up(compute::Worker* worker, std::uint64_t seed, Counts* counts) {
  Random random(seed);
  const auto session = worker->open_session();
  while (!counts->stop) {
    const auto table = co_await worker->table(kTable);
    if (!table.ok()) co_return table.status();
    const layout::Schema& schema = (*table)->schema;
    const auto transaction = worker->begin(*session);
    const txn::RowId row =
        transaction->get(*table, key_of(schema, static_cast<std::int64_t>(random.below(kRows))).bytes());
    Status status = co_await transaction->fetch();
    if (status.ok() && !transaction->found(row)) co_return Status(ErrorCode::internal, "a row is not there");
    // Some are under way for a while.
    if (random.chance(0.3)) co_await worker->executor().sleep_for(4 * kMillisecond_ns);
    if (status.ok()) {
      const std::int64_t value = transaction->row(row).integer(1);
      status = transaction->update(row).set_integer(1, value + 1);
      if (status.ok() && schema.columns().size() > 2)
        status = transaction->update(row).set_integer(2, 2 * (value + 1));
    }
    if (status.ok()) status = co_await transaction->commit();
    if (status.ok()) ++counts->committed;
    if (!status.ok() && status.code() == ErrorCode::table_is_altered) ++counts->refused;
    if (!status.ok() && !status.info().retry) co_return status;
    co_await worker->executor().sleep_for(kMillisecond_ns / 2);
  }
  co_return Status();
}

// Reads all rows, again and again: there is never one too few. The snapshot is some time older than the look
// for the table.
reactor::Task<Status> count_rows(compute::Worker* worker, Counts* counts) {
  const auto session = worker->open_session();
  while (!counts->stop) {
    const auto other = co_await worker->table(kOther);
    if (!other.ok()) co_return other.status();
    const auto transaction = worker->begin(*session);
    transaction->read(*other, key_of((*other)->schema, 1).bytes());
    Status status = co_await transaction->fetch();
    co_await worker->executor().sleep_for(3 * kMillisecond_ns);
    const auto table = co_await worker->table(kTable);
    if (!table.ok()) co_return table.status();
    std::vector<layout::Row> rows;
    if (status.ok()) status = co_await scan_rows(*worker, *transaction, *table, 0, &rows);
    if (status.ok()) status = co_await transaction->commit();
    if (status.ok() && rows.size() != kRows)
      co_return Status(ErrorCode::internal, std::to_string(rows.size()) + " rows");
    if (!status.ok() && !status.info().retry) co_return status;
  }
  co_return Status();
}

struct Subject {
  Subject(std::string_view protocol, std::uint64_t seed)
      : world(seed), cluster(world, eager_cluster(protocol, 2)) {
    for (int compute = 0; compute < 3; ++compute) cluster.add_compute();
    REQUIRE(run(create_table(cluster.worker(0), kTable, bigints({"id", "value"}), 50, 0)).ok());
    REQUIRE(run(create_table(cluster.worker(0), kOther, bigints({"id"}), 50, 0)).ok());
    std::vector<layout::Row> rows;
    const storage::TableRef table = this->table();
    for (std::int64_t id = 0; id < kRows; ++id) {
      layout::Row& row = rows.emplace_back(table->schema);
      REQUIRE(row.writer().set_integer(0, id).ok());
      REQUIRE(row.writer().set_integer(1, 0).ok());
    }
    REQUIRE(run(put_rows(cluster.worker(0), kTable, &rows)).ok());
    REQUIRE(run(cluster.worker(0).create_index({"by_value", kTable, {{1, false}}})).ok());
    REQUIRE(run(cluster.worker(0).create_index({"hashed", kTable, {{1, false}}, false, true})).ok());
  }
  template <typename T>
  T run(reactor::Task<T> task, std::size_t compute = 0) {
    return world.run(cluster.node(compute), std::move(task));
  }
  storage::TableRef table() {
    auto found = run(cluster.worker(0).table(kTable));
    REQUIRE(found.ok());
    return *found;
  }
  // Building its indexes waits for transactions, too.
  txn::TableReplacement replacement(Doubling* doubling, bool with_indexes = true) {
    txn::TableReplacement made;
    made.table = table();
    made.definition.name = kTable;
    made.definition.schema = bigints({"id", "value", "doubled"});
    made.rows = doubling;
    if (!with_indexes) return made;
    made.indexes.push_back({"by_value", {}, {{1, false}}});
    made.indexes.push_back({"hashed", {}, {{1, false}}, false, true});
    return made;
  }
  // The sum of the second column; each third one is its double.
  std::int64_t sum() {
    const storage::TableRef now = table();
    const auto session = cluster.worker(0).open_session();
    const auto transaction = cluster.worker(0).begin(*session);
    std::vector<layout::Row> rows;
    REQUIRE(run(scan_rows(cluster.worker(0), *transaction, now, 0, &rows)).ok());
    CHECK(rows.size() == kRows);
    std::int64_t sum = 0;
    for (const layout::Row& row : rows) {
      sum += row.view().integer(1);
      if (now->schema.columns().size() > 2) CHECK(row.view().integer(2) == 2 * row.view().integer(1));
    }
    return sum;
  }

  fabric::sim::SimWorld world;
  Cluster cluster;
};

TEST_CASE("a replacement waits for a transaction that began before, and copies what it commits",
          "[protocols]") {
  const std::string protocol = GENERATE("si", "occ", "nowait");
  CAPTURE(protocol);
  Subject subject(protocol, 1);
  compute::Worker& worker = subject.cluster.worker(1);
  const auto found = subject.run(worker.table(kTable), 1);
  REQUIRE(found.ok());
  const auto session = worker.open_session();
  const auto transaction = worker.begin(*session);
  const txn::RowId row = transaction->get(*found, key_of((*found)->schema, 0).bytes());
  REQUIRE(subject.run(transaction->fetch(), 1).ok());
  Doubling doubling(bigints({"id", "value", "doubled"}));
  Counts counts;
  reactor::Gate copier;
  subject.cluster.node(0).spawn(
      copier,
      note_end(subject.cluster.worker(0).replace_table(subject.replacement(&doubling, false)), &counts));
  subject.world.run_for(100 * kMillisecond_ns);
  CHECK(copier.count() == 1);
  REQUIRE(transaction->update(row).set_integer(1, 5).ok());
  const Status committed = subject.run(transaction->commit(), 1);
  // By then its worker may know that the table is frozen.
  CHECK((committed.ok() || committed.code() == ErrorCode::table_is_altered));
  subject.world.run_until([&] { return copier.count() == 0; });
  CHECK(counts.mistake == "");
  CHECK(subject.sum() == (committed.ok() ? 5 : 0));
  CHECK(subject.table()->schema.columns().size() == 3);
}

TEST_CASE("a table whose copier dies is as it was, and its rows can be changed again", "[protocols]") {
  const std::string protocol = GENERATE("si", "nowait");
  CAPTURE(protocol);
  for (const std::uint64_t lifetime_ns : {3, 30}) {
    Subject subject(protocol, 3);
    const std::size_t copier = subject.cluster.add_compute();
    Doubling doubling(bigints({"id", "value", "doubled"}));
    auto gate = std::make_unique<reactor::Gate>();
    Counts ignored;
    subject.cluster.node(copier).spawn(
        *gate,
        note_end(subject.cluster.worker(copier).replace_table(subject.replacement(&doubling)), &ignored));
    subject.world.run_for(lifetime_ns * kMillisecond_ns / 10);
    subject.cluster.kill_compute(copier);
    fabric::sim::SimWorld::bury(std::move(gate));
    Counts counts;
    reactor::Gate clients;
    subject.cluster.node(0).spawn(clients,
                                  note_end(count_up(&subject.cluster.worker(0), 1, &counts), &counts));
    subject.world.run_for(5 * kSecond_ns);
    counts.stop = true;
    subject.world.run_until([&] { return clients.count() == 0; });
    CHECK(counts.mistake == "");
    CHECK(counts.committed > 0);
    CHECK(subject.sum() == counts.committed);
    const auto tables = subject.run(subject.cluster.worker(0).tables());
    REQUIRE(tables.ok());
    CHECK(tables->size() == 2);
    REQUIRE(subject.run(subject.cluster.worker(0).replace_table(subject.replacement(&doubling))).ok());
    CHECK(subject.sum() == counts.committed);
  }
}

TEST_CASE("a table is replaced while others change and read its rows, and nothing is lost", "[protocols]") {
  const std::string protocol =
      GENERATE("si", "occ", "nowait", "waitdie", "mvcc", "sundial", "drtm", "calvin");
  std::int64_t refused = 0;
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    CAPTURE(protocol, seed);
    Subject subject(protocol, seed);
    Counts counts;
    reactor::Gate clients;
    for (const std::size_t compute : {0, 1, 2}) {
      compute::Worker& worker = subject.cluster.worker(compute);
      subject.cluster.node(compute).spawn(clients,
                                          note_end(count_up(&worker, seed + compute, &counts), &counts));
      // One worker hears of the catalog by its writer's snapshots alone.
      if (compute == 2) continue;
      subject.cluster.node(compute).spawn(clients, note_end(count_rows(&worker, &counts), &counts));
    }
    subject.world.run_for(20 * kMillisecond_ns);
    Doubling doubling(bigints({"id", "value", "doubled"}));
    const Status replaced = subject.run(
        subject.cluster.worker(seed % 2).replace_table(subject.replacement(&doubling, seed % 2 == 0)),
        seed % 2);
    INFO(replaced.to_string());
    REQUIRE(replaced.ok());
    const std::int64_t before = counts.committed;
    subject.world.run_for(100 * kMillisecond_ns);
    counts.stop = true;
    subject.world.run_until([&] { return clients.count() == 0; });
    CHECK(counts.mistake == "");
    CHECK(counts.committed > before);
    CHECK(subject.sum() == counts.committed);
    CHECK(subject.table()->schema.columns().size() == 3);
    CHECK(subject.table()->indexes.size() == (seed % 2 == 0 ? 2 : 0));
    refused += counts.refused;
  }
  CHECK(refused > 0);
}

}  // namespace table_replacement_test
}  // namespace namdb::sim
