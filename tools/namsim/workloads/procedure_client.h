// A client that calls stored procedures: by CALL in an SQL session, as nam-computed does, which runs a
// procedure again when its transaction conflicts; or once, straight on the engine, as nambench can.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compute/procedure/declared_pieces.h"
#include "tools/namsim/workloads/sql_client.h"

namespace namdb::sim {

class ProcedureClient {
 public:
  // All outlive the client. `pieces`: declared for procedures; straight on the engine, one that does what it
  // does not declare ends in an error.
  ProcedureClient(txn::Engine& engine, const procedure::ProcedureRegistry& procedures, bool by_sql,
                  const procedure::DeclaredPieces* pieces = nullptr);

  // One CALL, or one attempt. `results` receives the output columns when it succeeds, and outlives the task.
  reactor::Task<Status> call(std::string procedure, std::vector<procedure::Value> arguments,
                             std::vector<procedure::Value>* results);

 private:
  reactor::Task<Status> call_by_sql(std::shared_ptr<const procedure::Definition> definition,
                                    std::vector<procedure::Value> arguments,
                                    std::vector<procedure::Value>* results);

  txn::Engine& engine_;
  const procedure::ProcedureRegistry& procedures_;
  const procedure::DeclaredPieces* pieces_;
  std::unique_ptr<SqlClient> sql_;  // or:
  std::unique_ptr<txn::Session> session_;
};

}  // namespace namdb::sim
