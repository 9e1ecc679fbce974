// One worker of nam-computed: a reactor, the engine on it, and the SQL sessions that it serves, on a thread
// of their own (the first worker's is the main thread). Workers share only what they are given here, which
// any thread may use: the location cache, the procedures, and the process state.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "common/fabric/tcp/client.h"
#include "common/fabric/verbs/options.h"
#include "common/placement/configuration_store.h"
#include "common/reactor/reactor.h"
#include "common/reactor/turn_times.h"
#include "compute/cluster/location_cache.h"
#include "compute/pgwire/server.h"
#include "compute/procedure/registry.h"
#include "compute/process/flags.h"
#include "compute/sql/session/planning_queue.h"
#include "compute/worker/compute_identity.h"
#include "compute/worker/fabric_board.h"
#include "compute/worker/worker.h"

namespace namdb::compute {

struct SharedState {
  const Flags& flags;
  const procedure::ProcedureRegistry& procedures;
  pgwire::ProcessState& process;
  storage::LocationCache& locations;
  fabric::tcp::TcpOptions tcp;
  fabric::verbs::VerbsOptions verbs;
  FabricBoard* board = nullptr;
  // The mailbox of the planning thread's reactor, which runs as long as there are workers.
  reactor::Mailbox& planning;
  ComputeIdentity& identity;
  // Ends the process as a signal does. Any worker's thread.
  std::function<void()> drain;
  // Receives why a worker waits for memory servers, when that changes. Any worker's thread; may be empty.
  std::function<void(const std::string&)> waiting;
};

class WorkerThread {
 public:
  // On the worker's thread, like everything but adopt() and stop_soon().
  static Result<std::unique_ptr<WorkerThread>> create(SharedState& shared, std::uint32_t index);
  ~WorkerThread();

  // Connects, waiting for memory servers that are not there yet as long as the flags say, or until the
  // process is told to end (SIGTERM, SIGINT): then admin_shutdown. Those signals are blocked, and stay
  // pending.
  Status connect();
  // Serves until stop_soon(), then ends its sessions and gives its slot back. `also` runs beside it.
  void run(std::function<reactor::Task<void>()> also);

  // Any thread: takes over an accepted connection.
  void adopt(int descriptor);
  // Any thread: sessions end with their transactions.
  void drain_soon();
  // Any thread.
  void stop_soon();

  reactor::Reactor& reactor() { return *reactor_; }
  pgwire::Server& server() { return *server_; }

 private:
  explicit WorkerThread(SharedState& shared);
  reactor::Task<Status> connect_in_time();
  reactor::Task<void> close_store();
  reactor::Task<void> serve(std::function<reactor::Task<void>()> also);

  SharedState& shared_;
  std::unique_ptr<reactor::Reactor> reactor_;
  std::unique_ptr<reactor::TurnClock> turn_clock_;
  std::unique_ptr<fabric::ClientFabric> fabric_;
  std::unique_ptr<placement::ConfigurationStore> store_;  // null: there is none
  bool store_closed_ = false;
  std::unique_ptr<Worker> worker_;
  std::unique_ptr<sql::PlanningQueue> planning_;
  std::unique_ptr<pgwire::Server> server_;
  std::unique_ptr<reactor::Event> stop_;
  bool stopping_ = false;
};

}  // namespace namdb::compute
