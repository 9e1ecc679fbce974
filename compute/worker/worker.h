// A compute worker: one thread's engine over one connection to the cluster. It connects to all memory
// servers, leases its execution slot, keeps its lease alive by heartbeats, and gives out transactions. It has
// no state of its own: when a channel fails, the worker drops everything that it knew, running transactions
// end with an error, and the worker connects anew as a new compute server (a new id), again and again until
// it succeeds. The log says why it does not succeed, whenever the reason changes, and, once it does, which
// memory servers had restarted empty. When only some of several memory servers were restarted it does not
// succeed: their data belongs together.
//
// Where the loss of a memory server is borne (compute/cluster/cluster.h), the worker drops nothing. It makes
// another connection, which lacks that server, for all transactions that begin from then on. Those that run
// already go on over the earlier one (earlier_connections.h), as long as they do not need what was lost. When
// the server takes workers again the same happens once more, with a connection that has it.
//
// A region that is lost may be elsewhere: before each attempt the worker asks where regions are
// (region_finder.h). The pause between two attempts is a sixteenth of the time that it has looked already,
// within the options' bounds: so whatever the time until a memory server serves again, the pauses add little.
//
// Composition only: connection.h has the pieces, heartbeat.h and silence_watch.h what goes on in the
// background, and compute/schema the changes of tables and indexes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/fabric/fabric.h"
#include "common/fabric/patient_client.h"
#include "common/reactor/executor.h"
#include "compute/api/engine.h"
#include "compute/cluster/cluster.h"
#include "compute/cluster/location_cache.h"
#include "compute/cluster/server_epochs.h"
#include "compute/schema/index_balance.h"
#include "compute/txn/backoff.h"
#include "compute/worker/connection_report.h"
#include "compute/worker/earlier_connections.h"
#include "compute/worker/region_finder.h"
#include "compute/worker/worker_options.h"

namespace namdb::txn {
class OutcomeFinder;
}

namespace namdb::compute {

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
  bool flushed() const override { return flushed_; }
  std::unique_ptr<txn::Session> open_session() override;
  std::unique_ptr<txn::Transaction> begin(txn::Session& session) override;
  reactor::Task<Result<storage::TableRef>> table(std::string name) override;
  storage::TableRef cached_table(std::string_view name) override;
  std::uint64_t catalog_version() const override;
  reactor::Task<Result<std::vector<storage::TableRef>>> tables() override;
  std::vector<storage::TableRef> cached_tables() const override;
  bool has_foreign_keys() const override;
  reactor::Task<Status> settle_catalog() override;
  reactor::Task<Status> create_table(txn::TableDefinition definition) override;
  reactor::Task<Status> drop_table(std::string name) override;
  reactor::Task<Status> create_index(txn::IndexDefinition definition) override;
  reactor::Task<Status> rebuild_index(std::string name) override;
  reactor::Task<Status> drop_index(std::string name, bool constraint) override;
  reactor::Task<Status> alter_table(txn::TableAlteration alteration) override;
  reactor::Task<Status> replace_table(txn::TableReplacement replacement) override;
  reactor::Task<Result<storage::RoutineRef>> routine(std::string name) override;
  storage::RoutineRef cached_routine(std::string_view name) override;
  reactor::Task<Result<std::vector<storage::RoutineRef>>> routines() override;
  reactor::Task<Status> create_routine(txn::RoutineDefinition definition) override;
  reactor::Task<Status> drop_routine(std::string name, std::uint64_t version) override;
  storage::RolesRef cached_roles() const override;
  reactor::Task<Result<storage::RolesRef>> roles() override;
  reactor::Task<Status> change_roles(txn::RoleChange change) override;
  reactor::Task<void> backoff(std::uint32_t attempt) override;
  const txn::RetryOptions& retry_options() const override { return options_.retry; }
  reactor::Task<Result<std::uint32_t>> commit_slot() override;
  reactor::Task<Result<bool>> slot_ended(std::uint32_t slot) override;
  reactor::Task<Result<std::shared_ptr<const txn::SlotLease>>> lease_slot() override;
  txn::Placement placement() const override;
  std::vector<fabric::ConnectionFacts> fabric_facts() override;

