// The plans of statements that write rows: INSERT, UPDATE, DELETE, TRUNCATE, COPY; and of CALL.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compute/api/engine.h"
#include "compute/api/table.h"
#include "compute/procedure/registry.h"
#include "compute/sql/copy/copy_options.h"
#include "compute/sql/expression/expression.h"
#include "compute/sql/plan/select_plan.h"
#include "compute/sql/plan/source_plan.h"

namespace namdb::sql {

struct Assignment {
  std::uint32_t column = 0;
  ExprPtr value;
};

// ON CONFLICT. Its expressions read the columns of the row that is there, and behind them those of the row
// that was to be inserted (EXCLUDED).
struct ConflictPlan {
  // The constraints that count: the primary key, and unique indexes.
  bool primary_key = false;
  std::vector<storage::IndexRef> indexes;
  bool updates = false;  // otherwise DO NOTHING
  std::vector<Assignment> assignments;
  ExprPtr filter;  // null: every row
};

// A CHECK of the table that is written: it reads the row as it is to be. Before these stand the table's
// generated columns: for them the expression is the column's value.
struct CheckCondition {
  std::string name;
  ExprPtr condition;
  std::optional<std::uint32_t> generated = {};  // the column; nullopt: it is a CHECK
};

// UPDATE ... FROM and DELETE ... USING: the joined rows. The query's targets are the columns of the changed
// table's primary key, and behind them the columns of other tables that the statement's other expressions
// read. These name the changed table's columns by their positions, and the others behind them.
struct ChangedRowsPlan {
  SelectPlan query;
};

// The foreign keys to check for a write; null: there are none (foreign_key_graph.h).
struct ForeignKeyGraph;

// Of writes, `returning` has the output columns, which read the row as it is then; a deleted row as it was.
struct InsertPlan {
  storage::TableRef table;
  // For each row, an expression for each column of the table; null: NULL.
  std::vector<std::vector<ExprPtr>> rows;
  // INSERT ... SELECT: `rows` has one, which reads the columns of each row of the query. Null: VALUES.
  std::unique_ptr<SelectPlan> query;
  std::unique_ptr<ConflictPlan> conflict;  // null: a conflict is an error
  std::vector<CheckCondition> checks;
  std::shared_ptr<const ForeignKeyGraph> foreign_keys;
  std::vector<ExprPtr> returning;
};

// With `joined` the source is the table only: the rows are those of the join.
struct UpdatePlan {
  Source source;
  std::unique_ptr<ChangedRowsPlan> joined;  // null: there is one table
  std::vector<Assignment> assignments;
  std::vector<CheckCondition> checks;
  std::shared_ptr<const ForeignKeyGraph> foreign_keys;
  std::vector<ExprPtr> returning;
};

struct DeletePlan {
  Source source;
  std::unique_ptr<ChangedRowsPlan> joined;  // likewise
  std::shared_ptr<const ForeignKeyGraph> foreign_keys;
  std::vector<ExprPtr> returning;
};

// The deletion of all rows of some tables.
struct TruncatePlan {
  std::vector<DeletePlan> tables;
  bool restarts_sequences = false;    // of their columns
  std::vector<std::string> cascades;  // those of the tables that CASCADE has added
};

// A foreign key of another table that goes, because that which it references does.
struct DroppedForeignKey {
  storage::TableRef table;  // that has it
  std::string name;
};

// COPY table FROM STDIN: the insert's one row of expressions reads the fields of a row of the data, of which
// each has one of `types`.
struct CopyFromPlan {
  InsertPlan insert;
  std::vector<std::uint32_t> columns;  // the table's, in the order of the fields
  std::vector<Type> types;
  CopyOptions options;
};

// COPY ... TO STDOUT.
struct CopyToPlan {
  std::unique_ptr<SelectPlan> query;
  std::vector<ResultColumn> columns;
  CopyOptions options;
};

struct CallPlan {
  std::shared_ptr<const procedure::Definition> definition;
  std::vector<storage::TableRef> tables;  // those of the definition
  std::vector<ExprPtr> arguments;         // converted to the declared types
};

struct RoutineSignature;

// CALL of a procedure that is written in SQL. Its body is compiled when it runs.
struct CallRoutinePlan {
  std::shared_ptr<const RoutineSignature> signature;
  std::vector<ExprPtr> arguments;  // of each parameter, converted to its type; null: it gets NULL
};

}  // namespace namdb::sql
