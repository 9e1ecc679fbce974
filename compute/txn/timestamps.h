// A protocol's decisions about timestamps, if it orders transactions by them. Rows that are read by key are
// then read with their leases (Lookup::lease).
#pragma once

#include <cstdint>

#include "compute/cluster/batch_set.h"

namespace namdb::protocol {

struct Access;

class Timestamps {
 public:
  // The commit locks that row in this batch: may add READs of its record behind the lock, whose results are
  // kept until the commit is validated.
  virtual void read_behind_lock(const Access& access, txn::BatchSet& batches) = 0;
  // The same behind all locks of records.
  virtual void read_behind_locks(txn::BatchSet& batches) = 0;
  // The timestamp of all versions that the commit writes; known once the commit is validated.
  virtual std::uint64_t commit_timestamp() const = 0;

 protected:
  Timestamps() = default;
  Timestamps(const Timestamps&) = delete;
  Timestamps& operator=(const Timestamps&) = delete;
  ~Timestamps() = default;
};

}  // namespace namdb::protocol
