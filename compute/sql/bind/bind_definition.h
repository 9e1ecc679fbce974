// The columns and constraints of a table that a statement defines: CREATE TABLE, and ALTER TABLE, which
// begins with those that are there.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/layout/schema.h"
#include "compute/api/engine.h"
#include "compute/sql/bind/bind_statement.h"

namespace namdb::sql {

struct Definition {
  struct Unique {
    std::string name;  // empty: to be chosen
    std::vector<std::string> columns;
  };
  // A CHECK that is new.
  struct Check {
    std::string name;    // empty: to be chosen
    std::string column;  // of whose definition it is a part; empty: it is the table's
    const Json* condition = nullptr;
  };

  // A generated column that is new. Its expression may name columns that come behind it.
  struct NewGenerated {
    std::string column;
    const Json* expression = nullptr;
  };

  // A FOREIGN KEY that is new.
  struct NewForeignKey {
    std::vector<std::string> columns;
    const Json* constraint = nullptr;
    bool deferrable = false;
    bool initially_deferred = false;
  };

  std::string table;  // its name
  std::vector<layout::Column> columns;
  std::vector<std::string> sequences;  // columns that get one
  std::map<std::string, ColumnSequence> sequence_options;
  std::vector<std::string> key;
  std::string key_name;  // empty: to be chosen
  bool has_key = false;
  std::vector<Unique> unique;
  std::vector<Check> new_checks;
  std::vector<storage::TableCheck> checks;  // that are there
  std::vector<NewGenerated> new_generated;
  std::vector<NewForeignKey> new_foreign_keys;
  std::vector<storage::ForeignKey> foreign_keys;  // that are there

  layout::Column* find(std::string_view name);
};

// Room in the row for a value of a column without a declared length. Keys and indexes have what lies there;
// of other columns, longer values lie beside the row. With its length the field is 128 bytes. A record has
// several versions of its row, so unused room costs memory several times. A value that does not fit costs one
// more READ, and 500 bytes or more in another table.
inline constexpr std::uint32_t kRoom_bytes = 126;
// The default room of such a column, in bytes; `in_key`: a key has it.
std::uint32_t default_room_bytes(const layout::Column& column, bool in_key);
// Whether a column is in the definition's primary key, in UNIQUE, or in a foreign key.
bool keys_have(const Definition& definition, std::string_view column);

// Adds a column, with its constraints. Also one for serial and identity, whose default names a sequence.
Status bind_column_definition(StatementBinder& binder, const Json& body, Definition& definition);
// Adds a constraint of the table.
Status bind_table_constraint(const Json& body, Definition& definition);
// Makes a column GENERATED AS IDENTITY.
Status add_identity(layout::Column& column, const Json& constraint, Definition& definition);
// Adds the hidden column that is the key of a table without one.
void add_row_id(Definition& definition);

// The positions of columns that a constraint names.
Result<std::vector<std::uint32_t>> constraint_columns(const Definition& definition,
                                                      const std::vector<std::string>& names,
                                                      std::string_view constraint);
// The definition's UNIQUE constraints, with names. One that repeats the primary key or another one is left
// out, as in PostgreSQL.
Status add_unique(const Definition& definition, const std::vector<std::uint32_t>& key,
                  txn::TableDefinition& table);
// All checks of the definition, with names: the new ones are bound, and written as the catalog keeps them.
Result<std::vector<storage::TableCheck>> bind_checks(StatementBinder& binder, const Definition& definition);

// Adds a FOREIGN KEY to the definition. `column`: the column whose definition contains it; empty: the table's
// does.
Status add_foreign_key(const Json& constraint, std::string_view column, Definition& definition);
// All foreign keys of the definition, with names: the new ones are bound. `unique_keys`: columns of the
// table's unique keys beside those of the definition.
Result<std::vector<storage::ForeignKey>> bind_foreign_keys(
    StatementBinder& binder, const Definition& definition,
    const std::vector<std::vector<std::string>>& unique_keys);

}  // namespace namdb::sql
