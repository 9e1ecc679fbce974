// Lists (append_workload.h) through the front door: every session is a connection of the PostgreSQL protocol,
// on a simulated stream, to a server of its compute server. Transactions are blocks of single statements, or
// calls of a procedure through the extended protocol. A connection that breaks before COMMIT or CALL was sent
// means that nothing happened; after that, that the outcome is unknown.
#pragma once

#include <map>
#include <memory>

#include "tools/namsim/cluster/simulated_stream.h"
#include "tools/namsim/workloads/append_workload.h"
#include "tools/namsim/workloads/wire_client.h"

namespace namdb::sim {

class WireWorkload final : public AppendWorkload {
 public:
  WireWorkload(fabric::sim::SimWorld& world, history::History& history, WorkloadOptions options);
  ~WireWorkload() override;

  std::unique_ptr<WorkloadClient> open_client(txn::Engine& engine) override;
  reactor::Task<void> leave(txn::Engine& engine) override;
  void died(txn::Engine& engine) override;

 private:
  struct Server;  // of one compute server
  class Client;
  Server& server_of(txn::Engine& engine);
  reactor::Task<history::Outcome> run_block(WireClient* client, std::size_t record);
  reactor::Task<history::Outcome> run_call(WireClient* client, std::size_t record);
  // True if the statement was answered; else it is judged, and the transaction is aborted.
  bool usable(const WireAnswer& answer);
  // The outcome of the statement that commits.
  history::Outcome outcome_of(const WireAnswer& answer);
  std::vector<std::uint64_t> draw_keys(std::uint64_t most);

  // Complains about an error that no fault explains.
  void judge_sqlstate(const std::string& sqlstate, const std::string& message);

  std::map<txn::Engine*, std::unique_ptr<Server>> servers_;
};

}  // namespace namdb::sim
