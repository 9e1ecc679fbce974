// The rest of a table, made anew from the bodies of its rows while the memory server opens: header words,
// rings, and hash buckets. No peer reaches the region meanwhile.
//
//   1. each record: a certified body gets its header word, an empty ring, no old versions. A place without a
//      body, or with a deleted row, is free: no transaction has an older snapshot
//   2. main buckets, as many as the catalog would choose for so many rows: the table's first number, doubled
//   3. each row's entry into the last bucket of its chain, which the chain's lock word names meanwhile
//   4. each bucket is sealed, the lock words are free
//
// A table with the entries of a hash index is a table like others.
#pragma once

#include <cstdint>
#include <functional>

#include "common/base/error.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "memory/options.h"
#include "memory/recovery/progress.h"
#include "memory/region/region.h"
#include "memory/region/tables.h"

namespace namdb::memory {

// Shared by the parts of recovery; all of it outlives their tasks.
struct Recovery {
  reactor::Executor& executor;
  Region& region;
  const Options& options;
  RecoveryProgress& progress;
  // Asked now and then. True: it ends with admin_shutdown wherever it is. May be empty.
  std::function<bool()> stopping = nullptr;
  // The server is open, and transactions may write to the rows that are read.
  bool beside_transactions = false;
  // All bodies in the region were certified as they came there, and no peer reaches it.
  bool certified = false;

  Status stopped() const;
  // Lets others run. Error admin_shutdown. It outlives the task.
  reactor::Task<Status> rest() const;
};

struct TableContents {
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;              // of their records
  std::uint64_t freed = 0;              // places without a row, which are free again
  std::uint64_t largest_timestamp = 0;  // of any body, deleted rows' too; 0 where there are none
};

// The table is restored and not ready (Tables::restore()): `records` has the blocks and the places in use,
// and the bodies stand there. Afterwards it is ready. Errors: corrupt_data with the address, where a place
// holds something else than a body of the table; out_of_memory; admin_shutdown; the table is then not ready.
reactor::Task<Result<TableContents>> rebuild_table(Recovery recovery, TablePointer table);

// How often the first number of buckets is doubled for so many rows: three quarters of the entries are taken
// at most.
std::uint32_t doublings_for(std::uint64_t rows, std::uint64_t buckets_per_server);

}  // namespace namdb::memory
