// Single transactions under a protocol on each other's rows, step by step.
#include <catch2/catch.hpp>
#include <memory>

#include "common/layout/placement.h"
#include "compute/api/transaction_facts.h"
#include "tools/namsim/cluster/cluster.h"
#include "tools/namsim/workloads/tables.h"

namespace namdb::sim {
namespace {

using reactor::Task;

constexpr std::int64_t kRows = 4;

// Table "rows" with the rows 0 to 3, value 0, and compute servers that use it.
class SmallTable {
 public:
  explicit SmallTable(std::string_view protocol, std::uint64_t max_transaction_ns = 10 * kSecond_ns,
                      std::string_view stages = "one-sided", std::uint32_t memory_servers = 1)
      : world_(1), cluster_(world_, options(protocol, max_transaction_ns, stages, memory_servers)) {
    add_compute();
    const layout::Schema schema = bigints({"id", "value"});
    std::vector<layout::Row> rows;
    for (std::int64_t id = 0; id < kRows; ++id) {
      layout::Row& row = rows.emplace_back(schema);
      REQUIRE(row.writer().set_integer(0, id).ok());
      REQUIRE(row.writer().set_integer(1, 0).ok());
    }
    REQUIRE(run(create_table(engine(), "rows", schema, 1024, 4)).ok());
    REQUIRE(run(put_rows(engine(), "rows", &rows)).ok());
  }
  ~SmallTable() {
    for (const auto& gate : gates_) REQUIRE(gate->count() == 0);
  }

  // Whose transactions begin from now on.
  void add_compute() { use_compute(cluster_.add_compute()); }
  void use_compute(std::size_t compute) {
    compute_ = compute;
    sessions_.push_back(engine().open_session());
    session_ = sessions_.back().get();
  }
  // And what runs there. Another is to be used then.
  void kill_compute(std::unique_ptr<txn::Transaction> running) {
    cluster_.kill_compute(compute_);
    fabric::sim::SimWorld::bury(std::move(running));
    for (auto& gate : gates_) fabric::sim::SimWorld::bury(std::move(gate));
    gates_.clear();
  }
  std::unique_ptr<txn::Transaction> begin() { return engine().begin(*session_); }
  std::unique_ptr<txn::Transaction> begin_in_new_session() {
    sessions_.push_back(engine().open_session());
    return engine().begin(*sessions_.back());
  }

  // The value of a row.
  std::int64_t read(txn::Transaction& transaction, std::int64_t id) {
    txn::RowId row = 0;
    REQUIRE(run(find(&engine(), &transaction, id, &row)).ok());
    return transaction.row(row).integer(1);
  }
  Status try_read(txn::Transaction& transaction, std::int64_t id) {
    txn::RowId row = 0;
    return run(find(&engine(), &transaction, id, &row));
  }
  // As SELECT reads it: it is not to be written.
  std::int64_t look(txn::Transaction& transaction, std::int64_t id) {
    txn::RowId row = 0;
    REQUIRE(run(look_at(&engine(), &transaction, id, &row)).ok());
    return transaction.row(row).integer(1);
  }
  Status try_look(txn::Transaction& transaction, std::int64_t id) {
    txn::RowId row = 0;
    return run(look_at(&engine(), &transaction, id, &row));
  }
  Status try_count(txn::Transaction& transaction, const storage::TableRef& table) {
    std::size_t rows = 0;
    return run(count_rows(&transaction, table, false, &rows));
  }
  void write(txn::Transaction& transaction, std::int64_t id, std::int64_t value) {
    txn::RowId row = 0;
    REQUIRE(run(find(&engine(), &transaction, id, &row)).ok());
    REQUIRE(transaction.update(row).set_integer(1, value).ok());
  }
  Status commit(txn::Transaction& transaction) { return run(end(&transaction)); }
  // In a transaction of its own.
  void change(std::int64_t id, std::int64_t value) {
    const auto transaction = begin_in_new_session();
    write(*transaction, id, value);
    REQUIRE(commit(*transaction).ok());
  }

  void insert(txn::Transaction& transaction, std::int64_t id) {
    REQUIRE(run(insert_row(&engine(), &transaction, id)).ok());
  }
  // Of the column "value".
  void create_index(bool hash) {
    txn::IndexDefinition definition{
        .name = "by_value", .table = "rows", .columns = {{1, false}}, .hash = hash};
    REQUIRE(run(engine().create_index(std::move(definition))).ok());
  }
  void drop_index() { REQUIRE(run(engine().drop_index("by_value")).ok()); }
  // How many rows a whole scan shows, of the table or of the index that it had when this was created; of a
  // hash index those with value 0.
  std::size_t count(txn::Transaction& transaction, const storage::TableRef& table, bool by_index) {
    std::size_t rows = 0;
    REQUIRE(run(count_rows(&transaction, table, by_index, &rows)).ok());
    return rows;
  }
  storage::TableRef table() {
    auto table = run(engine().table("rows"));
    REQUIRE(table.ok());
    return *table;
  }

