#include "compute/schema/hash_index_builder.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "compute/api/transaction_facts.h"
#include "compute/cluster/catalog_cache.h"
#include "compute/index/hash_entries.h"
#include "proto/control.pb.h"

namespace namdb::schema {

using storage::IndexRef;
using storage::TableRef;

namespace {

// An entry never changes, except that a unique value may pass to another row: few old versions are read.
constexpr std::uint32_t kRingSlots = 2;
constexpr std::size_t kRowsAtOnce = 128;
// For one row, with backoff before each.
constexpr std::uint32_t kAttempts = 256;

control::TableDescriptor describe(const storage::Table& table, const txn::IndexDefinition& definition) {
  // The catalog decides on the rest: the columns, and the number of main buckets.
  control::TableDescriptor wanted;
  wanted.set_name(definition.name);
  wanted.set_ring_slots(kRingSlots);
  control::HashIndex& hash = *wanted.mutable_hash_index();
  hash.set_table(table.id);
  hash.set_unique(definition.unique);
  for (const layout::IndexColumn& column : definition.columns) hash.add_columns(column.column);
  return wanted;
}

}  // namespace

// Enters the rows of one index.
class HashIndexBuilder::Entries final : public EntryWriter {
 public:
  // `worker` outlives this; so does `violation`, which may be null.
  Entries(SchemaWorker& worker, txn::Violation* violation) : worker_(worker), violation_(violation) {}

  reactor::Task<Status> enter(protocol::EngineTransaction& scan, TableRef table, IndexRef index,
                              const std::vector<layout::Row>* rows) override;

 private:
  // Enters `count` of the rows, from `first` on, in a transaction of their own.
  reactor::Task<Status> enter_some(TableRef table, IndexRef index, const std::vector<layout::Row>* rows,
                                   std::size_t first, std::size_t count);

  SchemaWorker& worker_;
  txn::Violation* violation_;
};

reactor::Task<Status> HashIndexBuilder::build(TableRef table, txn::IndexDefinition definition) {
  txn::WorkerState& state = worker_.worker_state();
  control::BeginCreateTableRequest begin;
  *begin.mutable_table() = describe(*table, definition);
  control::BeginCreateTableReply begun;
  Status status = co_await state.cluster.call(0, control::BEGIN_CREATE_TABLE, begin, &begun);
  if (!status.ok()) co_return status;
  control::FinishCreateTableRequest finish;
  *finish.mutable_table() = begun.table();
  const auto building = co_await tables_.finish(std::move(finish));
  if (!building.ok()) co_return building.status();
  status = co_await build_begun(table, begun.table().id(), *building, definition.violation);
  if (!status.ok()) {
    co_await steps_.abandon(begun.table().id());
    co_return status;
  }
  co_return co_await state.catalog.refresh();
}

reactor::Task<Status> HashIndexBuilder::build_begun(TableRef table, std::uint32_t index,
                                                    std::uint64_t catalog_version,
                                                    txn::Violation* violation) {
  txn::WorkerState& state = worker_.worker_state();
  Entries entries(worker_, violation);
  const Status status = co_await steps_.wait_and_fill(table, index, catalog_version, entries);
  if (!status.ok()) co_return status;
  control::AdvanceIndexRequest ready;
  ready.mutable_index()->set_id(index);
  ready.set_state(control::INDEX_READY);
  co_return co_await state.cluster.call(0, control::ADVANCE_INDEX, ready, nullptr);
}

reactor::Task<Status> HashIndexBuilder::Entries::enter(protocol::EngineTransaction& /*scan*/, TableRef table,
                                                       IndexRef index, const std::vector<layout::Row>* rows) {
  const txn::WorkerState& state = worker_.worker_state();
  std::size_t most = kRowsAtOnce;  // that fit the journal
  std::size_t at_once = most;
  std::uint32_t attempts = 0;
  for (std::size_t next = 0; next < rows->size();) {
    const std::size_t count = std::min(at_once, rows->size() - next);
    Status status = co_await enter_some(table, index, rows, next, count);
    if (state.cluster.has_lost()) co_return status;
    if (status.ok()) {
      next += count;
      at_once = std::min(2 * at_once, most);
      attempts = 0;
      continue;
    }
    const bool too_much = status.code() == ErrorCode::limit_exceeded && count > 1;
    if ((!status.info().retry && !too_much) || ++attempts > kAttempts) co_return status;
    if (state.catalog.find_id(index->id) == nullptr) co_return BuildSteps::index_dropped();
    if (worker_.stopping()) co_return shutting_down();
    at_once = std::max<std::size_t>(count / 2, 1);
    if (too_much) most = at_once;
    co_await worker_.back_off(attempts);
  }
  co_return Status();
}

reactor::Task<Status> HashIndexBuilder::Entries::enter_some(TableRef table, IndexRef index,
                                                            const std::vector<layout::Row>* rows,
                                                            std::size_t first, std::size_t count) {
  std::vector<std::vector<std::byte>> keys;
  for (std::size_t i = first; i < first + count; ++i) {
    const std::span<const std::byte> key = (*rows)[i].key();
    keys.emplace_back(key.begin(), key.end());
  }
  protocol::SessionState session;
  session.fresh_from_ns = worker_.worker_state().executor.fresh_now_ns();
  const auto transaction = worker_.begin(session);
  const auto noted = [&](Status status) {
    const txn::TransactionFacts* const facts = txn::transaction_facts(transaction.get());
    if (violation_ != nullptr && !status.ok() && status.code() == ErrorCode::duplicate_key &&
        facts != nullptr && facts->violation() != nullptr)
      *violation_ = *facts->violation();
    return status;
  };
  if (Status status = co_await protocol::enter_hash_entries(transaction.get(), table, index, std::move(keys));
      !status.ok())
    co_return noted(std::move(status));
  Status status = co_await transaction->commit();
  co_return noted(std::move(status));
}

}  // namespace namdb::schema
