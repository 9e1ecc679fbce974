// A compute worker: one thread's engine over one connection to the cluster. It connects to all memory
// servers, leases its execution slot, keeps its lease alive by heartbeats, and gives out transactions. It has
// no state of its own. When a channel fails, the worker drops everything that it knew, and running
// transactions end with an error. Then the worker connects anew as a new compute server (a new id), again and
// again until that succeeds. The log says why an attempt fails, whenever the reason changes, and after a
// success which memory servers had restarted empty. If only some of several memory servers were restarted, no
// attempt succeeds: their data belongs together.
//
// Where the loss of a memory server is borne (compute/cluster/cluster.h), the worker drops nothing. It makes
// another connection, which lacks that server, for all transactions that begin from then on. Those that run
// already go on over the earlier one (earlier_connections.h), as long as they do not need what was lost. When
// the server takes workers again the same happens once more, with a connection that has it.
//
// A region that is lost may be elsewhere: before each attempt the worker asks where regions are
// (region_finder.h). The pause between two attempts is a sixteenth of the time since the first attempt,
// within the options' bounds: so the pauses add little to the time until a memory server serves again.
//
// Composition only. current_connection.h has the connection, and connector.h makes it; supervisor.h keeps it,
// with successor_search.h; worker_catalog.h, worker_schema.h and worker_slots.h are what the engine does over
// it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/fabric/fabric.h"
#include "common/fabric/patient_client.h"
#include "common/reactor/executor.h"
#include "compute/api/engine.h"
#include "compute/cluster/location_cache.h"
#include "compute/txn/backoff.h"
#include "compute/worker/connection_report.h"
#include "compute/worker/connector.h"
#include "compute/worker/current_connection.h"
#include "compute/worker/earlier_connections.h"
#include "compute/worker/region_finder.h"
#include "compute/worker/successor_search.h"
#include "compute/worker/supervisor.h"
#include "compute/worker/upkeep.h"
#include "compute/worker/wake_ups.h"
#include "compute/worker/worker_catalog.h"
#include "compute/worker/worker_options.h"
#include "compute/worker/worker_parts.h"
#include "compute/worker/worker_schema.h"
#include "compute/worker/worker_slots.h"

namespace namdb::txn {
class OutcomeFinder;
}

namespace namdb::compute {

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
  bool ready() const { return !current_.none(); }

  reactor::Executor& executor() override { return executor_; }
  bool serializable() const override { return current_.serializable(); }
  bool flushed() const override { return current_.flushed(); }
  std::unique_ptr<txn::Session> open_session() override;
  std::unique_ptr<txn::Transaction> begin(txn::Session& session) override;
  reactor::Task<void> backoff(std::uint32_t attempt) override;
  const txn::RetryOptions& retry_options() const override { return options_.retry; }
  txn::Placement placement() const override;
  std::vector<fabric::ConnectionFacts> fabric_facts() override { return report_.all(current_.report()); }

  std::uint64_t catalog_version() const override { return catalog_.version(); }
  storage::TableRef cached_table(std::string_view name) override { return catalog_.cached_table(name); }
  std::vector<storage::TableRef> cached_tables() const override { return catalog_.cached_tables(); }
  bool has_foreign_keys() const override { return catalog_.has_foreign_keys(); }
  storage::RoutineRef cached_routine(std::string_view name) override { return catalog_.cached_routine(name); }
  storage::RolesRef cached_roles() const override { return current_.roles(); }
  reactor::Task<Result<storage::TableRef>> table(std::string name) override;
  reactor::Task<Result<std::vector<storage::TableRef>>> tables() override;
  reactor::Task<Result<storage::RoutineRef>> routine(std::string name) override;
  reactor::Task<Result<std::vector<storage::RoutineRef>>> routines() override;
  reactor::Task<Result<storage::RolesRef>> roles() override;

  reactor::Task<Status> settle_catalog() override;
  reactor::Task<Status> create_table(txn::TableDefinition definition) override;
  reactor::Task<Status> drop_table(std::string name) override;
  reactor::Task<Status> alter_table(txn::TableAlteration alteration) override;
  reactor::Task<Status> replace_table(txn::TableReplacement replacement) override;
  reactor::Task<Status> create_index(txn::IndexDefinition definition) override;
  reactor::Task<Status> rebuild_index(std::string name) override;
  reactor::Task<Status> drop_index(std::string name, bool constraint) override;
  reactor::Task<Status> create_routine(txn::RoutineDefinition definition) override;
  reactor::Task<Status> drop_routine(std::string name, std::uint64_t version) override;
  reactor::Task<Status> change_roles(txn::RoleChange change) override;

  reactor::Task<Result<std::uint32_t>> commit_slot() override;
  reactor::Task<Result<bool>> slot_ended(std::uint32_t slot) override;
  reactor::Task<Result<std::shared_ptr<const txn::SlotLease>>> lease_slot() override;

  // How many transactions ended because bytes in a region were damaged.
  std::uint64_t damaged_reads() const { return damaged_reads_; }

 private:
  reactor::Executor& executor_;
  WorkerOptions options_;
  MakeComputeId make_compute_id_;
  LogLine log_;
  reactor::Gate tasks_;
  reactor::Gate answers_;  // of memory servers, which are awaited; they end with the connections
  WakeUps wake_ups_;
  txn::Backoff backoff_;
  std::uint64_t damaged_reads_ = 0;
  fabric::PatientClient patient_;
  RegionFinder finder_;
  std::unique_ptr<txn::OutcomeFinder> outcomes_;
  CurrentConnection current_;
  EarlierConnections earlier_;
  const WorkerParts parts_;
  Connector connector_;
  ConnectionReport report_;
  const Upkeep upkeep_;
  SuccessorSearch successor_;
  Supervisor supervisor_;
  WorkerCatalog catalog_;
  WorkerSchema schema_;
  WorkerSlots slots_;
};

}  // namespace namdb::compute
