// A compute worker: one thread's engine over one connection to the cluster. Connects to all memory servers,
// leases its execution slot, repairs what dead compute servers left behind, keeps its lease alive by
// heartbeats, and gives out transactions. Stateless: when a channel fails, everything that it knew is
// dropped, running transactions end with an error, and it connects anew as a new compute server (a new id),
// again and again until it succeeds. The log says why it does not succeed, whenever the reason changes, and
// which memory servers had restarted empty, once it does. When only some of several memory servers were
// restarted it does not succeed: their data belongs together.
//
// Composition only: the pieces are in compute/cluster, compute/txn, compute/protocol and compute/recovery.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/fabric/fabric.h"
#include "common/reactor/executor.h"
#include "compute/api/engine.h"
#include "compute/cluster/cluster.h"
#include "compute/cluster/location_cache.h"
#include "compute/txn/backoff.h"
#include "compute/worker/worker_options.h"
#include "proto/control_types.h"

namespace namdb::control {
class FinishCreateTableRequest;
class IndexDescriptor;
}  // namespace namdb::control

namespace namdb::protocol {
struct ScanPosition;
}

namespace namdb::compute {

struct Connection;

// Draws a compute id; the composition root gives one that is unique across machines.
using MakeComputeId = std::function<txn::ComputeId()>;

class Worker : public txn::Engine {
 public:
  // `locations` may be shared by several workers. All outlive the worker.
  Worker(reactor::Executor& executor, fabric::ClientFabric& fabric, storage::LocationCache& locations,
         WorkerOptions options, MakeComputeId make_compute_id, LogLine log);
  ~Worker() override;

  // Connects once; the error says why not. Then keeps itself connected in the background until stop().
  reactor::Task<Status> start();
  // Waits for running transactions, gives the slot back, disconnects. Before destruction.
  reactor::Task<void> stop();
  bool ready() const { return connection_ != nullptr; }

  reactor::Executor& executor() override { return executor_; }
  bool serializable() const override { return serializable_; }
  std::unique_ptr<txn::Session> open_session() override;
  std::unique_ptr<txn::Transaction> begin(txn::Session& session) override;
  reactor::Task<Result<storage::TableRef>> table(std::string name) override;
  storage::TableRef cached_table(std::string_view name) override;
  std::uint64_t catalog_version() const override;
  reactor::Task<Result<std::vector<storage::TableRef>>> tables() override;
  reactor::Task<Status> create_table(std::string name, layout::Schema schema,
                                     txn::TableOptions options) override;
  reactor::Task<Status> drop_table(std::string name) override;
  reactor::Task<Status> create_index(txn::IndexDefinition definition) override;
  reactor::Task<Status> rebuild_index(std::string name) override;
  reactor::Task<Status> drop_index(std::string name) override;
  reactor::Task<void> backoff(std::uint32_t attempt) override;
  const txn::RetryOptions& retry_options() const override { return options_.retry; }
  txn::Placement placement() const override;
  std::vector<fabric::ConnectionFacts> fabric_facts() override;

  // For tests and tools: how often repair had work to do.
  std::uint64_t slots_repaired() const;
  // How many transactions ended because something in a region was damaged.
  std::uint64_t damaged_reads() const;

