// Changes of a table's definition: of names and the like, and of its rows.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/layout/row.h"
#include "common/reactor/task.h"
#include "compute/api/engine.h"
#include "compute/api/table.h"

namespace namdb::txn {

// A change that leaves rows as they are.
struct TableAlteration {
  storage::TableRef table;  // as its new definition was made from it
  std::string name;
  std::vector<layout::Column> columns;  // the table's, with other names, defaults, and NOT NULL
  std::vector<storage::TableCheck> checks;
  std::vector<storage::ForeignKey> foreign_keys;
  std::map<std::uint32_t, std::string> index_names;  // of indexes that get another one, by id
};

// Makes rows of a table's new definition from its rows.
class RowChange {
 public:
  virtual ~RowChange() = default;
  // Adds a row, Schema::row_bytes() long, for each of `rows`, which outlive the task. An error ends the
  // change of the table.
  virtual reactor::Task<Status> change(const std::vector<layout::Row>* rows,
                                       std::vector<std::vector<std::byte>>* changed) = 0;
};

// A change by which a new table, with the old one's name, takes its place.
struct TableReplacement {
  storage::TableRef table;  // as its new definition was made from it
  TableDefinition definition;
  std::vector<IndexDefinition> indexes;  // all but those of the definition; they name no table
  // Outlives the change. Null: the new table has no rows.
  RowChange* rows = nullptr;
  // As in IndexDefinition; of the new table, whose name is another one then.
  Violation* violation = nullptr;
};

}  // namespace namdb::txn
