#include "compute/schema/indexes.h"

#include <algorithm>
#include <set>

#include "compute/cluster/catalog_cache.h"
#include "compute/schema/index_parts.h"
#include "compute/txn/record_space.h"
#include "proto/control.pb.h"

namespace namdb::schema {

using storage::IndexRef;
using storage::TableRef;

reactor::Task<Status> Indexes::create(TableRef table, txn::IndexDefinition definition) {
  if (definition.hash) co_return co_await hashes_.build(table, std::move(definition));
  control::IndexDescriptor wanted;
  wanted.set_name(definition.name);
  wanted.set_table(table->id);
  wanted.set_unique(definition.unique);
  wanted.set_constraint(definition.constraint);
  for (const layout::IndexColumn& column : definition.columns) {
    control::IndexColumn& added = *wanted.add_columns();
    added.set_column(column.column);
    added.set_descending(column.descending);
  }
  co_return co_await trees_.build(table, &wanted, definition.violation);
}

reactor::Task<Status> Indexes::rebuild(std::string name) {
  txn::CatalogCache& catalog = worker_.worker_state().catalog;
  Status status = co_await catalog.refresh();
  if (!status.ok()) co_return status;
  const TableRef table = catalog.table_of_index(name);
  if (table == nullptr)
    co_return Status(ErrorCode::undefined_object, "index \"" + name + "\" does not exist");
  control::IndexDescriptor wanted;
  for (const IndexRef& index : table->indexes) {
    if (index->name != name || index->replaced()) continue;
    if (index->hash) co_return Status(ErrorCode::feature_not_supported, "a hash index cannot be rebuilt");
    // One that is being built in its place has its name, and a higher id.
    if (wanted.replaces() == 0) wanted.set_replaces(index->id);
  }
  co_return co_await trees_.build(table, &wanted, nullptr);
}

reactor::Task<Status> Indexes::drop(std::string name, bool constraint) {
  txn::WorkerState& state = worker_.worker_state();
  control::DropIndexRequest drop;
  drop.set_name(name);
  drop.set_of_constraint(constraint);
  control::DropIndexReply dropped;
  Status status = co_await state.cluster.call(0, control::DROP_INDEX, drop, &dropped);
  if (!status.ok()) co_return status;
  status = co_await discard_parts(state.cluster, dropped.index());
  state.space.forget(dropped.index());
  if (!status.ok()) co_return status;
  co_return co_await state.catalog.refresh();
}

reactor::Task<Status> Indexes::discard_unknown(layout::ServerId server, std::vector<std::uint32_t> ids) {
  txn::WorkerState& state = worker_.worker_state();
  std::erase_if(ids, [&state](std::uint32_t id) {
    const TableRef table = state.catalog.table_of_index(id);
    // The catalog drops one that was replaced at a time of which it tells no worker.
    const IndexRef index = table == nullptr ? nullptr : find_index(*table, id);
    return index != nullptr && !index->replaced();
  });
  if (ids.empty()) co_return Status();
  // An index that is built was begun in the catalog before: one that the catalog does not have now is gone.
  control::GetCatalogRequest request;
  request.set_part(control::CATALOG_IDS);
  control::GetCatalogReply catalog;
  Status status = co_await state.cluster.call(0, control::GET_CATALOG, request, &catalog);
  if (!status.ok()) co_return status;
  std::set<std::uint32_t> known(catalog.creating().begin(), catalog.creating().end());
  known.insert(catalog.ids().begin(), catalog.ids().end());
  for (const std::uint32_t id : ids) {
    if (known.contains(id)) continue;
    status = co_await discard_part(state.cluster, server, id);
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

}  // namespace namdb::schema
