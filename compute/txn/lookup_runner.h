// Running lookups: many together, one round trip a step, waiting for what other transactions hold.
#pragma once

#include <cstdint>

#include "common/base/error.h"
#include "common/layout/global_address.h"
#include "common/reactor/stable_vector.h"
#include "common/reactor/task.h"
#include "compute/txn/lookup.h"
#include "compute/txn/transaction_state.h"

namespace namdb::protocol {

// How long a transaction waits without a break for locks of others.
class LockWait {
 public:
  // It waits for another round, for the lock there. Error: the user does not want it to wait any longer.
  Status goes_on(TransactionState& transaction, layout::GlobalAddress locked);
  void ends() { since_ns_ = 0; }
  // Since when it waits for that lock; 0: it does not.
  std::uint64_t since_ns(layout::GlobalAddress locked) const { return locked_ == locked ? since_ns_ : 0; }

 private:
  std::uint64_t since_ns_ = 0;
  layout::GlobalAddress locked_;  // where the lock is that it waited for last
};
// Waits one round, which is longer the more rounds there were. Errors: as above, and of check_going_on().
reactor::Task<Status> wait_for_lock(TransactionState* transaction, LockWait* wait,
                                    layout::GlobalAddress locked, std::uint32_t waits);

using Lookups = reactor::PooledInlinedVector<Lookup*, 4>;
using LookupTables = reactor::PooledInlinedVector<const storage::Table*, 4>;

// Records of scans that are near one another are READ together (run_reads.h).
enum class Together : std::uint8_t { no, near };
// Runs the lookups to their ends, in as few round trips as they allow; the READs that come before versions
// can be checked (Visibility::piggyback) are sent with the first ones. `tables` are checked once that is so.
// The lookups stay where they are until this returns.
reactor::Task<Status> run_lookups(TransactionState* transaction, Lookups lookups, LookupTables tables,
                                  Together together = Together::no);
// The same, one lookup after the other.
reactor::Task<Status> run_one_by_one(TransactionState* transaction, const Lookups* lookups,
                                     const LookupTables* tables);
// Until versions can be checked, for READs that no lookup makes.
reactor::Task<Status> begin_reading(TransactionState* transaction);

}  // namespace namdb::protocol
