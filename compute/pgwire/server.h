// A worker's side of the SQL port: accepts connections and runs each in a coroutine of its own, on the
// engine's executor. Several servers (one a worker) share one ProcessState.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <vector>

#include "common/reactor/executor.h"
#include "common/reactor/stream.h"
#include "compute/api/engine.h"
#include "compute/locks/named_locks.h"
#include "compute/outcome/transaction_ids.h"
#include "compute/pgwire/connection.h"
#include "compute/pgwire/process_state.h"
#include "compute/procedure/registry.h"
#include "compute/sequences/sequences.h"
#include "compute/sql/session/session.h"

namespace namdb::pgwire {

class Server {
 public:
  // Has a function called on the server's thread. Any thread.
  using Post = std::function<void(std::function<void()>)>;
  // `wall_clock_us` is the clock of now(). Without `post` all servers of the process have one thread, and
  // without `planning` long statements keep other sessions from their turns. Everything outlives the server.
  Server(txn::Engine& engine, const procedure::ProcedureRegistry& procedures, ProcessState& process,
         sql::WallClock wall_clock_us, Post post = {}, sql::PlanningQueue* planning = nullptr);
  ~Server();

  // Accepts connections until the listener is closed, by stop() or by others. May run for several listeners
  // at once.
  reactor::Task<void> serve(reactor::StreamListener& listener);
  // Takes over a connection that was accepted elsewhere.
  void adopt(std::unique_ptr<reactor::ByteStream> stream);
  // Closes the listeners and ends the connections with error 57P01: idle ones at once, others when the
  // messages that the client has sent up to its Sync are answered, or after the grace period. Returns when no
  // connection is left. Awaited once, before destruction.
  reactor::Task<void> stop();

  // Each connection ends with error 57P01 once it is in no transaction, those that come later, too.
  void drain();

  std::size_t connections() const { return connections_.size(); }

 private:
  using Connections = std::list<std::unique_ptr<Connection>>;

  // Closes the oldest of the connections that have not started when they are too many.
  void drop_silent();
  // Ends the sessions that have been terminated.
  void end_terminated();
  reactor::Task<void> run_connection(Connections::iterator connection);
  // Until no connection is left, or the deadline.
  reactor::Task<void> wait_until_none(std::uint64_t deadline_ns);
  // Closes connections that do not start in time; runs while there are connections that have not started.
  reactor::Task<void> watch_startups();

  reactor::Executor& executor_;
  sql::WorkerStatistics statistics_;
  sql::PlanCache plans_;
  sql::RoutineCache routines_;
  txn::TransactionIds ids_;
  txn::Sequences sequences_;
  txn::NamedLocks locks_;
  sql::Environment environment_;
  ProcessState& process_;
  Post post_;
  Connections connections_;
  std::vector<reactor::StreamListener*> listeners_;
  fabric::RefusalLog refusals_;
  bool stopping_ = false;
  bool draining_ = false;
  bool watching_ = false;
  reactor::Event changed_;  // a connection has ended, or the server stops
  reactor::Gate gate_;
};

}  // namespace namdb::pgwire
