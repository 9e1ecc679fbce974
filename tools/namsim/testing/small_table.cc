#include "tools/namsim/testing/small_table.h"

#include <utility>

#include "common/layout/placement.h"
#include "tools/namsim/workloads/tables.h"

namespace namdb::sim {
namespace {

using reactor::Task;

ClusterOptions cluster_options(std::string_view protocol, std::uint64_t max_transaction_ns,
                               std::string_view stages, std::uint32_t memory_servers, bool durable,
                               Interposer* interposer) {
  ClusterOptions options;
  options.durable = durable;
  options.interposer = interposer;
  options.memory_servers = memory_servers;
  options.region_bytes = 64U << 20;
  options.memory.protocol = protocol;
  options.memory.stages = *protocol::StageCode::parse(stages);
  options.memory.max_transaction_ns = max_transaction_ns;
  return options;
}

Task<Status> find(txn::Engine* engine, txn::Transaction* transaction, std::int64_t id, txn::RowId* row) {
  const auto table = co_await engine->table("rows");
  if (!table.ok()) co_return table.status();
  *row = transaction->get(*table, key_of((*table)->schema, id).bytes());
  co_return co_await transaction->fetch();
}
Task<Status> look_at(txn::Engine* engine, txn::Transaction* transaction, std::int64_t id, txn::RowId* row) {
  const auto table = co_await engine->table("rows");
  if (!table.ok()) co_return table.status();
  *row = transaction->read(*table, key_of((*table)->schema, id).bytes());
  co_return co_await transaction->fetch();
}
Task<Status> insert_row(txn::Engine* engine, txn::Transaction* transaction, std::int64_t id) {
  const auto table = co_await engine->table("rows");
  if (!table.ok()) co_return table.status();
  layout::Row row((*table)->schema);
  Status status = row.writer().set_integer(0, id);
  if (status.ok()) status = row.writer().set_integer(1, 0);
  if (!status.ok()) co_return status;
  transaction->insert(*table, row.bytes());
  co_return co_await transaction->fetch();
}
Task<Status> count_rows(txn::Transaction* transaction, storage::TableRef table, bool by_index,
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
Task<void> read_later(txn::Engine* engine, txn::Transaction* transaction, std::int64_t id,
                      std::optional<Status>* status) {
  txn::RowId row = 0;
  *status = co_await find(engine, transaction, id, &row);
}
Task<Status> end(txn::Transaction* transaction) {
  co_return co_await transaction->commit();
}

}  // namespace

SmallTable::SmallTable(std::string_view protocol, std::uint64_t max_transaction_ns, std::string_view stages,
                       std::uint32_t memory_servers, bool durable, Interposer* interposer)
    : world_(1),
      cluster_(world_,
               cluster_options(protocol, max_transaction_ns, stages, memory_servers, durable, interposer)) {
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

void SmallTable::use_compute(std::size_t compute) {
  compute_ = compute;
  sessions_.push_back(engine().open_session());
  session_ = sessions_.back().get();
}

void SmallTable::kill_compute(std::unique_ptr<txn::Transaction> running) {
  cluster_.kill_compute(compute_);
  fabric::sim::SimWorld::bury(std::move(running));
  for (auto& gate : gates_) fabric::sim::SimWorld::bury(std::move(gate));
  gates_.clear();
}

std::unique_ptr<txn::Transaction> SmallTable::begin_in_new_session() {
  sessions_.push_back(engine().open_session());
  return engine().begin(*sessions_.back());
}

std::int64_t SmallTable::read(txn::Transaction& transaction, std::int64_t id) {
  txn::RowId row = 0;
  REQUIRE(run(find(&engine(), &transaction, id, &row)).ok());
  return transaction.row(row).integer(1);
}

Status SmallTable::try_read(txn::Transaction& transaction, std::int64_t id) {
  txn::RowId row = 0;
  return run(find(&engine(), &transaction, id, &row));
}

std::int64_t SmallTable::look(txn::Transaction& transaction, std::int64_t id) {
  txn::RowId row = 0;
  REQUIRE(run(look_at(&engine(), &transaction, id, &row)).ok());
  return transaction.row(row).integer(1);
}

Status SmallTable::try_look(txn::Transaction& transaction, std::int64_t id) {
  txn::RowId row = 0;
  return run(look_at(&engine(), &transaction, id, &row));
}

Status SmallTable::try_count(txn::Transaction& transaction, const storage::TableRef& table) {
  std::size_t rows = 0;
  return run(count_rows(&transaction, table, false, &rows));
}

void SmallTable::write(txn::Transaction& transaction, std::int64_t id, std::int64_t value) {
  REQUIRE(try_write(transaction, id, value).ok());
}

Status SmallTable::try_write(txn::Transaction& transaction, std::int64_t id, std::int64_t value) {
  txn::RowId row = 0;
  Status status = run(find(&engine(), &transaction, id, &row));
  return status.ok() ? transaction.update(row).set_integer(1, value) : status;
}

void SmallTable::insert(txn::Transaction& transaction, std::int64_t id) {
  REQUIRE(try_insert(transaction, id).ok());
}

Status SmallTable::try_insert(txn::Transaction& transaction, std::int64_t id) {
  return run(insert_row(&engine(), &transaction, id));
}

Status SmallTable::commit(txn::Transaction& transaction) {
  return run(end(&transaction));
}

void SmallTable::change(std::int64_t id, std::int64_t value) {
  const auto transaction = begin_in_new_session();
  write(*transaction, id, value);
  REQUIRE(commit(*transaction).ok());
}

Status SmallTable::try_create_index(bool hash) {
  txn::IndexDefinition definition{.name = "by_value", .table = "rows", .columns = {{1, false}}, .hash = hash};
  return run(engine().create_index(std::move(definition)));
}

std::size_t SmallTable::count(txn::Transaction& transaction, const storage::TableRef& table, bool by_index) {
  std::size_t rows = 0;
  REQUIRE(run(count_rows(&transaction, table, by_index, &rows)).ok());
  return rows;
}

storage::TableRef SmallTable::table() {
  auto table = run(engine().table("rows"));
  REQUIRE(table.ok());
  return *table;
}

layout::ServerId SmallTable::server_of(std::int64_t id) {
  const storage::TableRef rows = table();
  return rows->server_of(layout::row_hash(rows->id, rows->schema, key_of(rows->schema, id).bytes(),
                                          cluster_.options().memory_servers));
}

void SmallTable::start_to_read(txn::Transaction& transaction, std::int64_t id,
                               std::optional<Status>* status) {
  gates_.push_back(std::make_unique<reactor::Gate>());
  cluster_.node(compute_).spawn(*gates_.back(), read_later(&engine(), &transaction, id, status));
}

}  // namespace namdb::sim
