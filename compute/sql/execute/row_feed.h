// The rows that a SELECT reads, before its own clauses: of one source, or of a join. They come in batches.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/reactor/task.h"
#include "compute/sql/execute/run.h"

namespace namdb::sql {

class RowFeed {
 public:
  virtual ~RowFeed() = default;
  // Replaces the batch by the next rows. `expected` is the number of rows that will probably be read; 0: all.
  // All calls are with the same transaction. When the work is paused (Work::paused()), it is called again.
  virtual reactor::Task<Status> load(Run& run, std::uint64_t expected) = 0;
  // No row comes behind the batch.
  virtual bool exhausted() const = 0;
  virtual std::size_t size() const = 0;
  // Lets columns read that row of the batch, until the next call of load() or show().
  virtual void show(const Run& run, std::size_t row, EvalContext& context) = 0;
  // The batch, if its rows are those of a table as they are stored; otherwise null.
  virtual const txn::RowBlock* stored() const { return nullptr; }
};

}  // namespace namdb::sql
