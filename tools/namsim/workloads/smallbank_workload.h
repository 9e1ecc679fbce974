// SmallBank's procedures on few accounts. Money is neither made nor lost but by what calls were acknowledged
// for; where no account is amalgamated, that is known of each account, too.
#pragma once

#include "compute/procedure/registry.h"
#include "tools/namsim/workloads/ledger.h"
#include "tools/namsim/workloads/procedure_client.h"
#include "tools/namsim/workloads/workload.h"

namespace namdb::sim {

class SmallbankWorkload final : public Workload {
 public:
  SmallbankWorkload(fabric::sim::SimWorld& world, history::History& history, WorkloadOptions options);

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
  // Reads all balances in the transaction, by key or by scans, and checks them.
  reactor::Task<Status> audit(txn::Engine& engine, txn::Transaction& transaction, bool slowly);
  reactor::Task<Status> read_table(txn::Engine& engine, txn::Transaction& transaction,
                                   storage::TableRef table, std::uint64_t pause_ns,
                                   std::vector<std::int64_t>* balances);
  void check_balance(Ledger::Account account, std::int64_t value, std::uint64_t begin_ns,
                     const std::string& what);

  procedure::ProcedureRegistry procedures_;
  Ledger ledger_;
  bool amalgamates_;
};

}  // namespace namdb::sim
