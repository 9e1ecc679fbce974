// Creating and dropping secondary indexes, while others use their tables.
//
//   begin     name and id are reserved
//   prepare   its (empty) parts, on their memory servers
//   building  the index is in the catalog: from now on new transactions keep its entries. Wait until all
//             others have ended, and what dead compute servers left is repaired
//   fill      with what snapshots show that are taken then
//   ready     for transactions whose snapshots show that version of the catalog
//
// A builder that dies leaves nothing: the catalog and the memory servers that held parts for it drop them,
// and what is built by then is discarded by whoever sees that the catalog does not have it.
#include <set>

#include "compute/protocol/stages/index_fill.h"
#include "compute/protocol/stages/table_scan.h"
#include "compute/worker_link.h"

namespace namdb::compute {

using storage::IndexRef;
using storage::TableRef;

namespace {

constexpr std::uint64_t kPoll_ns = 2 * kMillisecond_ns;
// A table is read in as many snapshots as it needs, each for this part of the time that a transaction has.
constexpr std::uint64_t kFillShare = 4;
// So often a part may fail for passing reasons before the build does.
constexpr std::uint32_t kFillAttempts = 32;

Status connection_lost() {
  return Status(ErrorCode::connection_failure, "the connection to a memory server was lost");
}

IndexRef find_index(const TableRef& table, std::uint32_t id) {
  for (const IndexRef& index : table->indexes) {
    if (index->id == id) return index;
  }
  return nullptr;
}

}  // namespace

reactor::Task<Status> Worker::create_index(txn::IndexDefinition definition) {
  const auto found = co_await table(definition.table);
  if (!found.ok()) co_return found.status();
  const std::shared_ptr<Link> link = link_;
  if (link == nullptr) co_return not_connected();
  if (definition.hash) co_return co_await create_hash_index(link, *found, std::move(definition));
  control::BeginCreateIndexRequest begin;
  control::IndexDescriptor& wanted = *begin.mutable_index();
  wanted.set_name(definition.name);
  wanted.set_table((*found)->id);
  wanted.set_unique(definition.unique);
  for (const layout::IndexColumn& column : definition.columns) {
    control::IndexColumn& added = *wanted.add_columns();
    added.set_column(column.column);
    added.set_descending(column.descending);
  }
  control::BeginCreateIndexReply begun;
  Status status = co_await link->cluster.call(0, control::BEGIN_CREATE_INDEX, begin, &begun);
  if (!status.ok()) co_return status;
  control::IndexDescriptor* index = begun.mutable_index();
  status = co_await build_index(link, *found, index);
  if (!status.ok()) co_await abandon_index(link, index->id());
  co_return status;
}

reactor::Task<void> Worker::abandon_index(std::shared_ptr<Link> link, std::uint32_t index) {
  if (link->cluster.failed()) co_return;
  control::AdvanceIndexRequest abandon;
  abandon.mutable_index()->set_id(index);
  abandon.set_abandon(true);
  Status undone = co_await link->cluster.call(0, control::ADVANCE_INDEX, abandon, nullptr);
  // Who else may have dropped it may have died before the memory servers heard of that.
  if (undone.ok() || undone.code() == ErrorCode::undefined_object) {
    undone = co_await discard_index(link, index);
  }
  link->space.forget(index);
  if (undone.ok()) undone = co_await link->catalog.refresh();
  (void)undone;
}

reactor::Task<Status> Worker::prepare_index(std::shared_ptr<Link> link, control::IndexDescriptor* index) {
  control::IndexPart& part = *index->add_parts();
  part.set_server(index->id() % static_cast<std::uint32_t>(link->cluster.server_count()));
  control::PrepareIndexRequest prepare;
  *prepare.mutable_index() = *index;
  co_return co_await link->cluster.call(static_cast<layout::ServerId>(part.server()), control::PREPARE_INDEX,
                                        prepare, nullptr);
}

reactor::Task<Status> Worker::build_index(std::shared_ptr<Link> link, TableRef table,
                                          control::IndexDescriptor* index) {
  Status status = co_await prepare_index(link, index);
  if (!status.ok()) co_return status;
  control::AdvanceIndexRequest advance;
  *advance.mutable_index() = *index;
  advance.set_state(control::INDEX_BUILDING);
  control::AdvanceIndexReply advanced;
  status = co_await link->cluster.call(0, control::ADVANCE_INDEX, advance, &advanced);
  if (status.ok()) status = co_await link->catalog.refresh();
  if (status.ok()) status = co_await wait_for_writers(link, advanced.catalog_version());
  if (status.ok()) status = co_await fill_index(link, table, index->id());
  if (!status.ok()) co_return status;
  for (const control::IndexPart& part : index->parts()) {
    control::BuiltIndexRequest built;
    built.set_index(index->id());
    status = co_await link->cluster.call(static_cast<layout::ServerId>(part.server()), control::BUILT_INDEX,
                                         built, nullptr);
    if (!status.ok()) co_return status;
  }
  advance.set_state(control::INDEX_READY);
  status = co_await link->cluster.call(0, control::ADVANCE_INDEX, advance, nullptr);
  if (status.ok()) status = co_await link->catalog.refresh();
  co_return status;
}

reactor::Task<Status> Worker::wait_for_writers(std::shared_ptr<Link> link, std::uint64_t catalog_version) {
  // A transaction lives no longer than E. Who is silent for longer is paused, and may be fenced meanwhile.
  const std::uint64_t deadline_ns = executor_.now_ns() + 2 * link->cluster.max_transaction_ns() + kSecond_ns;
  control::GetCatalogRequest request;
  request.set_known_version(catalog_version);
  while (true) {
    control::GetCatalogReply reply;
    Status status = co_await link->cluster.call(0, control::GET_CATALOG, request, &reply);
    if (!status.ok()) co_return status;
    request.set_known_version(reply.version());
    if (reply.acknowledged() >= catalog_version) {
      // A commit of a compute server that died may not know of the index, and is still to be rolled forward.
      control::ListSlotsReply slots;
      status = co_await link->cluster.call(0, control::LIST_SLOTS, control::ListSlotsRequest(), &slots);
      if (!status.ok()) co_return status;
      bool repaired = true;
      for (const control::Slot& slot : slots.slots()) {
        if (slot.state() == control::SLOT_DEAD || slot.state() == control::SLOT_REPAIRING) repaired = false;
      }
      if (repaired) co_return Status();
      status = co_await link->repair.repair_dead_slots();
      if (link->cluster.failed()) co_return status;
    }
    if (stopping_) co_return Status(ErrorCode::admin_shutdown, "the compute server is shutting down");
    if (executor_.now_ns() > deadline_ns) {
      co_return Status(ErrorCode::transaction_timeout,
                       "other compute servers still run transactions that do not know of the index");
    }
    co_await executor_.sleep_for(kPoll_ns);
  }
}

// Any snapshot that is taken from now on will do, for each row another: what is not in it, or is replaced
// after it, is the work of commits that know of the index.
reactor::Task<Status> Worker::fill_index(std::shared_ptr<Link> link, TableRef table, std::uint32_t id) {
  protocol::ScanPosition position;
  const std::size_t end = table->arrays.size();
  std::uint32_t attempts = 0;
  while (position.server < end) {
    const protocol::ScanPosition before = position;
    Status status = co_await fill_part(link, table, id, &position);
    if (link->cluster.failed()) co_return connection_lost();
    if (link->catalog.find_id(table->id) == nullptr)
      co_return Status(ErrorCode::undefined_table, "the table was dropped meanwhile");
    attempts = position == before ? attempts + 1 : 0;
    if (status.ok()) continue;
    const bool again = status.info().retry || status.code() == ErrorCode::snapshot_too_old;
    if (!again || attempts >= kFillAttempts) co_return status;
    co_await executor_.sleep_for(kPoll_ns);
  }
  co_return Status();
}

reactor::Task<Status> Worker::fill_part(std::shared_ptr<Link> link, TableRef table, std::uint32_t id,
                                        protocol::ScanPosition* position) {
  WorkerSession session;
  // No copy of the vector from before: it may lack commits that did not know of the index.
  session.fresh_from_ns = executor_.fresh_now_ns();
  ConnectionTransaction transaction(link, session);
  protocol::WholeTableScan scan(transaction, table, *position);
  const std::uint64_t enough_ns = executor_.now_ns() + link->cluster.max_transaction_ns() / kFillShare;
  fabric::OperationCounters counters;
  std::vector<protocol::IndexRivals> rivals;
  std::vector<layout::Row> rows;
  while (true) {
    Status status = co_await scan.next(rows);
    if (!status.ok()) co_return status;
    if (rows.empty()) break;
    const IndexRef index = find_index(table, id);
    if (index == nullptr) co_return Status(ErrorCode::undefined_object, "the index was dropped meanwhile");
    if (index->hash) {
      status = co_await enter_rows(link, table, index, &rows);
      if (!status.ok()) co_return status;
      if (executor_.now_ns() >= enough_ns) scan.wind_up();
      continue;
    }
    status = co_await protocol::load_entries(&link->state, index, &rows, &rivals, &counters);
    if (!status.ok()) co_return status;
    while (!rivals.empty()) {
      WorkerSession other_session;
      ConnectionTransaction fresh(link, other_session);
      status = co_await protocol::settle_rivals(&fresh, table, index, &rivals);
      if (status.ok()) status = transaction.check_going_on();
      if (!status.ok()) co_return status;
      if (!rivals.empty()) co_await executor_.sleep_for(kPoll_ns);
    }
    if (executor_.now_ns() >= enough_ns) scan.wind_up();
  }
  *position = scan.position();
  co_return Status();
}

reactor::Task<Status> Worker::discard_index(std::shared_ptr<Link> link, std::uint32_t index) {
  control::DiscardIndexRequest discard;
  discard.set_index(index);
  for (std::size_t server = 0; server < link->cluster.server_count(); ++server) {
    const Status status = co_await link->cluster.call(static_cast<layout::ServerId>(server),
                                                      control::DISCARD_INDEX, discard, nullptr);
    // Not every server has a part.
    if (!status.ok() && status.code() != ErrorCode::undefined_object) co_return status;
  }
  co_return Status();
}

reactor::Task<Status> Worker::discard_unknown_indexes(std::shared_ptr<Link> link, layout::ServerId server,
                                                      std::vector<std::uint32_t> indexes) {
  std::erase_if(indexes, [&](std::uint32_t id) {
    for (const TableRef& table : link->catalog.all()) {
      if (find_index(table, id) != nullptr) return true;
    }
    return false;
  });
  if (indexes.empty()) co_return Status();
  // One that is built was begun in the catalog before: what the catalog does not have from now on is gone.
  control::GetCatalogReply catalog;
  Status status =
      co_await link->cluster.call(0, control::GET_CATALOG, control::GetCatalogRequest(), &catalog);
  std::set<std::uint32_t> known(catalog.creating().begin(), catalog.creating().end());
  for (const control::IndexDescriptor& index : catalog.indexes()) known.insert(index.id());
  for (const std::uint32_t id : indexes) {
    if (!status.ok() || known.contains(id)) continue;
    control::DiscardIndexRequest discard;
    discard.set_index(id);
    status = co_await link->cluster.call(server, control::DISCARD_INDEX, discard, nullptr);
    if (!status.ok() && status.code() == ErrorCode::undefined_object)
      status = Status();  // others were faster
  }
  co_return status;
}

reactor::Task<Status> Worker::drop_index(std::string name) {
  const std::shared_ptr<Link> link = link_;
  if (link == nullptr) co_return not_connected();
  control::DropIndexRequest drop;
  drop.set_name(name);
  control::DropIndexReply dropped;
  Status status = co_await link->cluster.call(0, control::DROP_INDEX, drop, &dropped);
  if (status.ok()) status = co_await discard_index(link, dropped.index());
  link->space.forget(dropped.index());
  if (status.ok()) status = co_await link->catalog.refresh();
  co_return status;
}

}  // namespace namdb::compute