  layout::ServerId server_of(std::int64_t id) {
    const storage::TableRef rows = table();
    return rows->server_of(layout::row_hash(rows->id, rows->schema, key_of(rows->schema, id).bytes(),
                                            cluster_.options().memory_servers));
  }
  std::vector<std::uint64_t> region(std::size_t server) {
    const ZeroedWords& words = cluster_.memory(server).words;
    return {words.begin(), words.end()};
  }
  // Old versions whose memory was given back.
  std::uint64_t collected() { return cluster_.memory(0).server->old_versions().collected(); }
  void restart_memory(std::size_t server) { cluster_.restart_memory(server); }

  // Reads a row in the background: `*status` once that is done.
  void start_to_read(txn::Transaction& transaction, std::int64_t id, std::optional<Status>* status) {
    gates_.push_back(std::make_unique<reactor::Gate>());
    cluster_.node(compute_).spawn(*gates_.back(), read_later(&engine(), &transaction, id, status));
  }
  void run_for(std::uint64_t duration_ns) { world_.run_for(duration_ns); }
  const Clock& clock() { return cluster_.worker(compute_).executor(); }

 private:
  static ClusterOptions options(std::string_view protocol, std::uint64_t max_transaction_ns,
                                std::string_view stages, std::uint32_t memory_servers) {
    ClusterOptions options;
    options.memory_servers = memory_servers;
    options.region_bytes = 64U << 20;
    options.memory.protocol = protocol;
    options.memory.stages = *layout::StageCode::parse(stages);
    options.memory.max_transaction_ns = max_transaction_ns;
    return options;
  }
  txn::Engine& engine() { return cluster_.worker(compute_); }
  template <typename T>
  T run(Task<T> task) {
    return world_.run(cluster_.node(compute_), std::move(task));
  }
  static Task<Status> find(txn::Engine* engine, txn::Transaction* transaction, std::int64_t id,
                           txn::RowId* row) {
    const auto table = co_await engine->table("rows");
    if (!table.ok()) co_return table.status();
    *row = transaction->get(*table, key_of((*table)->schema, id).bytes());
    co_return co_await transaction->fetch();
  }
  static Task<Status> look_at(txn::Engine* engine, txn::Transaction* transaction, std::int64_t id,
                              txn::RowId* row) {
    const auto table = co_await engine->table("rows");
    if (!table.ok()) co_return table.status();
    *row = transaction->read(*table, key_of((*table)->schema, id).bytes());
    co_return co_await transaction->fetch();
  }
  static Task<Status> insert_row(txn::Engine* engine, txn::Transaction* transaction, std::int64_t id) {
    const auto table = co_await engine->table("rows");
    if (!table.ok()) co_return table.status();
    layout::Row row((*table)->schema);
    Status status = row.writer().set_integer(0, id);
    if (status.ok()) status = row.writer().set_integer(1, 0);
    if (!status.ok()) co_return status;
    transaction->insert(*table, row.bytes());
    co_return co_await transaction->fetch();
  }
  static Task<Status> count_rows(txn::Transaction* transaction, storage::TableRef table, bool by_index,
                                 std::size_t* count) {
    std::unique_ptr<txn::TableScan> scan;
    if (by_index) {
      const storage::IndexRef index = table->indexes.front();
      layout::IndexPrefix zero(index->shape);
      txn::IndexRange range;
      if (index->hash) range = layout::index_range(zero.integer(0));
      scan = transaction->scan_index(table, index, std::move(range));
    } else {
      scan = transaction->scan(table);
    }
    std::vector<layout::Row> rows;
    do {
      Status status = co_await scan->next(rows);
      if (!status.ok()) co_return status;
      *count += rows.size();
    } while (!rows.empty());
    co_return Status();
  }
  static Task<void> read_later(txn::Engine* engine, txn::Transaction* transaction, std::int64_t id,
                               std::optional<Status>* status) {
    txn::RowId row = 0;
    *status = co_await find(engine, transaction, id, &row);
  }
  static Task<Status> end(txn::Transaction* transaction) { co_return co_await transaction->commit(); }

