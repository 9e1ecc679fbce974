// Foreign keys that others have on a table, and those that a statement must check.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "compute/sql/bind/bind_statement.h"
#include "compute/sql/plan/foreign_key_graph.h"

namespace namdb::sql {

// A foreign key of another table that references a table.
struct ReferencingKey {
  storage::TableRef table;
  const storage::ForeignKey* key = nullptr;
};
std::vector<ReferencingKey> referencing_keys(const BindInput& input, const storage::Table& table);
// "constraint c_a_fkey on table c depends on ".
std::string dependency_text(const ReferencingKey& key);

enum class WriteKind : std::uint8_t { inserts, inserts_or_updates, updates, deletes };
// The foreign keys that a write of the table must check; null: none. `assigned`: the columns that it changes;
// null: those that it inserts or deletes.
Result<std::shared_ptr<const ForeignKeyGraph>> foreign_keys_of_write(StatementBinder& binder,
                                                                     const storage::TableRef& table,
                                                                     WriteKind kind,
                                                                     const std::set<std::uint32_t>* assigned);

}  // namespace namdb::sql
