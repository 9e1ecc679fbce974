// TPC-C's new-order and payment on a few districts, customers and items. Long readers hold the
// specification's consistency conditions against one snapshot of all tables while the others write.
#pragma once

#include "compute/procedure/registry.h"
#include "tools/namsim/workloads/ledger.h"
#include "tools/namsim/workloads/procedure_client.h"
#include "tools/namsim/workloads/tpcc_conditions.h"
#include "tools/namsim/workloads/workload.h"
#include "workloads/tpcc_schema.h"

namespace namdb::sim {

class TpccWorkload final : public Workload {
 public:
  TpccWorkload(fabric::sim::SimWorld& world, history::History& history, WorkloadOptions options);

  reactor::Task<Status> load(txn::Engine& engine) override;
  std::unique_ptr<WorkloadClient> open_client(txn::Engine& engine) override;
  reactor::Task<void> abandon_one(txn::Engine& engine, std::uint64_t duration_ns) override;
  void data_is_gone() override;
  void data_is_back() override;

 private:
  class Client;
  struct Call;

  reactor::Task<Status> touch(txn::Engine& engine, std::uint64_t session_id) override;
  Call draw_call();
  // Reads all tables in the transaction and checks them.
  reactor::Task<Status> audit(txn::Engine& engine, txn::Transaction& transaction, std::uint64_t pause_ns);

  procedure::ProcedureRegistry procedures_;
  procedure::DeclaredPieces pieces_;
  workloads::tpcc::Scale scale_;
  bool by_warehouse_;        // whether tables are partitioned; decided by the number of keys
  std::uint64_t districts_;  // that orders are for; payments go to all
  Ledger ledger_;
  AcknowledgedOrders acknowledged_;
};

}  // namespace namdb::sim
