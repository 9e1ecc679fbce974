// The environment that all sessions of a worker share: the engine, and the services around it. Belongs to the
// worker's executor.
#pragma once

#include "compute/api/engine.h"
#include "compute/locks/session_locks.h"
#include "compute/outcome/transaction_ids.h"
#include "compute/procedure/registry.h"
#include "compute/sequences/sequences.h"
#include "compute/sql/expression/expression.h"
#include "compute/sql/expression/session_directory.h"
#include "compute/sql/plan/plan_cache.h"
#include "compute/sql/plan/routine_cache.h"
#include "compute/sql/session/planning_queue.h"
#include "compute/sql/system/statistics.h"

namespace namdb::sql {

// Everything that it refers to outlives the sessions.
struct Environment {
  txn::Engine& engine;
  const procedure::ProcedureRegistry& procedures;
  WorkerStatistics& statistics;
  // The wall clock, µs since 2000-01-01, for now(). It is read each time, since it may be set.
  WallClock wall_clock_us = {};
  MemoryBudget* client_memory = nullptr;  // of all workers; null: none
  PlanCache* plans = nullptr;             // null: plans are not shared
  SessionDirectory* sessions = nullptr;   // of the compute server; null: there is none
  PlanningQueue* planning = nullptr;      // null: long statements, too, are parsed and planned by the worker
  txn::TransactionIds* ids = nullptr;     // null: transactions get none
  txn::Sequences* sequences = nullptr;    // null: there are none
  RoutineCache* routines = nullptr;       // null: each call of a procedure compiles it
  txn::NamedLocks* locks = nullptr;       // null: there are none
};

}  // namespace namdb::sql
