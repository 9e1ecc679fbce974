// Calls procedures on an engine as a compute server's CALL does: in a transaction of its own, again after a
// conflict, until the retries run out.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "common/fabric/counters.h"
#include "common/reactor/task.h"
#include "compute/api/engine.h"
#include "compute/procedure/procedure.h"
#include "tools/support/report/progress.h"
#include "tools/support/report/run_report.h"

namespace namdb::nambench {

struct EngineCallOptions {
  // Computes for so long between the procedure and its commit, and lets no other coroutine run meanwhile.
  std::uint64_t computation_ns = 0;
  bool timed = false;  // metrics() says what the calls took
};

// One procedure on one engine, with what its calls cost so far.
class EngineProcedure {
 public:
  // Both outlive this object.
  EngineProcedure(txn::Engine& engine, const procedure::Definition& definition, EngineCallOptions options)
      : engine_(engine), definition_(definition), options_(options) {}

  // Replaces `results`, one value for each output column.
  reactor::Task<Status> call(txn::Session& session, std::span<const procedure::Value> arguments,
                             std::vector<procedure::Value>& results);

  const procedure::Definition& definition() const { return definition_; }
  // By the names that a compute server's statistics have; and conflicts, the attempts that ended in one,
  // most_attempts, that one call needed, and with `timed` time_ns of all calls, and of them computation_ns
  // and backoff_ns.
  support::ServerMetrics metrics() const;

 private:
  reactor::Task<Status> resolve_tables();
  std::uint64_t clock_ns() const { return options_.timed ? support::steady_now_ns() : 0; }
  void compute();
  reactor::Task<Status> attempt(txn::Session& session, std::span<const procedure::Value> arguments,
                                std::span<procedure::Value> results);

  txn::Engine& engine_;
  const procedure::Definition& definition_;
  EngineCallOptions options_;
  std::vector<storage::TableRef> tables_;
  fabric::OperationCounters cost_;
  std::uint64_t transactions_ = 0;
  std::uint64_t commits_ = 0;
  std::uint64_t retries_ = 0;
  std::uint64_t conflicts_ = 0;
  std::uint64_t most_attempts_ = 0;
  std::uint64_t time_ns_ = 0;
  std::uint64_t computation_ns_ = 0;
  std::uint64_t backoff_ns_ = 0;
  std::map<std::string_view, std::uint64_t> aborts_;
};

}  // namespace namdb::nambench
