// Creating hash indexes, while others use their tables. The entries are rows of a table of their own, which
// is created like others; in the catalog its index is then *building*, and the steps are those of other
// indexes (worker_indexes.cc): wait until all who may still commit keep it, enter the rows that snapshots
// show, ready.
//
// Rows are entered by transactions, some rows in each (index/hash_entries.h). One that meets a
// conflict is tried again with fewer rows, so that a row which others write all the time holds up no others.
//
// A builder that dies leaves nothing: the catalog drops the index with the peer, and what memory servers keep
// of it is found like other tables that nobody knows (recovery/orphan_tables.h).
#include <algorithm>

#include "compute/index/hash_entries.h"
#include "compute/worker/connection.h"
#include "proto/control.pb.h"

namespace namdb::compute {

using storage::IndexRef;
using storage::TableRef;

namespace {

// An entry never changes but for who has a unique value: few old versions are wanted at a time.
constexpr std::uint32_t kRingSlots = 2;
constexpr std::size_t kRowsAtOnce = 128;
// For one row, in turn with backoff.
constexpr std::uint32_t kAttempts = 256;

}  // namespace

reactor::Task<Status> Worker::create_hash_index(std::shared_ptr<Connection> connection, TableRef table,
                                                txn::IndexDefinition definition) {
  control::BeginCreateTableRequest begin;
  control::TableDescriptor& wanted = *begin.mutable_table();
  wanted.set_name(definition.name);
  // As many buckets as the table has by now, and as many entries as it has rows.
  std::uint64_t buckets = 1;
  for (const layout::BucketArray& array : table->arrays) buckets = std::max(buckets, array.bucket_count);
  wanted.set_buckets_per_server(buckets);
  wanted.set_size_hint_rows(table->size_hint_rows);
  wanted.set_ring_slots(kRingSlots);
  control::HashIndex& hash = *wanted.mutable_hash_index();
  hash.set_table(table->id);
  hash.set_unique(definition.unique);
  for (const layout::IndexColumn& column : definition.columns) hash.add_columns(column.column);
  control::BeginCreateTableReply begun;
  Status status = co_await connection->cluster.call(0, control::BEGIN_CREATE_TABLE, begin, &begun);
  if (!status.ok()) co_return status;
  const std::uint32_t id = begun.table().id();
  control::FinishCreateTableRequest finish;
  *finish.mutable_table() = begun.table();
  const auto building = co_await finish_table(connection, std::move(finish));
  if (!building.ok()) co_return building.status();
  status = co_await connection->catalog.refresh();
  if (status.ok()) status = co_await wait_for_writers(connection, *building);
  if (status.ok()) status = co_await fill_index(connection, table, id);
  if (status.ok()) {
    control::AdvanceIndexRequest ready;
    ready.mutable_index()->set_id(id);
    ready.set_state(control::INDEX_READY);
    status = co_await connection->cluster.call(0, control::ADVANCE_INDEX, ready, nullptr);
  }
  if (!status.ok()) {
    co_await abandon_index(connection, id);
    co_return status;
  }
  co_return co_await connection->catalog.refresh();
}

reactor::Task<Status> Worker::enter_rows(std::shared_ptr<Connection> connection, TableRef table,
                                         IndexRef index, const std::vector<layout::Row>* rows) {
  std::size_t most = kRowsAtOnce;  // that fit the journal
  std::size_t at_once = most;
  std::uint32_t attempts = 0;
  for (std::size_t next = 0; next < rows->size();) {
    const std::size_t count = std::min(at_once, rows->size() - next);
    std::vector<std::vector<std::byte>> keys;
    for (std::size_t i = next; i < next + count; ++i) {
      const std::span<const std::byte> key = (*rows)[i].key();
      keys.emplace_back(key.begin(), key.end());
    }
    WorkerSession session;
    session.fresh_from_ns = executor_.fresh_now_ns();
    ConnectionTransaction transaction(connection, session);
    Status status = co_await protocol::enter_hash_entries(&transaction, table, index, std::move(keys));
    if (status.ok()) status = co_await transaction.commit();
    if (connection->cluster.failed()) co_return status;
    if (status.ok()) {
      next += count;
      at_once = std::min(2 * at_once, most);
      attempts = 0;
      continue;
    }
    const bool too_much = status.code() == ErrorCode::limit_exceeded && count > 1;
    if ((!status.info().retry && !too_much) || ++attempts > kAttempts) co_return status;
    if (connection->catalog.find_id(index->id) == nullptr)
      co_return Status(ErrorCode::undefined_object, "the index was dropped meanwhile");
    if (stopping_) co_return Status(ErrorCode::admin_shutdown, "the compute server is shutting down");
    at_once = std::max<std::size_t>(count / 2, 1);
    if (too_much) most = at_once;
    co_await backoff(attempts);
  }
  co_return Status();
}

}  // namespace namdb::compute
