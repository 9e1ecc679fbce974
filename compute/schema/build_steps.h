// The steps that building an index has in common, whatever kind of index it is, while others use its table.
//
//   building  the index is in the catalog: from now on new transactions keep its entries
//   wait      until all other transactions have ended, and the commits of dead compute servers are decided
//   fill      the index with the rows that snapshots show which are taken from then on
//   ready     for transactions whose snapshots show that version of the catalog
//
// After an error nothing of the index is left. If the builder dies, the catalog drops the index, and so do
// memory servers that held parts for the builder. Other workers discard parts that were finished by then,
// since the catalog lacks their index.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/error.h"
#include "common/layout/row.h"
#include "common/reactor/task.h"
#include "compute/api/table.h"
#include "compute/schema/schema_worker.h"

namespace namdb::protocol {
struct ScanPosition;
}

namespace namdb::schema {

// Enters rows in indexes of one kind.
class EntryWriter {
 public:
  virtual ~EntryWriter() = default;
  // Enters the rows, which `scan` has read. All arguments outlive the task.
  virtual reactor::Task<Status> enter(protocol::EngineTransaction& scan, storage::TableRef table,
                                      storage::IndexRef index, const std::vector<layout::Row>* rows) = 0;
};

class BuildSteps {
 public:
  // `worker` outlives this.
  explicit BuildSteps(SchemaWorker& worker) : worker_(worker) {}

  // An index that that version of the catalog has: waits until all transactions have ended that may not know
  // it, and enters all rows of the table with `writer`, which outlives the task.
  reactor::Task<Status> wait_and_fill(storage::TableRef table, std::uint32_t index,
                                      std::uint64_t catalog_version, EntryWriter& writer);
  // After an error: takes the index out of the catalog and off the memory servers.
  reactor::Task<void> abandon(std::uint32_t index);

  // Waits until all transactions have ended that may not know that version of the catalog, and the commits of
  // dead compute servers are decided. transaction_timeout; admin_shutdown.
  reactor::Task<Status> wait_for_writers(std::uint64_t catalog_version);

  static Status index_dropped();

 private:
  reactor::Task<Status> fill(storage::TableRef table, std::uint32_t index, EntryWriter& writer);
  // Reads a part of the table in one snapshot, from the position, which is then moved.
  reactor::Task<Status> fill_part(storage::TableRef table, std::uint32_t index, EntryWriter& writer,
                                  protocol::ScanPosition* position);

  SchemaWorker& worker_;
};

// The pause, in ns, between two checks of a condition that other processes have to fulfil.
inline constexpr std::uint64_t kPoll_ns = 2 * kMillisecond_ns;

}  // namespace namdb::schema