  fabric::sim::SimWorld world_;
  Cluster cluster_;
  std::size_t compute_ = 0;
  std::vector<std::unique_ptr<txn::Session>> sessions_;
  txn::Session* session_ = nullptr;
  std::vector<std::unique_ptr<reactor::Gate>> gates_;
};

// A client that waits for ten milliseconds.
class Impatient final : public txn::Interrupt {
 public:
  explicit Impatient(const Clock& clock) : clock_(clock) {}
  Status check() const override { return {}; }
  Status check_wait(layout::GlobalAddress /*held*/, std::uint64_t since_ns) const override {
    if (clock_.now_ns() - since_ns < 10 * kMillisecond_ns) return {};
    return Status(ErrorCode::query_canceled, "waited for too long");
  }

 private:
  const Clock& clock_;
};

bool ended_in(const Status& status, ErrorCode code) {
  return !status.ok() && status.code() == code;
}

}  // namespace

TEST_CASE("an idle transaction holds its locks no longer than E", "[protocols]") {
  const std::string protocol = GENERATE("nowait", "waitdie");
  CAPTURE(protocol);
  SmallTable rows(protocol, 2 * kSecond_ns);
  const auto idle = rows.begin_in_new_session();
  rows.read(*idle, 0);
  {
    const auto early = rows.begin();
    CHECK(ended_in(rows.try_read(*early, 0), ErrorCode::serialization_failure));
  }
  rows.run_for(3 * kSecond_ns);
  const auto late = rows.begin();
  CHECK(rows.try_read(*late, 0).ok());
  CHECK(rows.commit(*late).ok());
  CHECK(ended_in(rows.commit(*idle), ErrorCode::transaction_timeout));
}

TEST_CASE("an idle transaction keeps old versions no longer than E, and is told so", "[protocols]") {
  const std::string protocol = GENERATE("si", "occ", "mvcc", "sundial");
  CAPTURE(protocol);
  SmallTable rows(protocol, 2 * kSecond_ns);
  const auto reader = rows.begin_in_new_session();
  rows.look(*reader, 0);
  const auto writer = rows.begin_in_new_session();
  rows.write(*writer, 1, 7);
  for (std::int64_t value = 1; value <= 20; ++value) rows.change(2, value);
  rows.run_for(kSecond_ns);
  CHECK(rows.collected() == 0);
  CHECK(rows.try_look(*reader, 3).ok());
  rows.run_for(5 * kSecond_ns);
  if (protocol == "si") CHECK(rows.collected() > 0);
  const txn::TransactionFacts* facts = txn::transaction_facts(reader.get());
  REQUIRE(facts != nullptr);
  CHECK(ended_in(facts->expired(), ErrorCode::transaction_timeout));
  CHECK(ended_in(rows.try_look(*reader, 3), ErrorCode::transaction_timeout));
  CHECK(ended_in(rows.try_count(*reader, rows.table()), ErrorCode::transaction_timeout));
  CHECK(ended_in(rows.commit(*reader), ErrorCode::transaction_timeout));
  CHECK(ended_in(rows.commit(*writer), ErrorCode::transaction_timeout));
}

TEST_CASE("under NOWAIT and WAITDIE readers keep nobody out, and commit only what was true at once",
          "[protocols]") {
  SmallTable rows(GENERATE("nowait", "waitdie"));
  const auto idle = rows.begin_in_new_session();
  CHECK(rows.look(*idle, 0) == 0);
  CHECK(rows.look(*idle, 1) == 0);
  const auto overtaken = rows.begin_in_new_session();
  CHECK(rows.look(*overtaken, 0) == 0);
  CHECK(rows.look(*overtaken, 1) == 0);
  const auto reader = rows.begin_in_new_session();
  CHECK(rows.look(*reader, 0) == 0);
  CHECK(rows.read(*reader, 1) == 0);
  CHECK(rows.commit(*reader).ok());
  CHECK(rows.commit(*idle).ok());
  rows.run_for(kMillisecond_ns);
  rows.change(1, 5);
  CHECK(ended_in(rows.commit(*overtaken), ErrorCode::serialization_failure));
}

TEST_CASE("under NOWAIT and WAITDIE a row that was read is written from the version that was shown",
          "[protocols]") {
  SmallTable rows(GENERATE("nowait", "waitdie"));
  const auto first = rows.begin_in_new_session();
  const auto second = rows.begin_in_new_session();
  CHECK(rows.look(*first, 0) == 0);
  CHECK(rows.look(*second, 0) == 0);
  rows.write(*first, 0, 1);
  // It is locked from then on, not from the commit on.
  const auto third = rows.begin_in_new_session();
  CHECK(ended_in(rows.try_read(*third, 0), ErrorCode::serialization_failure));
  CHECK(rows.commit(*first).ok());
  CHECK(ended_in(rows.try_read(*second, 0), ErrorCode::serialization_failure));
}

TEST_CASE("nobody waits for a lock longer than its client does", "[protocols]") {
  SmallTable rows("waitdie");
  const auto holder = rows.begin_in_new_session();
  rows.write(*holder, 1, 5);
  const Impatient impatient(rows.clock());
  const auto by_key = rows.begin_in_new_session();
  by_key->set_interrupt(&impatient);
  CHECK(ended_in(rows.try_look(*by_key, 1), ErrorCode::query_canceled));
  const auto by_scan = rows.begin_in_new_session();
  by_scan->set_interrupt(&impatient);
  CHECK(ended_in(rows.try_count(*by_scan, rows.table()), ErrorCode::query_canceled));
  CHECK(rows.commit(*holder).ok());
}

// The older one looks for the lock now and then, and not between these two.
TEST_CASE("under WAITDIE nobody younger takes a lock that somebody waits for", "[protocols]") {
  SmallTable rows("waitdie");
  const auto oldest = rows.begin_in_new_session();
  rows.read(*oldest, 0);
  const auto holder = rows.begin_in_new_session();
  rows.write(*holder, 1, 5);
  std::optional<Status> waited;
  rows.start_to_read(*oldest, 1, &waited);
  rows.run_for(50 * kMillisecond_ns);
  REQUIRE_FALSE(waited.has_value());
  const auto young = rows.begin_in_new_session();
  REQUIRE(rows.commit(*holder).ok());
  CHECK(ended_in(rows.try_read(*young, 1), ErrorCode::serialization_failure));
  young->abort();
  rows.run_for(50 * kMillisecond_ns);
  REQUIRE(waited.has_value());
  CHECK(waited->ok());
  CHECK(rows.read(*oldest, 1) == 5);
  CHECK(rows.commit(*oldest).ok());
  // Nobody waits any more.
  rows.run_for(kMillisecond_ns);
  rows.change(1, 6);
}

TEST_CASE("under WAITDIE who waits and dies keeps nobody out", "[protocols]") {
  SmallTable rows("waitdie");
  rows.add_compute();
  auto oldest = rows.begin();
  rows.read(*oldest, 0);
  rows.run_for(kMillisecond_ns);
  rows.use_compute(0);
  const auto holder = rows.begin();
  rows.write(*holder, 1, 5);
  rows.use_compute(1);
  std::optional<Status> waited;
  rows.start_to_read(*oldest, 1, &waited);
  rows.run_for(50 * kMillisecond_ns);
  CAPTURE(waited ? waited->to_string() : "");
  REQUIRE_FALSE(waited.has_value());
  rows.kill_compute(std::move(oldest));
  rows.use_compute(0);
  rows.run_for(kSecond_ns);
  REQUIRE(rows.commit(*holder).ok());
  rows.change(1, 6);
}

// The waiting list of the memory server: one call for each moment that it waits, not one for each look.
TEST_CASE("under WAITDIE who waits by call is answered once the lock is his", "[protocols]") {
  SmallTable rows("waitdie", 10 * kSecond_ns, GENERATE("lock", "two-sided"));
  const auto oldest = rows.begin_in_new_session();
  rows.read(*oldest, 0);
  const auto holder = rows.begin_in_new_session();
  rows.write(*holder, 1, 5);
  std::optional<Status> waited;
  rows.start_to_read(*oldest, 1, &waited);
  rows.run_for(50 * kMillisecond_ns);
  REQUIRE_FALSE(waited.has_value());
  const std::uint64_t looks = oldest->counters().rereads;
  CHECK(looks <= 55);  // a millisecond each
  CHECK(oldest->counters().calls >= looks);
  REQUIRE(rows.commit(*holder).ok());
  rows.run_for(kMillisecond_ns);
  REQUIRE(waited.has_value());
  CHECK(waited->ok());
  CHECK(rows.read(*oldest, 1) == 5);
  CHECK(rows.commit(*oldest).ok());
}

TEST_CASE("under MVCC who reads sees rows as of its beginning while others overwrite them, and commits",
          "[protocols]") {
  SmallTable rows("mvcc");
  const auto reader = rows.begin();
  CHECK(rows.read(*reader, 0) == 0);
  rows.change(0, 7);
  rows.change(1, 8);
  rows.change(1, 9);
  CHECK(rows.read(*reader, 1) == 0);
  CHECK(rows.commit(*reader).ok());
  const auto late = rows.begin();
  CHECK(rows.read(*late, 0) == 7);
  CHECK(rows.read(*late, 1) == 9);
  CHECK(rows.commit(*late).ok());
}

TEST_CASE("under MVCC who needs a version that was overwritten is told to try again", "[protocols]") {
  SmallTable rows("mvcc");
  const auto reader = rows.begin();
  CHECK(rows.read(*reader, 0) == 0);
  for (std::int64_t value = 1; value <= 20; ++value) rows.change(1, value);
  CHECK(ended_in(rows.try_read(*reader, 1), ErrorCode::serialization_failure));
}

TEST_CASE("under SUNDIAL a row that was overwritten since it was read is no conflict while its lease lasts",
          "[protocols]") {
  const std::string protocol = GENERATE("sundial", "occ");
  SmallTable rows(protocol);
  rows.change(1, 3);  // newer than the lease of row 0, which this reader raises
  const auto first = rows.begin();
  rows.read(*first, 0);
  rows.read(*first, 1);
  REQUIRE(rows.commit(*first).ok());
  const auto reader = rows.begin();
  CHECK(rows.read(*reader, 0) == 0);
  CHECK(rows.read(*reader, 1) == 3);
  rows.change(0, 5);
  CHECK(rows.commit(*reader).ok() == (protocol == "sundial"));
}

// The index stays for a while for transactions that began before it was dropped. Later ones add no entries.
TEST_CASE("nobody who commits has missed rows by an index that was dropped meanwhile", "[protocols]") {
  const std::string protocol = GENERATE("occ", "nowait", "waitdie", "mvcc", "sundial");
  CAPTURE(protocol);
  SmallTable rows(protocol);
  rows.create_index(GENERATE(false, true));
  rows.add_compute();
  {
    const auto warms = rows.begin();
    CHECK(rows.count(*warms, rows.table(), true) == kRows);
    REQUIRE(rows.commit(*warms).ok());
  }
  const storage::TableRef table = rows.table();
  const auto reader = rows.begin();
  rows.read(*reader, 0);
  rows.use_compute(0);
  rows.drop_index();
  {
    const auto writer = rows.begin();
    rows.insert(*writer, kRows);
    REQUIRE(rows.commit(*writer).ok());
  }
  rows.use_compute(1);
  const std::size_t by_table = rows.count(*reader, table, false);
  const std::size_t by_index = rows.count(*reader, table, true);
  CAPTURE(by_table, by_index);
  CHECK((!rows.commit(*reader).ok() || by_table == by_index));
}

// Its locks, and what was READ along with them, have no answer then.
TEST_CASE("a commit that loses a memory server while it locks changes no other memory server",
          "[protocols]") {
  const std::string protocol = GENERATE("sundial", "mvcc", "occ");
  CAPTURE(protocol);
  SmallTable rows(protocol, 10 * kSecond_ns, "one-sided", 2);
  std::optional<std::int64_t> here;
  std::optional<std::int64_t> there;
  for (std::int64_t id = 0; id < kRows; ++id) {
    for (std::int64_t value = 1; value < 8; ++value) rows.change(id, value);
    (rows.server_of(id) == 0 ? here : there) = id;
  }
  REQUIRE((here && there));
  const auto transaction = rows.begin_in_new_session();
  rows.read(*transaction, *here);
  rows.write(*transaction, *there, 9);
  const std::vector<std::uint64_t> before = rows.region(0);
  rows.restart_memory(1);
  CHECK(ended_in(rows.commit(*transaction), ErrorCode::connection_failure));
  const bool unchanged = rows.region(0) == before;
  CHECK(unchanged);
}

// The answered commit is in the journal, and its install may never have left the compute server.
TEST_CASE("a commit that was answered outlives its compute server, whatever of its install has landed",
          "[protocols]") {
  const std::string protocol = GENERATE("occ", "nowait", "waitdie", "mvcc", "sundial");
  CAPTURE(protocol);
  SmallTable rows(protocol);
  rows.add_compute();
  {
    const auto transaction = rows.begin();
    rows.write(*transaction, 2, 11);
    rows.write(*transaction, 3, 12);
    REQUIRE(rows.commit(*transaction).ok());
  }
  rows.kill_compute(nullptr);
  rows.run_for(10 * kMillisecond_ns);
  rows.add_compute();  // which repairs what the dead left behind
  const auto reader = rows.begin();
  CHECK(rows.read(*reader, 2) == 11);
  CHECK(rows.read(*reader, 3) == 12);
  CHECK(rows.commit(*reader).ok());
}

}  // namespace namdb::sim
