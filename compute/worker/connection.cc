#include "compute/worker/connection.h"

#include <utility>

#include "compute/recovery/disconnected_peers.h"

namespace namdb::compute {

using storage::IndexRef;
using storage::TableRef;

namespace {

// The connection's parts stay alive as long as the transaction is held.
class ConnectionTransaction : private std::shared_ptr<Connection>, public protocol::EngineTransaction {
 public:
  ConnectionTransaction(std::shared_ptr<Connection> connection, protocol::SessionState& session)
      : std::shared_ptr<Connection>(std::move(connection)),
        protocol::EngineTransaction((*this)->state, session, *(*this)->worker_protocol),
        began_ns_((*this)->state.executor.now_ns()) {}
  ~ConnectionTransaction() override {
    (*this)->parts.backoff.ended((*this)->state.executor.now_ns() - began_ns_);
  }

  txn::RowId get(const TableRef& table, std::span<const std::byte> key) override {
    if (knows_tables()) [[likely]]
      return Base::get(table, key);
    return Base::get(own(table), key);
  }
  txn::RowId read(const TableRef& table, std::span<const std::byte> key) override {
    if (knows_tables()) [[likely]]
      return Base::read(table, key);
    return Base::read(own(table), key);
  }
  txn::RowId insert(const TableRef& table, std::span<const std::byte> row) override {
    if (knows_tables()) [[likely]]
      return Base::insert(table, row);
    return Base::insert(own(table), row);
  }
  std::unique_ptr<txn::TableScan> scan(const TableRef& table) override { return Base::scan(own(table)); }
  std::unique_ptr<txn::TableScan> scan_index(const TableRef& table, const IndexRef& index,
                                             txn::IndexRange range) override {
    return Base::scan_index(own(table), own(table, index), std::move(range));
  }
  reactor::Task<Status> find(TableRef table, IndexRef index, txn::IndexRange range,
                             std::vector<txn::RowId>& rows) override {
    index = own(table, index);
    table = own(table);
    return Base::find(std::move(table), std::move(index), std::move(range), rows);
  }

 private:
  using Base = protocol::EngineTransaction;
  using Holder = std::shared_ptr<Connection>;
  using Holder::operator->;

  // Tables are as this connection's catalog has them.
  bool knows_tables() const { return !(*this)->is_one_of_several; }
  // As it has that one.
  TableRef own(const TableRef& table) const {
    if (knows_tables()) [[likely]]
      return table;
    TableRef known = (*this)->catalog.find_id(table->id);
    return known == nullptr ? table : known;
  }
  IndexRef own(const TableRef& table, const IndexRef& index) const {
    for (const IndexRef& known : own(table)->indexes) {
      if (known->id == index->id) return known;
    }
    return index;
  }

  std::uint64_t began_ns_;
};

}  // namespace

Connection::Connection(const WorkerParts& worker_parts, txn::ClusterOptions cluster_options)
    : parts(worker_parts),
      calls_ahead(parts.executor),
      cluster(parts.executor, parts.fabric, std::move(cluster_options)),
      leases(cluster),
      snapshots(cluster, parts.options.snapshot_mode),
      slots(cluster),
      catalog(cluster),
      space(cluster),
      hints(cluster),
      orphans(cluster),
      dead_locks(cluster),
      slot_keeper(cluster, parts.options.slot),
      fetcher(cluster, snapshots, registry,
              {.ahead = parts.options.snapshot_sharing == txn::SnapshotSharing::prefetched}),
      verdicts(cluster),
      index_pages(parts.options.index_cache_bytes),
      passive_installs(cluster, registry, slot_keeper, hints, verdicts, parts.locations),
      state{parts.executor,
            cluster,
            leases,
            snapshots,
            slots,
            parts.locations,
            catalog,
            space,
            hints,
            dead_locks,
            parts.outcomes,
            registry,
            slot_keeper,
            parts.options.snapshot_sharing,
            fetcher,
            verdicts,
            parts.options.commit_writes,
            parts.options.index_reads,
            parts.options.scan_reads,
            parts.options.read_locks,
            index_pages,
            passive_installs,
            calls_ahead,
            running,
            parts.options.epoch_ns,
            parts.backoff,
            parts.damaged_reads},
      tables(state),
      indexes(*this, tables, parts.options.split_index_rows),
      replacements(*this, tables, indexes),
      routines(state),
      role_changes(state) {}

reactor::Task<Status> Connection::connect() {
  Status status = co_await cluster.connect();
  if (!status.ok()) co_return status;
  leases.start();
  worker_protocol = protocol::make_protocol(cluster.protocol().name, state);
  NAMDB_CHECK(worker_protocol != nullptr);
  if (parts.options.read_locks == txn::ReadLocks::shared && !cluster.shared_read_locks()) {
    co_return Status(ErrorCode::configuration, "the database's readers cannot share locks",
                     "start all nam-memoryd with --read-locks shared, or this without it");
  }
  co_return co_await catalog.refresh();
}

reactor::Task<void> Connection::settle() {
  co_await passive_installs.close();
  if (worker_protocol != nullptr) co_await worker_protocol->settle();
}

reactor::Task<void> Connection::disconnect(bool cleanly) {
  if (!cleanly) slot_keeper.fail();
  co_await passive_installs.close();
  if (worker_protocol != nullptr) co_await worker_protocol->close();
  co_await leases.close();
  co_await calls_ahead.close();
  co_await fetcher.close();
  co_await hints.close();
  co_await verdicts.close();
  co_await dead_locks.close();
  co_await slot_keeper.close();
  co_await space.close();
  if (cleanly) co_await txn::leave(cluster, space);
}

std::unique_ptr<protocol::EngineTransaction> Connection::begin(protocol::SessionState& session) {
  session.follow_vector(cluster.vector_epochs());
  return std::make_unique<ConnectionTransaction>(shared_from_this(), session);
}

reactor::Task<void> Connection::back_off(std::uint32_t attempt) {
  return compute::back_off(parts.executor, parts.backoff, attempt);
}

reactor::Task<void> back_off(reactor::Executor& executor, txn::Backoff& backoff, std::uint32_t attempt) {
  backoff.met_conflict();
  const std::uint64_t pause_ns = backoff.pause_ns(attempt, executor.random());
  co_await executor.sleep_for(pause_ns);
}

}  // namespace namdb::compute
