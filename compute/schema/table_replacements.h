// A table gets another definition of its rows: a new table takes its place.
//
//   create   the new table, with all its indexes, under a hidden name; the old one is frozen: commits that
//            change it end in table_is_altered
//   wait     until all transactions have ended that may not know that, and the commits of dead compute
//            servers are decided
//   copy     the rows, part by part, while others read the old table
//   replace  in one step of the catalog the new table has the name, and the old one is gone
//
// After an error nothing of the new table is left, and the old one is as it was; the same if the copier dies:
// the catalog undoes what belongs to its channel.
#pragma once

#include "common/base/error.h"
#include "common/reactor/task.h"
#include "compute/api/table_change.h"
#include "compute/schema/build_steps.h"
#include "compute/schema/indexes.h"
#include "compute/schema/schema_worker.h"
#include "compute/schema/tables.h"

namespace namdb::schema {

class TableReplacements {
 public:
  // All outlive this.
  TableReplacements(SchemaWorker& worker, Tables& tables, Indexes& indexes)
      : worker_(worker), tables_(tables), indexes_(indexes), steps_(worker) {}

  // As in Engine::replace_table().
  reactor::Task<Status> replace(txn::TableReplacement replacement);
  // As in Engine::settle_catalog().
  reactor::Task<Status> settle();

 private:
  reactor::Task<Status> fill_and_replace(const txn::TableReplacement* replacement, CreatedTable created);
  reactor::Task<Status> copy(const txn::TableReplacement* replacement, storage::TableRef to);
  // The next rows of the table, from the position, which is then moved.
  reactor::Task<Status> read_part(storage::TableRef table, protocol::ScanPosition* position,
                                  std::vector<layout::Row>* rows);
  // `violation` as in TableReplacement.
  reactor::Task<Status> insert(storage::TableRef table, const std::vector<std::vector<std::byte>>* rows,
                               txn::Violation* violation);
  reactor::Task<void> undo(std::uint32_t table);

  SchemaWorker& worker_;
  Tables& tables_;
  Indexes& indexes_;
  BuildSteps steps_;
};

}  // namespace namdb::schema
