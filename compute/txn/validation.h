// A protocol's validation of reads, if it needs one: it is told of all reads beside the rows of the read set,
// and checks at the end that all reads were true at one moment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/layout/bucket.h"
#include "common/layout/global_address.h"
#include "common/reactor/task.h"
#include "compute/api/index.h"
#include "compute/api/table.h"
#include "compute/cluster/batch_set.h"
#include "compute/txn/held_chains.h"

namespace namdb::protocol {

class Lookup;

// A transaction has read a range of a secondary index: these are all the entries in [low, high). For a hash
// index `entries` is empty: its chain and its entries are validated like those of a table.
struct SeenRange {
  std::uint32_t table = 0;
  storage::IndexRef index;
  std::string low;
  std::optional<std::string> high;
  std::vector<std::string> entries;
};

// READs that validate, behind the locks of a commit.
enum class LockedChecks : std::uint8_t {
  added,
  none,  // there are too many, or some are on other servers
};

class Validation {
 public:
  // --- read ---
  virtual void saw_record(const Lookup& lookup) = 0;
  virtual void saw_bucket(const storage::Table& table, layout::GlobalAddress address,
                          const layout::Bucket& bucket, bool main) = 0;
  virtual void saw_range(SeenRange range) = 0;
  // The newest version of another row decided whether a commit breaks a unique index.
  virtual void saw_latest(const Lookup& /*lookup*/) {}

  // --- commit ---
  struct Locked {
    const HeldChains& chains;
    bool changes_indexes;  // entries are added or left behind
    bool leaves_entries;   // displaced versions lose their entries
    bool checked = false;  // check_behind_locks() has added READs, which found all locks held
  };
  // For a commit that locks all its writes in this batch, all on that server: adds READs of all that is to be
  // validated to the batch. They show the state while the locks are held. Once, before validate().
  virtual LockedChecks check_behind_locks(layout::ServerId /*server*/, txn::BatchSet& /*batches*/) {
    return LockedChecks::none;
  }
  // All locks of the commit are held, and its index entries stand.
  virtual reactor::Task<Status> validate(const Locked& locked) = 0;
  // Before a commit: whether all reads were true at one moment since this was called. Commits a transaction
  // without writes, if `commits`. Error serialization_failure.
  virtual reactor::Task<Status> confirm_reads(bool commits) = 0;

 protected:
  Validation() = default;
  Validation(const Validation&) = delete;
  Validation& operator=(const Validation&) = delete;
  ~Validation() = default;
};

}  // namespace namdb::protocol