 private:
  reactor::Task<Result<std::shared_ptr<Connection>>> connect();
  reactor::Task<void> supervise();
  // Gives up connections to memory servers that do not answer, until supervise() ends.
  reactor::Task<void> watch();
  reactor::Task<void> ping(std::shared_ptr<Connection> connection, layout::ServerId server);
  reactor::Task<void> disconnect(std::shared_ptr<Connection> connection, bool orderly);
  reactor::Task<Status> heartbeat(std::shared_ptr<Connection> connection, std::size_t server);
  // Looks at index entries that the memory server has doubts about.
  reactor::Task<void> settle_doubts(std::shared_ptr<Connection> connection, layout::ServerId server);
  // A table that is begun, and its indexes, on all memory servers: `finish` says what is to be finished.
  reactor::Task<Status> prepare_table(std::shared_ptr<Connection> connection,
                                      control::FinishCreateTableRequest* finish);
  // Prepares and finishes it, or undoes all of it. The catalog's version that has it.
  reactor::Task<Result<std::uint64_t>> finish_table(std::shared_ptr<Connection> connection,
                                                    control::FinishCreateTableRequest finish);
  // Hash indexes, worker_hash_indexes.cc.
  reactor::Task<Status> create_hash_index(std::shared_ptr<Connection> connection, storage::TableRef table,
                                          txn::IndexDefinition definition);
  // Enters these rows in an index that is being built, in transactions of their own.
  reactor::Task<Status> enter_rows(std::shared_ptr<Connection> connection, storage::TableRef table,
                                   storage::IndexRef index, const std::vector<layout::Row>* rows);
  // The steps of create_index() and rebuild_index(), worker_indexes.cc. `index` is the catalog's description:
  // begins it, builds it, and leaves nothing of it after an error.
  reactor::Task<Status> begin_index(std::shared_ptr<Connection> connection, storage::TableRef table,
                                    const control::IndexDescriptor* wanted);
  reactor::Task<Status> build_index(std::shared_ptr<Connection> connection, storage::TableRef table,
                                    control::IndexDescriptor* index);
  // Where the keys of the table's index are to be split into parts.
  reactor::Task<Result<std::vector<std::string>>> choose_splits(std::shared_ptr<Connection> connection,
                                                                storage::TableRef table,
                                                                const control::IndexDescriptor* index);
  // Its parts, empty, on their memory servers; `index` then says where.
  reactor::Task<Status> prepare_index(std::shared_ptr<Connection> connection, control::IndexDescriptor* index,
                                      std::vector<std::string> splits);
  reactor::Task<Status> wait_for_writers(std::shared_ptr<Connection> connection,
                                         std::uint64_t catalog_version);
  reactor::Task<Status> fill_index(std::shared_ptr<Connection> connection, storage::TableRef table,
                                   std::uint32_t index);
  // A part of it in one snapshot, from the position, which is then moved.
  reactor::Task<Status> fill_part(std::shared_ptr<Connection> connection, storage::TableRef table,
                                  std::uint32_t index, protocol::ScanPosition* position);
  // Rebuilds an index whose parts are uneven, if there is one, in the background; worker_balance.cc.
  void balance_when_due(const std::shared_ptr<Connection>& connection);
  reactor::Task<void> balance_indexes(std::shared_ptr<Connection> connection);
  reactor::Task<Status> balance_one(std::shared_ptr<Connection> connection);
  // After an error: nothing of it stays.
  reactor::Task<void> abandon_index(std::shared_ptr<Connection> connection, std::uint32_t index);
  reactor::Task<Status> discard_index(std::shared_ptr<Connection> connection, std::uint32_t index);
  // Those of the server's indexes that are not in the catalog: their creator, or who dropped them, died.
  reactor::Task<Status> discard_unknown_indexes(std::shared_ptr<Connection> connection,
                                                layout::ServerId server, std::vector<std::uint32_t> indexes);
  // Takes a snapshot for the heartbeats, if the last is old enough.
  reactor::Task<void> copy_vector(std::shared_ptr<Connection> connection);
  // The same of a partitioned vector: a confirmed copy and the slots that it lacks.
  reactor::Task<void> copy_parts(std::shared_ptr<Connection> connection);
  Status not_connected() const;
  void log_restarts(const txn::Cluster& cluster);
  std::vector<fabric::ConnectionFacts> own_facts();
  // For the other workers, if they were not told a moment ago.
  void post_facts();

  reactor::Executor& executor_;
  fabric::ClientFabric& fabric_;
  storage::LocationCache& locations_;
  WorkerOptions options_;
  MakeComputeId make_compute_id_;
  LogLine log_;
  txn::Backoff backoff_;
  std::shared_ptr<Connection> connection_;
  std::string reason_;                 // why there is no connection
  std::vector<std::uint64_t> epochs_;  // of the memory servers, at the last connection
  std::uint64_t connections_ = 0;
  bool serializable_ = false;  // by the protocol of the last connection
  std::uint64_t slots_repaired_ = 0;
  std::uint64_t damaged_reads_ = 0;
  std::uint64_t facts_due_ns_ = 0;
  std::uint64_t balance_due_ns_ = 0;  // ~0: it runs
  // Of indexes that could not be rebuilt: what they had. Not again before it has doubled.
  std::map<std::uint32_t, std::uint64_t> unbalanced_bytes_;
  bool stopping_ = false;
  bool supervised_ = false;  // supervise() runs
  reactor::Event wake_;
  reactor::Gate gate_;
};

}  // namespace namdb::compute
