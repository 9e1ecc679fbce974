// Rows that come and go. Each key has a companion that is never deleted: a register that tells whether the
// row is there and as which version. In each transaction that reads both, they must agree.
#pragma once

#include "tools/namsim/workloads/workload.h"

namespace namdb::sim {

class ChurnWorkload final : public Workload {
 public:
  using Workload::Workload;

  // The schema of the rows, not of their companions.
  static layout::Schema schema();
  reactor::Task<Status> load(txn::Engine& engine) override;
  std::unique_ptr<WorkloadClient> open_client(txn::Engine& engine) override;
  reactor::Task<void> abandon_one(txn::Engine& engine, std::uint64_t duration_ns) override;

 private:
  class Client;
  struct Tables;
  struct Pair;

  reactor::Task<Status> touch(txn::Engine& engine, std::uint64_t session_id) override;
  reactor::Task<Status> change_some(txn::Engine& engine, txn::Session& session, std::size_t record);
  reactor::Task<Status> read_all(txn::Engine& engine, txn::Session& session, std::size_t record);
  // After a fetch: records what the companion says, and complains if the row is otherwise.
  static bool agrees(txn::Transaction& transaction, const Pair& pair);
  void compare(txn::Transaction& transaction, const Pair& pair, std::size_t record);
  // The row appears, disappears or changes, and the companion says so.
  Status change(txn::Transaction& transaction, const Tables& tables, const Pair& pair, bool present,
                std::size_t record);
};

}  // namespace namdb::sim
