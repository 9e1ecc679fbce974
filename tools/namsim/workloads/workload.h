// The clients of a simulated run, and the invariants that must hold in every run. The workloads are beside
// this file; each draws from the world's generator and from nothing else.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/fabric/sim/world.h"
#include "common/reactor/executor.h"
#include "compute/api/engine.h"
#include "tools/namsim/cluster/simulated_stream.h"
#include "tools/namsim/history/history.h"

namespace namdb::sim {

struct WorkloadOptions {
  std::uint64_t keys = 6;
  // Of these: not loaded; their first write inserts them. An absent row counts as one as loaded. Registers
  // only.
  std::uint64_t absent_keys = 0;
  std::uint64_t fewest_keys = 1;
  std::uint64_t keys_per_transaction = 3;  // at most
  std::uint64_t most_writes = ~std::uint64_t{0};
  double write_probability = 0.5;        // for each key that was read
  double long_reader_probability = 0.1;  // reads all keys, one fetch each, with pauses
  std::uint64_t pause_ns = 20'000;       // of long readers, at most
  bool full_region = false;              // transactions may fail because a memory server is full
  // Transactions may grow as old as E; connections may be lost under clients that live.
  bool may_grow_old = false;
  bool may_lose_connections = false;
  // A transaction may miss what others had committed when it began.
  bool may_read_old_rows = false;
  StreamOptions streams;  // between clients and the SQL port; "wire" only
};

// One client: a session at one compute server. Dies with it.
class WorkloadClient {
 public:
  virtual ~WorkloadClient() = default;
  // One transaction, recorded whatever comes of it; its outcome. If the compute server dies on the way, it
  // stays in the history with an unknown outcome. `session_id` is the client's name in the history.
  virtual reactor::Task<history::Outcome> run_one(std::uint64_t session_id) = 0;
};

class Workload {
 public:
  // All outlive the workload.
  Workload(fabric::sim::SimWorld& world, history::History& history, WorkloadOptions options)
      : world_(world), history_(history), options_(options) {}
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;
  virtual ~Workload() = default;

  // Creates and fills the tables; again after an error or after all data is gone.
  virtual reactor::Task<Status> load(txn::Engine& engine) = 0;
  // The engine and the workload outlive it.
  virtual std::unique_ptr<WorkloadClient> open_client(txn::Engine& engine) = 0;
  // Begins a transaction, reads a row, and stops there for so long, in virtual time.
  virtual reactor::Task<void> abandon_one(txn::Engine& engine, std::uint64_t duration_ns) = 0;
  // leave: the compute server is about to stop cleanly, its clients are gone. died: it never runs again.
  virtual reactor::Task<void> leave(txn::Engine&) { co_return; }
  virtual void died(txn::Engine&) {}
  // At the end: touch() until it succeeds. The last error if something stays out of reach.
  reactor::Task<Status> touch_all(txn::Engine& engine);

  // The memory servers are gone with all data. Until the tables are loaded again no transaction begins, and
  // missing data is not reported. Later records are independent of earlier ones.
  virtual void data_is_gone();
  virtual void data_is_back() { gone_ = false; }
  bool gone() const { return gone_; }
  // In each life of the data, the first transaction of the history.
  const std::vector<std::size_t>& lives() const { return lives_; }
  // The first violation that a transaction met. A violation is a missing version that the snapshot needs, in
  // a transaction younger than E; an error that is neither a conflict nor a lost connection; or a broken
  // invariant of the workload.
  const std::string& complaint() const { return complaint_; }

 protected:
  // Reads all that there is in one transaction, checks it, and updates what can be updated: nothing may be
  // locked for ever. No other client runs.
  virtual reactor::Task<Status> touch(txn::Engine& engine, std::uint64_t session_id) = 0;

  // A transaction's place in the history, and what became of it.
  std::size_t begin_record(std::uint64_t session_id);
  history::Outcome end_record(std::size_t record, const Status& status);
  // A client's observations can be compared with the others' changes if this is true for the number of lives
  // when it began: then all that time was within one life.
  bool still(std::size_t life) const { return !gone_ && life == lives_.size(); }
  // A transaction that began at `begin_ns` may miss commits from the returned time on, and none before it.
  std::uint64_t may_miss_from_ns(std::uint64_t begin_ns) const {
    return options_.may_read_old_rows ? 0 : begin_ns;
  }
  // Complains about an error that no fault explains.
  void judge(const Status& status);
  // The first complaint counts.
  void complain(std::string complaint);

  fabric::sim::SimWorld& world() { return world_; }
  Random& random() { return world_.random(); }
  const WorkloadOptions& options() const { return options_; }
  history::History& recorded() { return history_; }

 private:
  fabric::sim::SimWorld& world_;
  history::History& history_;
  WorkloadOptions options_;
  std::string complaint_;
  std::vector<std::size_t> lives_{0};
  bool gone_ = false;
};

// Whether the error says that the connection to a memory server was lost on the way.
bool lost_connection(const Status& status);
// The transaction lasted longer than E.
bool grew_old(const Status& status);
// A region or a vector without room until something is retired.
bool is_full(const Status& status);

}  // namespace namdb::sim
