// Tables that come and go while clients write to them. Every row names its table: so a row, a bucket or a
// WRITE of a dropped table becomes visible in the table that got its memory.
#pragma once

#include <cstdint>
#include <string>

#include "common/fabric/sim/world.h"
#include "compute/api/engine.h"

namespace namdb::sim {

struct PassingOptions {
  std::uint64_t tables = 2;  // at a time
  std::uint64_t keys = 6;    // of a table; half of them are there at first
};

class PassingWorkload {
 public:
  PassingWorkload(fabric::sim::SimWorld& world, PassingOptions options) : world_(world), options_(options) {}

  // The first tables.
  reactor::Task<Status> load(txn::Engine& engine);
  // Drops the oldest table, and creates the next.
  reactor::Task<Status> replace_one(txn::Engine& engine);
  // Reads and writes some rows of one of the tables; true if that was committed.
  reactor::Task<bool> run_one(txn::Engine& engine, txn::Session& session);
  // Writes every row of every table that is there: nothing may be locked for ever.
  reactor::Task<Status> touch_all(txn::Engine& engine);

  // The first thing that no transaction should have met.
  const std::string& anomaly() const { return anomaly_; }
  std::uint64_t transactions() const { return transactions_; }

 private:
  reactor::Task<Status> create(txn::Engine& engine, std::uint64_t number);
  reactor::Task<Status> attempt(txn::Engine& engine, txn::Session& session, std::uint64_t number, bool all);
  Status write(txn::Transaction& transaction, const storage::TableRef& table, std::uint64_t number,
               std::uint64_t key, txn::RowId row);
  void found_wrong(std::string what);

  fabric::sim::SimWorld& world_;
  PassingOptions options_;
  std::uint64_t oldest_ = 1;  // number of a table
  std::uint64_t next_ = 1;
  std::uint64_t transactions_ = 0;
  std::int64_t next_value_ = 1;
  std::string anomaly_;
};

}  // namespace namdb::sim
