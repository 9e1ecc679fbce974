// Runs a corpus in this process: SQL sessions over the test engine in one map.
#pragma once

#include <atomic>
#include <memory>

#include "compute/locks/named_locks.h"
#include "compute/outcome/transaction_ids.h"
#include "compute/procedure/registry.h"
#include "compute/sequences/sequences.h"
#include "compute/sql/plan/routine_cache.h"
#include "compute/sql/session/session.h"
#include "compute/sql/testing/fake_engine.h"
#include "tools/sqltest/corpus.h"

namespace namdb::sqltest {

// One database. Outlives its clients.
class SessionDatabase {
 public:
  SessionDatabase();
  ~SessionDatabase();
  SessionDatabase(const SessionDatabase&) = delete;
  SessionDatabase& operator=(const SessionDatabase&) = delete;
  std::unique_ptr<Client> open();
  sql::testing::FakeEngine& engine() { return engine_; }
  procedure::ProcedureRegistry& procedures() { return procedures_; }

 private:
  friend class SessionClient;
  sql::testing::ManualExecutor executor_;
  sql::testing::FakeEngine engine_;
  procedure::ProcedureRegistry procedures_;
  sql::Statistics statistics_;
  sql::WorkerStatistics worker_statistics_;
  txn::TransactionIds ids_;
  txn::Sequences sequences_;
  txn::NamedLocks locks_;
  sql::RoutineCache routines_;
  sql::Environment environment_;
};

}  // namespace namdb::sqltest
