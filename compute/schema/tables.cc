#include "compute/schema/tables.h"

#include "compute/cluster/call_set.h"
#include "compute/cluster/catalog_cache.h"
#include "compute/schema/index_parts.h"
#include "compute/txn/record_space.h"
#include "proto/control.pb.h"

namespace namdb::schema {
namespace {

// The same to all memory servers, side by side. The first error; `calls`, which outlives the task, has the
// replies.
reactor::Task<Status> call_all(txn::CallSet& calls, control::Method method, std::string request) {
  for (std::size_t server = 0; server < calls.size(); ++server)
    calls.request(static_cast<layout::ServerId>(server)) = request;
  fabric::OperationCounters uncounted;
  co_return co_await calls.run(static_cast<std::uint16_t>(method), uncounted);
}

void describe_checks(const std::vector<storage::TableCheck>& checks, control::TableDescriptor* table) {
  for (const storage::TableCheck& check : checks) {
    control::Check& added = *table->add_checks();
    added.set_name(check.name);
    added.set_expression(check.expression);
  }
}

void describe_foreign_keys(const std::vector<storage::ForeignKey>& keys, control::TableDescriptor* table) {
  for (const storage::ForeignKey& key : keys) {
    control::ForeignKey& added = *table->add_foreign_keys();
    added.set_name(key.name);
    added.mutable_columns()->Assign(key.columns.begin(), key.columns.end());
    added.set_references(key.references);
    added.mutable_referenced()->Assign(key.referenced.begin(), key.referenced.end());
    added.set_on_delete(static_cast<std::uint32_t>(key.on_delete));
    added.set_on_update(static_cast<std::uint32_t>(key.on_update));
    added.set_match_full(key.match_full);
    added.set_deferrable(key.deferrable);
    added.set_initially_deferred(key.initially_deferred);
    added.set_not_valid(key.not_valid);
    added.set_unsettled(key.unsettled);
  }
}

}  // namespace

reactor::Task<Status> Tables::create(txn::TableDefinition definition) {
  const auto created = co_await create(std::move(definition), 0);
  co_return created.ok() ? Status() : created.status();
}

reactor::Task<Result<CreatedTable>> Tables::create(txn::TableDefinition definition, std::uint32_t replaces) {
  // The catalog decides on the rest: the number of main buckets, and of ring slots where it is left open.
  control::BeginCreateTableRequest begin;
  control::TableDescriptor& wanted = *begin.mutable_table();
  wanted = txn::descriptor_of(definition.name, definition.schema);
  wanted.set_size_hint_rows(definition.size_hint_rows);
  wanted.set_ring_slots(definition.ring_slots);
  wanted.set_replaces(replaces);
  describe_checks(definition.checks, &wanted);
  begin.set_owner(definition.owner);
  describe_foreign_keys(definition.foreign_keys, &wanted);
  control::BeginCreateTableReply begun;
  Status status = co_await state_.cluster.call(0, control::BEGIN_CREATE_TABLE, begin, &begun);
  if (!status.ok()) co_return status;
  const std::uint32_t id = begun.table().id();

  control::FinishCreateTableRequest request;
  *request.mutable_table() = begun.table();
  if (!definition.ordered_key.empty()) {
    control::IndexDescriptor& index = *request.add_indexes();
    index.set_name(definition.ordered_key);
    index.set_constraint(true);
    index.set_primary(true);
    for (const std::uint32_t column : definition.schema.key()) index.add_columns()->set_column(column);
  }
  for (const txn::UniqueConstraint& constraint : definition.unique) {
    control::IndexDescriptor& index = *request.add_indexes();
    index.set_name(constraint.name);
    index.set_unique(true);
    index.set_constraint(true);
    for (const std::uint32_t column : constraint.columns) index.add_columns()->set_column(column);
  }
  const auto finished = co_await finish(std::move(request));
  if (!finished.ok()) co_return finished.status();
  status = co_await state_.catalog.refresh();
  if (!status.ok()) co_return status;
  co_return CreatedTable{id, *finished};
}

reactor::Task<Status> Tables::alter(txn::TableAlteration alteration) {
  control::AlterTableRequest request;
  control::TableDescriptor& wanted = *request.mutable_table();
  Status status = co_await describe(alteration.table, &wanted);
  if (!status.ok()) co_return status;
  wanted.set_name(alteration.name);
  wanted.clear_columns();
  for (const layout::Column& column : alteration.columns) *wanted.add_columns() = txn::descriptor_of(column);
  wanted.clear_checks();
  describe_checks(alteration.checks, &wanted);
  wanted.clear_foreign_keys();
  describe_foreign_keys(alteration.foreign_keys, &wanted);
  for (const auto& [id, name] : alteration.index_names) {
    control::IndexDescriptor& renamed = *request.add_indexes();
    renamed.set_id(id);
    renamed.set_name(name);
  }
  status = co_await state_.cluster.call(0, control::ALTER_TABLE, request, nullptr);
  if (!status.ok()) co_return status;
  co_return co_await state_.catalog.refresh();
}

reactor::Task<Status> Tables::describe(storage::TableRef table, control::TableDescriptor* descriptor) {
  control::GetCatalogRequest request;
  request.set_part(control::CATALOG_TABLE);
  request.set_table(table->id);
  control::GetCatalogReply catalog;
  Status status = co_await state_.cluster.call(0, control::GET_CATALOG, request, &catalog);
  if (!status.ok()) co_return status;
  for (const control::TableDescriptor& known : catalog.tables()) {
    if (known.id() != table->id || known.altered_version() != table->altered_version) continue;
    *descriptor = known;
    co_return Status();
  }
  co_return Status(ErrorCode::table_is_altered,
                   "table \"" + table->name + "\" was dropped or altered meanwhile");
}

reactor::Task<Result<std::uint64_t>> Tables::finish(control::FinishCreateTableRequest request) {
  request.mutable_table()->clear_bucket_base();
  const auto version = co_await prepare_and_finish(&request);
  if (!version.ok()) co_await abandon(&request);
  co_return version;
}

reactor::Task<Result<std::uint64_t>> Tables::prepare_and_finish(control::FinishCreateTableRequest* request) {
  if (Status status = co_await prepare(request); !status.ok()) co_return status;
  control::FinishCreateTableReply finished;
  Status status = co_await state_.cluster.call(0, control::FINISH_CREATE_TABLE, *request, &finished);
  if (!status.ok()) co_return status;
  co_return finished.catalog_version();
}

reactor::Task<Status> Tables::prepare(control::FinishCreateTableRequest* request) {
  control::PrepareTableRequest prepare;
  *prepare.mutable_table() = request->table();
  txn::CallSet calls(state_.cluster);
  Status status = co_await call_all(calls, control::PREPARE_TABLE, prepare.SerializeAsString());
  if (!status.ok()) co_return status;
  for (std::size_t server = 0; server < calls.size(); ++server) {
    control::PrepareTableReply prepared;
    if (!prepared.ParseFromString(calls.reply(static_cast<layout::ServerId>(server))))
      co_return Status(ErrorCode::protocol_violation, "memory server sent a reply that cannot be read");
    request->mutable_table()->add_bucket_base(prepared.bucket_base());
  }
  co_return co_await prepare_indexes(request);
}

reactor::Task<Status> Tables::prepare_indexes(control::FinishCreateTableRequest* request) {
  for (control::IndexDescriptor& index : *request->mutable_indexes()) {
    control::BeginCreateIndexRequest begin;
    *begin.mutable_index() = index;
    begin.mutable_index()->set_table(request->table().id());
    control::BeginCreateIndexReply begun;
    Status status = co_await state_.cluster.call(0, control::BEGIN_CREATE_INDEX, begin, &begun);
    if (!status.ok()) co_return status;
    index = begun.index();
    std::vector<std::string> no_splits;
    status = co_await prepare_parts(state_.cluster, &index, std::move(no_splits));
    if (!status.ok()) co_return status;
    // The table has no rows to enter.
    status = co_await finish_parts(state_.cluster, &index);
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

// Memory server 0 is asked no more where the connection to it is lost: it may have finished the table, and
// the others' parts of it must stay then. With the table, a memory server discards its parts of the table's
// indexes. A server that has not prepared the table refuses. A call that fails otherwise has lost the
// connection: another worker then finds that the catalog does not have the table.
reactor::Task<void> Tables::abandon(control::FinishCreateTableRequest* request) {
  if (state_.cluster.channel(0).failed()) co_return;
  control::DiscardTableRequest discard;
  discard.set_table(request->table().id());
  txn::CallSet calls(state_.cluster);
  static_cast<void>(co_await call_all(calls, control::DISCARD_TABLE, discard.SerializeAsString()));
  request->clear_indexes();
  request->set_abandon(true);
  static_cast<void>(co_await state_.cluster.call(0, control::FINISH_CREATE_TABLE, *request, nullptr));
}

reactor::Task<Status> Tables::drop(std::string name) {
  control::DropTableRequest drop;
  drop.set_name(name);
  control::DropTableReply dropped;
  Status status = co_await state_.cluster.call(0, control::DROP_TABLE, drop, &dropped);
  if (!status.ok()) co_return status;
  status = co_await discard(dropped.table());
  if (!status.ok()) co_return status;
  co_return co_await state_.catalog.refresh();
}

reactor::Task<Status> Tables::discard(std::uint32_t id) {
  txn::Cluster& cluster = state_.cluster;
  if (const storage::TableRef table = state_.catalog.find_id(id)) {
    for (const storage::IndexRef& index : table->indexes) state_.space.forget(index->id);
  }
  control::DiscardTableRequest discard;
  discard.set_table(id);
  for (std::size_t server = 0; server < cluster.server_count(); ++server) {
    Status status = co_await cluster.call(static_cast<layout::ServerId>(server), control::DISCARD_TABLE,
                                          discard, nullptr);
    if (!status.ok()) co_return status;
  }
  state_.space.forget(id);
  co_return Status();
}

}  // namespace namdb::schema
