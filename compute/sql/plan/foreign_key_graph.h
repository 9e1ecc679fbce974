// The foreign keys that a statement must check: those of the table that it writes, those that reference the
// table, and those of all tables that their actions write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compute/api/table.h"
#include "compute/sql/plan/plan.h"

namespace namdb::sql {

struct ForeignKeyGraph {
  // A foreign key. "The child" is the table that has it, "the parent" the one that it references.
  struct Reference {
    storage::ForeignKey key;
    std::size_t child = 0;  // positions in `tables`
    std::size_t parent = 0;
    std::vector<std::uint32_t> columns;     // of the child
    std::vector<std::uint32_t> referenced;  // of the parent, one for each of these
    storage::IndexRef parent_index;         // null: the parent's primary key
    // How the children of a parent are found: by their primary key, whose columns are the foreign key's; by
    // an index that begins with some of them; or by reading all of the table.
    bool children_by_key = false;
    storage::IndexRef child_index;
    std::size_t child_index_columns = 0;  // so many of its columns are the foreign key's
  };
  struct Table {
    storage::TableRef table;
    std::vector<CheckCondition> checks;    // where actions update its rows
    std::vector<ExprPtr> defaults;         // likewise: of each column; null: NULL
    std::vector<std::size_t> references;   // positions in `references` of its own foreign keys
    std::vector<std::size_t> referencing;  // and of those that reference it, where its rows are written
  };
  std::vector<Table> tables;  // the statement writes the first one
  std::vector<Reference> references;

  bool is_self_reference(const Reference& reference) const { return reference.child == reference.parent; }
};

}  // namespace namdb::sql
