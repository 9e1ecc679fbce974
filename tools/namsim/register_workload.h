// Read-write registers for the isolation checker: clients at several compute servers read some of a few hot
// keys, write new versions to some of them, and record what they saw.
#pragma once

#include <cstdint>
#include <vector>

#include "common/fabric/sim/world.h"
#include "common/reactor/executor.h"
#include "compute/txn/engine.h"
#include "tools/namsim/history/history.h"

namespace namdb::sim {

struct RegisterOptions {
  std::uint64_t keys = 6;
  std::uint64_t keys_per_transaction = 3;
  double write_probability = 0.5;        // for each key that was read
  double long_reader_probability = 0.1;  // reads all keys, one fetch each, with pauses
  std::uint64_t pause_ns = 20'000;       // of long readers, at most
};

class RegisterWorkload {
 public:
  RegisterWorkload(fabric::sim::SimWorld& world, history::History& history, RegisterOptions options)
      : world_(world), history_(history), options_(options) {}

  // Creates and fills the table.
  reactor::Task<Status> load(txn::Engine& engine);
  // One transaction, recorded whatever comes of it; true if it committed. If its compute server dies on the
  // way, it stays in the history with an unknown outcome.
  reactor::Task<bool> run_one(txn::Engine& engine, txn::Session& session, std::uint64_t session_id);
  // Updates every key once: nothing may be locked for ever. The last error if some key stays out of reach.
  reactor::Task<Status> touch_all(txn::Engine& engine);
  // Transactions that did not find the version that their snapshot needs. With an E that no transaction
  // reaches there are none, or a version was lost.
  std::uint64_t versions_missed() const { return versions_missed_; }

 private:
  reactor::Task<Status> attempt(txn::Engine& engine, txn::Session& session, std::size_t record);

  fabric::sim::SimWorld& world_;
  history::History& history_;
  RegisterOptions options_;
  std::uint64_t versions_missed_ = 0;
};

}  // namespace namdb::sim
