// SQL sessions create and drop tables while others read and write them. Every creation has a column of its
// own name, so that a reader knows which creation it sees. The rows must be those that were written to this
// creation, and within a transaction a name never means two tables. Rows are registers.
#pragma once

#include <map>

#include "compute/procedure/registry.h"
#include "tools/namsim/workloads/sql_client.h"
#include "tools/namsim/workloads/workload.h"

namespace namdb::sim {

class SchemaWorkload final : public Workload {
 public:
  using Workload::Workload;

  reactor::Task<Status> load(txn::Engine& engine) override;
  std::unique_ptr<WorkloadClient> open_client(txn::Engine& engine) override;
  reactor::Task<void> abandon_one(txn::Engine& engine, std::uint64_t duration_ns) override;

 private:
  class Client;
  // The result of a SELECT of a whole table.
  struct Seen {
    std::uint64_t creation = 0;
    std::map<std::uint64_t, history::Version> rows;  // by id
    friend bool operator==(const Seen&, const Seen&) = default;
  };

  reactor::Task<Status> touch(txn::Engine& engine, std::uint64_t session_id) override;
  reactor::Task<Status> drop(SqlClient& sql, std::string table);
  reactor::Task<Status> create(SqlClient& sql, std::string table);
  // BEGIN to COMMIT; rolls back after an error.
  reactor::Task<Status> use_tables(SqlClient& sql, std::size_t record);
  reactor::Task<Status> use_table(SqlClient& sql, std::string table, std::size_t record);
  reactor::Task<Status> read(SqlClient& sql, std::string table, Seen* seen);
  std::string draw_table();

  procedure::ProcedureRegistry procedures_;
  std::uint64_t creations_ = 0;
  // The register that each version was written to.
  std::map<history::Version, history::Key> written_;
};

}  // namespace namdb::sim
