// A protocol's decisions about timestamps, if it orders transactions by them. Rows that are read by key and
// not locked are then read with their leases (Lookup::lease).
#pragma once

#include <cstdint>

#include "common/base/error.h"
#include "compute/cluster/batch_set.h"

namespace namdb::protocol {

struct Access;

class Timestamps {
 public:
  // Rows are READ in this batch: may add other READs, behind all that the transaction has seen so far.
  virtual void read_beside(txn::BatchSet& /*batches*/) {}
  // The batch has run.
  virtual void have_read() {}
  // Rows that may be written were locked as they were read. The transaction will have to go after that
  // timestamp if it writes all of them. Error serialization_failure: it cannot.
  virtual Status go_after_locked(std::uint64_t /*newest*/) { return {}; }
  // The commit locks that row in this batch, or it is locked already: may add READs of its record behind the
  // lock, whose results are kept until the commit is validated.
  virtual void read_behind_lock(const Access& access, txn::BatchSet& batches) = 0;
  // The same behind all locks of records.
  virtual void read_behind_locks(txn::BatchSet& batches) = 0;
  // Of all versions that the commit writes; known once it is validated.
  virtual std::uint64_t commit_timestamp() const = 0;

 protected:
  Timestamps() = default;
  Timestamps(const Timestamps&) = delete;
  Timestamps& operator=(const Timestamps&) = delete;
  ~Timestamps() = default;
};

}  // namespace namdb::protocol
