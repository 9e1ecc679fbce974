// Creating and dropping tables.
//
// A table comes with the indexes of its UNIQUE constraints: all are begun in the catalog, prepared on the
// memory servers, and finished together, so nobody sees the one without the others. A creator that dies
// before leaves nothing: the catalog forgets what it had begun, and what memory servers keep for it is found
// by heartbeats.
#include "common/layout/bucket.h"
#include "compute/worker/connection.h"
#include "proto/control.pb.h"

namespace namdb::compute {
namespace {

// Of the main buckets' entries, at the size hint.
constexpr double kBucketOccupancy = 0.75;

}  // namespace

reactor::Task<Status> Worker::prepare_table(std::shared_ptr<Connection> connection,
                                            control::FinishCreateTableRequest* finish) {
  txn::Cluster& cluster = connection->cluster;
  control::PrepareTableRequest prepare;
  *prepare.mutable_table() = finish->table();
  for (std::size_t server = 0; server < cluster.server_count(); ++server) {
    control::PrepareTableReply prepared;
    Status status = co_await cluster.call(static_cast<layout::ServerId>(server), control::PREPARE_TABLE,
                                          prepare, &prepared);
    if (!status.ok()) co_return status;
    finish->mutable_table()->add_bucket_base(prepared.bucket_base());
  }
  for (control::IndexDescriptor& index : *finish->mutable_indexes()) {
    control::BeginCreateIndexRequest begin;
    *begin.mutable_index() = index;
    begin.mutable_index()->set_table(finish->table().id());
    control::BeginCreateIndexReply begun;
    Status status = co_await cluster.call(0, control::BEGIN_CREATE_INDEX, begin, &begun);
    if (!status.ok()) co_return status;
    index = begun.index();
    std::vector<std::string> no_splits;
    status = co_await prepare_index(connection, &index, std::move(no_splits));
    for (int part = 0; part < index.parts_size() && status.ok(); ++part) {
      // Nothing to be filled in.
      control::BuiltIndexRequest built;
      built.set_index(index.id());
      status = co_await cluster.call(static_cast<layout::ServerId>(index.parts(part).server()),
                                     control::BUILT_INDEX, built, nullptr);
    }
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

reactor::Task<Status> Worker::create_table(std::string name, layout::Schema schema,
                                           txn::TableOptions options) {
  const std::shared_ptr<Connection> connection = connection_;
  if (connection == nullptr) co_return not_connected();
  txn::Cluster& cluster = connection->cluster;
  control::BeginCreateTableRequest begin;
  control::TableDescriptor& wanted = *begin.mutable_table();
  wanted = txn::descriptor_of(name, schema);
  wanted.set_size_hint_rows(options.size_hint_rows);
  wanted.set_ring_slots(options.ring_slots != 0 ? options.ring_slots : cluster.default_ring_slots());
  const double per_bucket =
      layout::kBucketEntries * kBucketOccupancy * static_cast<double>(cluster.server_count());
  wanted.set_buckets_per_server(
      1 + static_cast<std::uint64_t>(static_cast<double>(options.size_hint_rows) / per_bucket));
  wanted.set_generation(1);
  control::BeginCreateTableReply begun;
  Status status = co_await cluster.call(0, control::BEGIN_CREATE_TABLE, begin, &begun);
  if (!status.ok()) co_return status;

  control::FinishCreateTableRequest finish;
  *finish.mutable_table() = begun.table();
  finish.mutable_table()->clear_bucket_base();
  for (const txn::UniqueConstraint& constraint : options.unique) {
    control::IndexDescriptor& index = *finish.add_indexes();
    index.set_name(constraint.name);
    index.set_unique(true);
    index.set_constraint(true);
    for (const std::uint32_t column : constraint.columns) index.add_columns()->set_column(column);
  }
  const auto finished = co_await finish_table(connection, std::move(finish));
  if (!finished.ok()) co_return finished.status();
  co_return co_await connection->catalog.refresh();
}

reactor::Task<Result<std::uint64_t>> Worker::finish_table(std::shared_ptr<Connection> connection,
                                                          control::FinishCreateTableRequest finish) {
  txn::Cluster& cluster = connection->cluster;
  control::FinishCreateTableReply finished;
  Status status = co_await prepare_table(connection, &finish);
  if (status.ok()) status = co_await cluster.call(0, control::FINISH_CREATE_TABLE, finish, &finished);
  if (status.ok()) co_return finished.catalog_version();
  // With the table a memory server discards what it has of its indexes.
  control::DiscardTableRequest discard;
  discard.set_table(finish.table().id());
  for (int server = 0; server < finish.table().bucket_base_size(); ++server) {
    const Status ignored = co_await cluster.call(static_cast<layout::ServerId>(server),
                                                 control::DISCARD_TABLE, discard, nullptr);
    (void)ignored;
  }
  finish.clear_indexes();
  finish.set_abandon(true);
  const Status ignored = co_await cluster.call(0, control::FINISH_CREATE_TABLE, finish, nullptr);
  (void)ignored;
  co_return status;
}

reactor::Task<Status> Worker::drop_table(std::string name) {
  const std::shared_ptr<Connection> connection = connection_;
  if (connection == nullptr) co_return not_connected();
  control::DropTableRequest drop;
  drop.set_name(name);
  control::DropTableReply dropped;
  Status status = co_await connection->cluster.call(0, control::DROP_TABLE, drop, &dropped);
  if (!status.ok()) co_return status;
  if (const storage::TableRef table = connection->catalog.find_id(dropped.table())) {
    for (const storage::IndexRef& index : table->indexes) connection->space.forget(index->id);
  }
  for (std::size_t server = 0; server < connection->cluster.server_count(); ++server) {
    control::DiscardTableRequest discard;
    discard.set_table(dropped.table());
    status = co_await connection->cluster.call(static_cast<layout::ServerId>(server), control::DISCARD_TABLE,
                                               discard, nullptr);
    if (!status.ok()) co_return status;
  }
  connection->space.forget(dropped.table());
  co_return co_await connection->catalog.refresh();
}

}  // namespace namdb::compute