  // How many transactions ended because something in a region was damaged.
  std::uint64_t damaged_reads() const;

 private:
  // A new connection, to where memory servers' regions are now.
  reactor::Task<Result<std::shared_ptr<Connection>>> connect();
  reactor::Task<Result<std::shared_ptr<Connection>>> connect_once();
  // Whether hosts are worth asking after that attempt.
  bool may_have_moved(const Result<std::shared_ptr<Connection>>& attempt) const;
  void use(std::shared_ptr<Connection> connection);
  // `cleanly`: memory servers are told.
  reactor::Task<void> drop_connection(bool cleanly);
  // Where the connection lacks a memory server, or its end is awaited: looks for another, in the background,
  // until there is one.
  void seek_successor();
  bool seeks_successor() const;
  reactor::Task<void> succeed();
  reactor::Task<bool> succeed_once(std::shared_ptr<Connection> earlier);
  reactor::Task<bool> take_over(std::shared_ptr<Connection> earlier, std::shared_ptr<Connection> next);
  // For changes of tables and indexes, which concern all memory servers.
  Result<std::shared_ptr<Connection>> whole_connection() const;
  // Sessions know of a change that was made over that connection, also if another has taken its place.
  reactor::Task<Status> show_change(std::shared_ptr<Connection> changed);
  // Sends heartbeats, and connects anew when the connection is lost, until stop().
  reactor::Task<void> supervise();
  // The heartbeat, and what else is due at each. An error means a lost connection.
  reactor::Task<Status> maintain(std::shared_ptr<Connection> connection);
  reactor::Task<void> reconnect();
  // Of regions that have some.
  void learn_copies(const std::shared_ptr<Connection>& connection);
  reactor::Task<void> look_beside();
  // Something is lost, or elsewhere: no pause is worth it.
  void hurry();
  // The next heartbeat is sent at once, also where one is under way.
  void hasten();
  void moved();
  // Between two attempts.
  std::uint64_t attempt_pause_ns(std::uint64_t began_ns) const;
  // Gives up connections to memory servers that do not answer, until supervise() ends.
  reactor::Task<void> watch();
  Status not_connected() const;
  void log_restarts(const txn::Cluster& cluster);
  ConnectionReport::Now now() const;

  reactor::Executor& executor_;
  storage::LocationCache& locations_;
  WorkerOptions options_;
  MakeComputeId make_compute_id_;
  LogLine log_;
  fabric::PatientClient patient_;
  RegionFinder finder_;
  txn::Backoff backoff_;
  std::unique_ptr<txn::OutcomeFinder> outcomes_;
  std::shared_ptr<Connection> connection_;
  mutable storage::RolesRef last_roles_ = std::make_shared<const storage::Roles>();
  std::shared_ptr<Heartbeat> heartbeat_;         // of that connection
  std::shared_ptr<SilenceWatch> silence_watch_;  // likewise
  EarlierConnections earlier_;
  bool succeeding_ = false;
  bool awaited_ = false;        // memory servers open the database again, and wait for the end of connection_
  std::string reason_;          // why there is no connection
  bool opens_ = false;          // then: memory servers open the database
  std::uint64_t attempts_ = 0;  // since the last connection
  txn::ServerEpochs epochs_;
  std::uint64_t connections_ = 0;
  bool serializable_ = false;  // by the protocol of the last connection
  bool flushed_ = false;       // by its level
  std::uint64_t damaged_reads_ = 0;
  bool stopping_ = false;
  bool supervised_ = false;  // supervise() runs
  reactor::Event wake_;      // of all tasks: the worker stops
  reactor::Event hurry_;     // supervise() has something to do
  bool hastened_ = false;    // ... since it waited last
  reactor::Event seek_;      // likewise succeed()
  reactor::Gate gate_;
  reactor::Gate answers_;  // of memory servers, which are awaited; they end with the connections
  schema::IndexBalance index_balance_;
  ConnectionReport report_;
};

}  // namespace namdb::compute
