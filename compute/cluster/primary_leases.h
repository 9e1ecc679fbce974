// A worker's leases on its memory servers' regions. A region with copies may get another host, its
// *primary*, while this worker still reaches the old one (memory/placement). So a read counts only once it is
// certain that the region was still at the host where it was read. A lease guarantees that for a while.
//
// A memory server answers LEASE (common/calls/hot_calls.h) while no other host can let workers into its
// region before kWorkerLease_ns have passed since the answer. So a lease counts from when its request was
// posted, by a clock that is read anew: this process may have been stopped between two steps.
//
// Transactions confirm their reads' regions in front of the log stage, at the end of one that only reads, and
// behind each statement whose rows the client gets at once. Memory servers without a configuration store say
// in their welcomes that no leases are needed, and cost nothing here. Each other server costs a call in half
// of kWorkerLease_ns while transactions come; a transaction waits for it only after a pause.
//
// A server whose channel was lost stays in the list until its lease is over: a transaction that began before
// that moment may have read there, and fails.
//
// One executor's thread. Each connection has one, beside its cluster.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/layout/global_address.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "compute/api/transaction.h"
#include "compute/cluster/cluster.h"

namespace namdb::txn {

class PrimaryLeases {
 public:
  // The cluster outlives this.
  explicit PrimaryLeases(Cluster& cluster);
  PrimaryLeases(const PrimaryLeases&) = delete;
  PrimaryLeases& operator=(const PrimaryLeases&) = delete;

  // Behind Cluster::connect(), before the first transaction.
  void start();
  // Behind the last transaction, once every channel has failed or no call is under way.
  reactor::Task<void> close();

  bool needed() const { return !leases_.empty(); }
  // Some transaction waits for a lease.
  bool awaited() const { return changed_.has_waiters(); }
  // True: all reads until now of a transaction that began at `began_ns` were at the regions' primaries.
  // False: not known without confirm(). Times are the executor's.
  bool held(std::uint64_t began_ns);
  // The same, and waits for leases where they are over. Errors: serialization_failure where a region that was
  // read from may have moved; connection_failure once the cluster has failed; those of `user`'s interrupt.
  // `user` outlives the task.
  reactor::Task<Status> confirm(std::uint64_t began_ns, const Transaction* user);

 private:
  struct Lease {
    layout::ServerId server = 0;
    std::uint64_t until_ns = 0;
    std::uint64_t retry_ns = 0;  // it was refused, and is not asked for before
    bool asking = false;
    bool over = false;  // the server is lost, and so is the lease
  };

  // Drops lost servers whose leases are over, and finds the earliest end of the other leases.
  void look(std::uint64_t now_ns);
  void renew(std::uint64_t now_ns);
  reactor::Task<void> ask(Lease* lease);

  Cluster& cluster_;
  std::vector<Lease> leases_;  // on the servers that want them; does not grow behind start()
  std::uint64_t least_until_ns_ = 0;
  std::uint64_t all_since_ns_ = 0;  // no server was let go of since then
  reactor::Event changed_;
  reactor::Gate gate_;
};

}  // namespace namdb::txn
