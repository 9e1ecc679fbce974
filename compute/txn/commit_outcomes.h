// The way to the outcome of a commit whose connection was lost while it logged or installed.
#pragma once

#include <cstdint>

#include "common/layout/stamp.h"
#include "common/reactor/task.h"

namespace namdb::txn {

class Transaction;

// Of a commit, for ever: a slot's id is leased once in a database, and once in the life of memory server 0
// where that keeps nothing.
struct CommitId {
  layout::Stamp stamp;
  std::uint64_t epoch = 0;        // of memory server 0
  std::uint64_t database_id = 0;  // 0: it keeps nothing
};

enum class CommitOutcome : std::uint8_t { unknown, committed, undone };

class CommitOutcomes {
 public:
  virtual ~CommitOutcomes() = default;
  // Waits until the commit is decided, for a bounded time. `unknown` after that, if the memory server does
  // not know the outcome, or once the interrupt of `asker` ends the wait (null: no interrupt). `asker`
  // outlives the task.
  virtual reactor::Task<CommitOutcome> find(CommitId commit, const Transaction* asker) = 0;
};

}  // namespace namdb::txn
