// Creating, rebuilding and dropping secondary indexes, while others use their tables.
//
//   begin     name and id are reserved
//   prepare   its (empty) parts, on their memory servers: keys of some rows say where one ends
//   building  the index is in the catalog: from now on new transactions keep its entries. Wait until all
//             others have ended, and what dead compute servers left is repaired
//   fill      with what snapshots show that are taken then
//   ready     for transactions whose snapshots show that version of the catalog
//
// One that is rebuilt goes the same way beside the one that it replaces, which transactions keep as well
// until the new one is ready, in one step of the catalog with taking the other's place. From then on nobody
// keeps the old one, and older snapshots are shown what it has. The catalog drops it once no transaction has
// any, and its parts are then found like others that the catalog does not have.
//
// A builder that dies leaves nothing: the catalog and the memory servers that held parts for it drop them,
// and what is built by then is discarded by whoever sees that the catalog does not have it.
#include <set>

#include "common/layout/index_page.h"
#include "compute/index/index_fill.h"
#include "compute/index/index_sample.h"
#include "compute/schema/index_split.h"
#include "compute/txn/bucket_scan.h"
#include "compute/worker/worker_link.h"
#include "proto/control.pb.h"

namespace namdb::compute {

using storage::IndexRef;
using storage::TableRef;

namespace {

constexpr std::uint64_t kPoll_ns = 2 * kMillisecond_ns;
// A table is read in as many snapshots as it needs, each for this part of the time that a transaction has.
constexpr std::uint64_t kFillShare = 4;
// So often a part may fail for passing reasons before the build does.
constexpr std::uint32_t kFillAttempts = 32;
// Rows whose keys say where parts end: the largest of a few parts is then some percent too large.
constexpr std::size_t kSampledRows = 4096;
constexpr std::uint32_t kSampleAttempts = 8;

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
  control::IndexDescriptor wanted;
  wanted.set_name(definition.name);
  wanted.set_table((*found)->id);
  wanted.set_unique(definition.unique);
  for (const layout::IndexColumn& column : definition.columns) {
    control::IndexColumn& added = *wanted.add_columns();
    added.set_column(column.column);
    added.set_descending(column.descending);
  }
  co_return co_await begin_index(link, *found, &wanted);
}

reactor::Task<Status> Worker::rebuild_index(std::string name) {
  const std::shared_ptr<Link> link = link_;
  if (link == nullptr) co_return not_connected();
  Status status = co_await link->catalog.refresh();
  if (!status.ok()) co_return status;
  const TableRef table = link->catalog.table_of_index(name);
  if (table == nullptr)
    co_return Status(ErrorCode::undefined_object, "index \"" + name + "\" does not exist");
  control::IndexDescriptor wanted;
  for (const IndexRef& index : table->indexes) {
    if (index->name != name || index->replaced()) continue;
    if (index->hash) co_return Status(ErrorCode::feature_not_supported, "a hash index cannot be rebuilt");
    // One that is being built in its place has its name, and a higher id.
    if (wanted.replaces() == 0) wanted.set_replaces(index->id);
  }
  co_return co_await begin_index(link, table, &wanted);
}

reactor::Task<Status> Worker::begin_index(std::shared_ptr<Link> link, TableRef table,
                                          const control::IndexDescriptor* wanted) {
  control::BeginCreateIndexRequest begin;
  *begin.mutable_index() = *wanted;
  control::BeginCreateIndexReply begun;
  Status status = co_await link->cluster.call(0, control::BEGIN_CREATE_INDEX, begin, &begun);
  if (!status.ok()) co_return status;
  control::IndexDescriptor* index = begun.mutable_index();
  status = co_await build_index(link, table, index);
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

reactor::Task<Result<std::vector<std::string>>> Worker::choose_splits(std::shared_ptr<Link> link,
                                                                      TableRef table,
                                                                      const control::IndexDescriptor* index) {
  std::vector<std::string> keys;
  const std::size_t servers = link->cluster.server_count();
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
    Status status;
    for (std::uint32_t attempt = 1; attempt <= kSampleAttempts; ++attempt) {
      WorkerSession session;
      ConnectionTransaction transaction(link, session);
      sample.enough_ns = executor_.now_ns() + link->cluster.max_transaction_ns() / kFillShare;
      const std::size_t before = keys.size();
      status = co_await protocol::sample_index_keys(&transaction, table, sample, &keys);
      // A few rows will do, and none at all: that is no reason not to build the index.
      if (link->cluster.failed() || status.ok() || !status.info().retry || keys.size() != before) break;
      co_await backoff(attempt);
    }
    if (link->cluster.failed()) co_return connection_lost();
  }
  if (keys.size() < options_.split_index_rows) keys.clear();
  co_return storage::choose_splits(std::move(keys), servers);
}

reactor::Task<Status> Worker::prepare_index(std::shared_ptr<Link> link, control::IndexDescriptor* index,
                                            std::vector<std::string> splits) {
  // The first parts of small indexes are not all on the same server.
  const auto servers = static_cast<std::uint32_t>(link->cluster.server_count());
  for (std::uint32_t i = 0; i <= splits.size(); ++i) {
    control::IndexPart& part = *index->add_parts();
    part.set_server((index->id() + i) % servers);
    if (i > 0) part.set_low(splits[i - 1]);
  }
  for (std::size_t i = 0; i <= splits.size(); ++i) {
    const control::IndexPart& part = index->parts(static_cast<int>(i));
    control::PrepareIndexRequest prepare;
    *prepare.mutable_index() = *index;
    prepare.set_low(part.low());
    if (i < splits.size()) prepare.set_high(splits[i]);
    Status status = co_await link->cluster.call(static_cast<layout::ServerId>(part.server()),
                                                control::PREPARE_INDEX, prepare, nullptr);
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

reactor::Task<Status> Worker::build_index(std::shared_ptr<Link> link, TableRef table,
                                          control::IndexDescriptor* index) {
  auto splits = co_await choose_splits(link, table, index);
  if (!splits.ok()) co_return splits.status();
  Status status = co_await prepare_index(link, index, std::move(*splits));
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
  protocol::BucketScan scan(transaction, table, *position);
  const std::uint64_t enough_ns = executor_.now_ns() + link->cluster.max_transaction_ns() / kFillShare;
  fabric::OperationCounters counters;
  std::vector<protocol::IndexRivals> rivals;
  std::vector<layout::Row> rows;
  while (true) {
    Status status = co_await scan.next(rows);
    if (!status.ok()) co_return status;
    if (rows.empty()) break;
    if (stopping_) co_return Status(ErrorCode::admin_shutdown, "the compute server is shutting down");
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
      // One that was replaced goes out of the catalog at a time that nobody is told.
      if (const IndexRef index = find_index(table, id); index != nullptr && !index->replaced()) return true;
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
