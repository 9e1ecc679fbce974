// A client's SQL session at a compute server of the simulator: all of nam-computed but the wire between them.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "compute/api/engine.h"
#include "compute/procedure/registry.h"
#include "compute/sql/session/session.h"
#include "compute/sql/system/statistics.h"

namespace namdb::sim {

// The answer to one simple query, which may be several statements.
struct SqlAnswer {
  Status status;                               // the first error
  std::vector<std::string> columns;            // of the last statement that returned rows
  std::vector<std::vector<std::string>> rows;  // in PostgreSQL's text forms; NULL is "NULL"
  std::uint64_t affected = 0;                  // rows that the last statement counted

  // A column of integers; another type is a programming error.
  std::int64_t integer(std::size_t row, std::size_t column) const;
};

class SqlClient {
 public:
  // Both outlive the client.
  SqlClient(txn::Engine& engine, const procedure::ProcedureRegistry& procedures);

  reactor::Task<SqlAnswer> run(std::string text);
  // Whether a transaction block is open, failed or not.
  bool in_block() const { return session_.status() != 'I'; }

 private:
  sql::Statistics statistics_;
  sql::WorkerStatistics worker_statistics_;
  sql::Environment environment_;
  std::atomic<bool> canceled_{false};
  sql::Session session_;
};

}  // namespace namdb::sim
