#include "compute/schema/tree_index_builder.h"

#include "common/layout/index_page.h"
#include "compute/cluster/catalog_cache.h"
#include "compute/index/index_fill.h"
#include "compute/index/index_sample.h"
#include "compute/schema/index_parts.h"
#include "compute/schema/index_split.h"
#include "compute/txn/errors.h"
#include "proto/control.pb.h"

namespace namdb::schema {

using storage::IndexRef;
using storage::TableRef;

namespace {

// Rows whose keys say where parts end: the largest of a few parts is then some percent too large.
constexpr std::size_t kSampledRows = 4096;
constexpr std::uint32_t kSampleAttempts = 8;

}  // namespace

// Enters the rows of one index.
class TreeIndexBuilder::Entries final : public EntryWriter {
 public:
  // `worker` outlives this; so does `violation`, which may be null.
  Entries(SchemaWorker& worker, txn::Violation* violation) : worker_(worker), violation_(violation) {}

  reactor::Task<Status> enter(protocol::EngineTransaction& scan, TableRef table, IndexRef index,
                              const std::vector<layout::Row>* rows) override;

 private:
  SchemaWorker& worker_;
  txn::Violation* violation_;
};

reactor::Task<Status> TreeIndexBuilder::build(TableRef table, const control::IndexDescriptor* wanted,
                                              txn::Violation* violation) {
  control::BeginCreateIndexRequest begin;
  *begin.mutable_index() = *wanted;
  control::BeginCreateIndexReply begun;
  Status status = co_await worker_.worker_state().cluster.call(0, control::BEGIN_CREATE_INDEX, begin, &begun);
  if (!status.ok()) co_return status;
  control::IndexDescriptor* index = begun.mutable_index();
  status = co_await build_begun(table, index, violation);
  if (!status.ok()) co_await steps_.abandon(index->id());
  co_return status;
}

reactor::Task<Status> TreeIndexBuilder::build_begun(TableRef table, control::IndexDescriptor* index,
                                                    txn::Violation* violation) {
  txn::WorkerState& state = worker_.worker_state();
  auto splits = co_await choose_splits(table, index);
  if (!splits.ok()) co_return splits.status();
  Status status = co_await prepare_parts(state.cluster, index, std::move(*splits));
  if (!status.ok()) co_return status;
  control::AdvanceIndexRequest advance;
  *advance.mutable_index() = *index;
  advance.set_state(control::INDEX_BUILDING);
  control::AdvanceIndexReply advanced;
  status = co_await state.cluster.call(0, control::ADVANCE_INDEX, advance, &advanced);
  if (!status.ok()) co_return status;
  Entries entries(worker_, violation);
  status = co_await steps_.wait_and_fill(table, index->id(), advanced.catalog_version(), entries);
  if (!status.ok()) co_return status;
  status = co_await finish_parts(state.cluster, index);
  if (!status.ok()) co_return status;
  advance.set_state(control::INDEX_READY);
  status = co_await state.cluster.call(0, control::ADVANCE_INDEX, advance, nullptr);
  if (!status.ok()) co_return status;
  co_return co_await state.catalog.refresh();
}

reactor::Task<Result<std::vector<std::string>>> TreeIndexBuilder::choose_splits(
    TableRef table, const control::IndexDescriptor* index) {
  const txn::Cluster& cluster = worker_.worker_state().cluster;
  const reactor::Executor& executor = worker_.worker_state().executor;
  std::vector<std::string> keys;
  const std::size_t servers = cluster.server_count();
  if (servers == 1) co_return keys;
  std::vector<layout::IndexColumn> columns;
  for (const control::IndexColumn& column : index->columns())
    columns.push_back({column.column(), column.descending()});
  const auto shape = layout::IndexShape::create(table->schema, std::move(columns));
  if (!shape.ok()) co_return shape.status();
  protocol::IndexSample sample;
  sample.shape = &*shape;
  sample.declared_only = index->unique();
  sample.max_key_bytes = layout::max_index_key_bytes(index->page_bytes());
  sample.rows = (kSampledRows + servers - 1) / servers;
  for (std::size_t server = 0; server < servers; ++server) {
    sample.server = static_cast<layout::ServerId>(server);
    for (std::uint32_t attempt = 1; attempt <= kSampleAttempts; ++attempt) {
      protocol::SessionState session;
      const auto transaction = worker_.begin(session);
      sample.enough_ns = executor.now_ns() + cluster.max_transaction_ns() / kSnapshotShare;
      const std::size_t before = keys.size();
      const Status status = co_await protocol::sample_index_keys(transaction.get(), table, sample, &keys);
      // Few rows are enough, and without any the index is built all the same.
      if (cluster.has_lost() || status.ok() || !status.info().retry || keys.size() != before) break;
      co_await worker_.back_off(attempt);
    }
    if (cluster.has_lost()) co_return protocol::lost_connection();
  }
  if (keys.size() < split_rows_) keys.clear();
  co_return schema::choose_splits(std::move(keys), servers);
}

reactor::Task<Status> TreeIndexBuilder::Entries::enter(protocol::EngineTransaction& scan, TableRef table,
                                                       IndexRef index, const std::vector<layout::Row>* rows) {
  txn::WorkerState& state = worker_.worker_state();
  fabric::OperationCounters uncounted;
  std::vector<protocol::IndexRivals> rivals;
  Status status = co_await protocol::load_entries(&state, index, rows, &rivals, &uncounted);
  if (!status.ok()) co_return status;
  while (!rivals.empty()) {
    protocol::SessionState session;
    const auto fresh = worker_.begin(session);
    status = co_await protocol::settle_rivals(fresh.get(), table, index, &rivals, violation_);
    if (!status.ok()) co_return status;
    status = scan.check_going_on();
    if (!status.ok()) co_return status;
    if (!rivals.empty()) co_await state.executor.sleep_for(kPoll_ns);
  }
  co_return Status();
}

}  // namespace namdb::schema
