// A ring of rows, each of which names the next. Transactions swap neighbours, put rows in and take rows out;
// every snapshot must show one whole ring of a length that the acknowledged changes allow, and no other row.
#pragma once

#include "tools/namsim/workloads/ledger.h"
#include "tools/namsim/workloads/workload.h"

namespace namdb::sim {

class RingWorkload final : public Workload {
 public:
  RingWorkload(fabric::sim::SimWorld& world, history::History& history, WorkloadOptions options);

  reactor::Task<Status> load(txn::Engine& engine) override;
  std::unique_ptr<WorkloadClient> open_client(txn::Engine& engine) override;
  reactor::Task<void> abandon_one(txn::Engine& engine, std::uint64_t duration_ns) override;
  void data_is_gone() override;
  void data_is_back() override;

 private:
  class Client;
  class Walk;
  enum class Change : std::uint8_t { insert, remove, swap };

  reactor::Task<Status> touch(txn::Engine& engine, std::uint64_t session_id) override;
  reactor::Task<Status> change_one(txn::Engine& engine, txn::Session& session);
  // Buffers the change behind the node that the walk is at.
  reactor::Task<Status> change(Walk& walk, Change change, std::int64_t* longer);
  // Commits, and enters it in the ledger.
  reactor::Task<Status> commit(txn::Transaction& transaction, std::int64_t longer);
  reactor::Task<Status> audit(txn::Engine& engine, txn::Transaction& transaction, storage::TableRef table,
                              std::uint64_t pause_ns);
  // The ids of rows come from twice as many as the ring has at first; node 0 always stays.
  std::int64_t pool() const { return 2 * static_cast<std::int64_t>(options().keys); }

  Ledger ledger_;
};

}  // namespace namdb::sim
