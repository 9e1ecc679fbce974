// The plans of statements that change the catalog: routines, views, tables, indexes, sequences.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/layout/schema.h"
#include "compute/api/engine.h"
#include "compute/api/sequence_change.h"
#include "compute/api/table.h"
#include "compute/sql/catalog/view.h"
#include "compute/sql/expression/expression.h"
#include "compute/sql/plan/source_plan.h"
#include "compute/sql/plan/write_plan.h"

namespace namdb::sql {

// CREATE PROCEDURE, CREATE FUNCTION.
struct CreateRoutinePlan {
  txn::RoutineDefinition definition;
  std::shared_ptr<const RoutineSignature> signature;
  bool replaces = false;  // one of that name, if there is one
};

struct DropRoutinePlan {
  enum class Kind : std::uint8_t { procedure, function, routine };
  struct Dropped {
    std::string name;
    std::optional<std::vector<TypeId>> types;  // of its input parameters, or of all; none: any
  };
  std::vector<Dropped> routines;
  Kind kind = Kind::procedure;
  bool if_exists = false;
};

// CREATE VIEW.
struct CreateViewPlan {
  ViewRef view;
  bool replaces = false;  // one of that name, if there is one
};

struct DropViewPlan {
  std::vector<std::string> names;
  bool if_exists = false;
  bool cascades = false;
  std::string renamed;  // ALTER VIEW RENAME: the one view's new name
};

// CREATE TYPE ... AS ENUM, ALTER TYPE and DROP TYPE.
struct EnumerationPlan {
  enum class Command : std::uint8_t { create, add, rename_value, rename, drop };
  Command command = Command::create;
  std::vector<std::string> names;  // of the type; several: DROP
  // All of a new type; a new one; the old and the new one; of RENAME TO the type's new name.
  std::vector<std::string> labels;
  std::optional<std::string> neighbor;  // of a new label
  bool is_after = false;                // the neighbor
  bool is_conditional = false;          // IF [NOT] EXISTS
  bool cascades = false;
};

// The options of a new column's sequence.
struct ColumnSequence {
  std::string name;  // empty: to be chosen
  txn::SequenceChange options;
};

struct CreateTablePlan {
  txn::TableDefinition table;
  // Names of its constraints that the binder has chosen: others will do when they are taken.
  std::set<std::string> chosen_names;
  std::vector<std::uint32_t> sequences;  // the columns that get one each; their defaults name them
  std::map<std::string, ColumnSequence> sequence_options;  // of these, by column
  bool if_not_exists = false;
  bool drops_at_commit = false;  // a temporary table: with the transaction that makes it
  bool is_emptied = false;       // a temporary table: at the end of each transaction
};

// ALTER TABLE, and RENAME. The table's new definition, and how its rows are made from those that are there.
struct AlterTablePlan {
  storage::TableRef table;  // as it is; null: there is none, and there is nothing to do
  // ALTER INDEX RENAME: the index, which gets the definition's name; its table is found when the plan runs.
  std::string index;
  bool if_exists = false;
  txn::TableDefinition definition;
  bool replaces_rows =
      false;  // otherwise the rows stay, and the definition's columns differ in names and such
  // If rows are replaced: for each column of the definition its value, which reads the old row. Null: NULL,
  // or the next number of a new sequence.
  std::vector<ExprPtr> values;
  std::vector<CheckCondition> checks;    // over the new row
  std::vector<std::uint32_t> sequences;  // the columns that get a new one; their defaults name them
  std::map<std::string, ColumnSequence> sequence_options;  // of these, by column
  // If rows are replaced: all indexes but those of the definition. Otherwise: constraints to add.
  std::vector<txn::IndexDefinition> indexes;
  std::vector<std::string> dropped_constraints;      // if rows stay: UNIQUE
  std::map<std::uint32_t, std::string> index_names;  // if rows stay: new ones, by id
  std::vector<DroppedForeignKey> cascaded;           // before the change
  std::vector<std::string> validated;  // foreign keys of the definition whose rows are to be checked
  std::vector<std::string> dropped_columns;
  std::vector<std::string> retyped_columns;
  std::map<std::string, std::string> renamed_columns;
  bool cascades = false;  // to views that read dropped columns
  struct Notice {
    std::string_view sqlstate;
    std::string message;
  };
  std::vector<Notice> notices;
};

struct DropTablePlan {
  std::vector<std::string> names;
  bool if_exists = false;
  bool cascades = false;
};

struct CreateIndexPlan {
  storage::TableRef table;
  std::string name;
  bool name_is_chosen = false;  // by the binder: another one will do when it is taken
  std::vector<layout::IndexColumn> columns;
  bool unique = false;
  bool hash = false;
  bool if_not_exists = false;
  // Gives the columns room for longer values, before the index is made; null: they have it, or stay as they
  // are.
  std::shared_ptr<const AlterTablePlan> room;
  // The table gets columns for the index, which is the last one of `indexes` there, except for its name.
  // Null: the index is on columns that are there.
  std::shared_ptr<const AlterTablePlan> change;
};

struct DropIndexPlan {
  std::vector<std::string> names;
  bool if_exists = false;
  bool cascades = false;
};

struct ReindexPlan {
  std::string name;  // of an index; or of a table, all of whose indexes are built anew
  bool of_table = false;
};

enum class SequenceCommand : std::uint8_t { create, alter, drop };

struct SequencePlan {
  SequenceCommand command = SequenceCommand::create;
  std::vector<std::string> names;  // several: DROP
  bool is_conditional = false;     // IF [NOT] EXISTS
  txn::SequenceChange change;      // of CREATE and ALTER
  // OWNED BY a column; of NONE the table is empty.
  struct Owner {
    std::string table;
    std::string column;
  };
  std::optional<Owner> owner;
};

}  // namespace namdb::sql
