// The plan of a statement, made once: names are resolved, types are known, the access path is chosen. A plan
// is immutable and may be run any number of times, until the catalog changes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "common/layout/schema.h"
#include "compute/api/engine.h"
#include "compute/api/sequence_change.h"
#include "compute/api/table.h"
#include "compute/procedure/registry.h"
#include "compute/sql/catalog/view.h"
#include "compute/sql/copy/copy_options.h"
#include "compute/sql/expression/expression.h"
#include "compute/sql/plan/role_plan.h"
#include "compute/sql/system/memory_budget.h"

namespace namdb::sql {

struct VirtualTable;

struct ResultColumn {
  std::string name;
  Type type;
  // The table or view of which it is a column, and its number there; 0: of none, or nobody knows.
  Oid table = 0;
  std::uint16_t number = 0;
};

// An access path by secondary index: a range of its keys, or several ranges for a list of values.
struct IndexPath {
  storage::IndexRef index;
  // For each of the first columns of the index's keys the values that it may have: one, or several for one of
  // the columns. A null pointer means NULL.
  std::vector<std::vector<ExprPtr>> equal;
  // The ranges of the column behind them, which may overlap; none: it has any value.
  struct Range {
    ExprPtr low;  // null: unbounded
    ExprPtr high;
    bool low_inclusive = false;
    bool high_inclusive = false;
  };
  std::vector<Range> ranges;
  bool descending = false;
  std::vector<ExprPtr> conditions;    // what all of that says
  bool has_other_conditions = false;  // the filter has conditions beyond these

  // Calls `visit` with each of its expressions.
  template <typename Visit>
  void for_each_expression(Visit&& visit) const {
    for (const std::vector<ExprPtr>& values : equal) {
      for (const ExprPtr& value : values) visit(value);
    }
    for (const Range& range : ranges) {
      visit(range.low);
      visit(range.high);
    }
    for (const ExprPtr& condition : conditions) visit(condition);
  }
};

// A column that an index has for an expression, or for the part of the table that the index is of, as
// conditions of statements may have that.
struct IndexExpression {
  std::uint32_t column = 0;  // of the table; clients do not see it
  ExprPtr value;             // over the table's columns
  // The column is NULL in rows that do not meet all of these; empty: in none.
  std::vector<ExprPtr> predicate;
};

struct DerivedTable;

// The rows that the last round of a recursive query has given, as its next round reads them.
struct WorkingTable {
  std::vector<ResultColumn> columns;
};

// Functions in FROM, side by side: a row has the next value of each, and NULL of those that have ended.
struct SetFunction {
  static constexpr std::string_view kOptionName = "option_name";
  static constexpr std::string_view kOptionValue = "option_value";

  enum class Kind : std::uint8_t {
    scalar,
    series,
    unnest,
    subscripts,
    json_elements,
    json_keys,
    json_values,  // of the members of an object
    routine
  };
  struct Call {
    Kind kind = Kind::scalar;
    bool as_text = false;       // of JSON: strings without quotes, and NULL for null
    std::string_view name;      // of a function of JSON; the part of an option that unnest gives
    std::vector<ExprPtr> args;  // of a routine: the expression that calls it
    std::size_t columns = 1;
  };
  std::vector<Call> calls;
  bool ordinality = false;            // the last column numbers the rows
  std::vector<ResultColumn> columns;  // of each call, and that one

  // Calls `visit` with each of its expressions.
  template <typename Visit>
  void for_each_expression(Visit&& visit) const {
    for (const Call& call : calls) {
      for (const ExprPtr& argument : call.args) visit(argument);
    }
  }
};

// The source of rows. Without a table of any kind it is one row without columns.
struct Source {
  storage::TableRef table;
  const VirtualTable* virtual_table = nullptr;
  std::shared_ptr<const DerivedTable> derived;
  // LATERAL: the values that the derived table's query reads of the rows of the tables before.
  std::vector<ExprPtr> lateral;
  std::unique_ptr<SetFunction> function;
  std::shared_ptr<const WorkingTable> working;
  std::string name;  // the alias or the table's name
  // Rows that are read by key, or by index in a join, are locked then if the protocol locks rows: the
  // statement may change them.
  bool to_change = false;
  // For each key column, in key order, the values that it may have: one, or several for one of the columns.
  // Each key has at most one row. Empty: a scan.
  std::vector<std::vector<ExprPtr>> key;
  std::unique_ptr<IndexPath> index_path;  // only if there is no key; null: none
  // Of the table's indexes; null: they have none.
  std::shared_ptr<const std::vector<IndexExpression>> index_expressions;
  ExprPtr filter;  // all of WHERE; null: every row
};

enum class JoinKind : std::uint8_t { inner, left, full };

// How the rows of a joined table are found that may match a row of the tables before it.
enum class JoinMethod : std::uint8_t {
  first,        // it is the first table: nothing is before it
  by_key,       // by the source's key, whose values are those of the row before
  by_index,     // by the source's index path, likewise
  by_function,  // by calls with values of the row before
  by_query,     // by a query with such values
  hash,         // in a table in memory, by the values of hash_keys
  all,          // any may match
};

// A table of a join. Its expressions name columns by their slots (JoinPlan).
struct JoinedSource {
  Source source;  // its filter is about its own columns only
  JoinKind kind = JoinKind::inner;
  JoinMethod method = JoinMethod::first;
  // Pairs of expressions whose values are equal where rows match: of the tables before, and of this one.
  std::vector<ExprPtr> outer_keys;
  std::vector<ExprPtr> hash_keys;
  // The other conditions of a match; null: none. A row without a match stays, with NULLs: of the tables
  // before with JoinKind::left, and of the table, too, with JoinKind::full.
  ExprPtr match;
  // The conditions of the joined row, the one with NULLs, too; null: none.
  ExprPtr filter;
  struct Read {
    std::uint32_t column = 0;  // of the table
    std::uint32_t slot = 0;
  };
  std::vector<Read> reads;         // the columns that the statement needs
  std::uint32_t first_column = 0;  // before slots are assigned: of the columns of FROM
};

// The rows of several tables. A joined row has a slot for each column that the statement needs.
struct JoinPlan {
  std::vector<JoinedSource> sources;  // in the order in which they are read
  std::vector<std::string> slots;     // for people: "table.column"
};

enum class AggregateKind : std::uint8_t {
  count_rows,
  count,
  sum,
  minimum,
  maximum,
  average,
  all_true,
  any_true,
  array,          // array_agg
  joined_string,  // string_agg
  json_array,     // json_agg, jsonb_agg: the argument is the text of an element
  json_object     // json_object_agg, jsonb_object_agg: the argument is the text of a member
};

struct OrderItem {
  ExprPtr value;
  bool descending = false;
  bool nulls_first = false;
};

struct Aggregate {
  AggregateKind kind = AggregateKind::count_rows;
  ExprPtr argument;   // null for count(*)
  ExprPtr separator;  // of string_agg; otherwise null
  // Rows that do not meet it are left out; null: none. Others than array_agg and those like it have it in
  // their argument, which is NULL then.
  ExprPtr filter;
  std::vector<OrderItem> order;  // of array_agg and string_agg; empty: as the rows come
  bool distinct = false;         // equal values count once
  // It keeps its values, whose order counts.
  bool collects() const { return kind >= AggregateKind::array; }
  Type type;

  // Calls `visit` with each of its expressions.
  template <typename Visit>
  void for_each_expression(Visit&& visit) const {
    if (argument != nullptr) visit(argument);
    if (separator != nullptr) visit(separator);
    if (filter != nullptr) visit(filter);
    for (const OrderItem& item : order) visit(item.value);
  }
};

// How FOR UPDATE treats a row that another session has locked.
enum class LockedRow : std::uint8_t { waits, fails, is_skipped };

// The rows of a table that FOR UPDATE locks. The values of the primary key's columns are the targets from
// that one on.
struct RowLock {
  storage::TableRef table;
  std::uint32_t first_target = 0;
  LockedRow locked = LockedRow::waits;
};

struct SelectPlan {
  Source source;
  std::unique_ptr<JoinPlan> join;  // null: the rows are the source's. Otherwise there is no source
  // The rows of a grouped SELECT are its groups: targets, `having` and `order` read the values of `groups` as
  // columns. Without `groups` it has one row.
  bool grouped = false;
  std::vector<ExprPtr> groups;
  // GROUPING SETS: of each the places in `groups` that it has. Each has groups of its own, in which the other
  // values are NULL. Empty: there is one, with all.
  std::vector<std::vector<std::uint32_t>> grouping_sets;
  // The values of GROUPING(), which stand behind those of `groups`: of each call, by set.
  std::vector<std::vector<std::int64_t>> grouping_values;
  std::vector<Aggregate> aggregates;
  // The one aggregate is the first value that is not NULL: the rows come in the order of its values.
  bool first_value_decides = false;
  ExprPtr having;  // null: every group
  std::vector<ExprPtr> targets;
  std::vector<RowLock> locks;  // their targets are no output columns, and stand behind those
  // One of them does not wait: NOWAIT or SKIP LOCKED.
  bool locks_without_wait() const {
    for (const RowLock& lock : locks) {
      if (lock.locked != LockedRow::waits) return true;
    }
    return false;
  }
  bool distinct = false;         // equal rows are given once
  std::vector<OrderItem> order;  // empty when the rows come in the wanted order
  std::size_t distinct_on = 0;   // of rows with equal values of so many first items of `order` the first one
  ExprPtr limit;                 // bigint; null: none
  ExprPtr offset;                // bigint; null: none
  bool gives_id = false;         // to its transaction, by namdb_txid(); or takes a lock until its end
  bool reads_tables = false;     // it, or a subquery of it
  // The command's name, such as SELECT FOR UPDATE, if it or a subquery of it locks rows; otherwise empty.
  std::string_view locking_command = {};

  // Without rows of a table, it may do without.
  bool needs_transaction() const { return reads_tables || gives_id; }
};

enum class SetOperation : std::uint8_t {
  union_all,
  union_distinct,
  intersect_all,
  intersect,
  except_all,
  except
};

struct WindowCalls;

// A table that exists for a statement only: a subquery of FROM, VALUES, or two queries that UNION, INTERSECT
// or EXCEPT connects.
struct DerivedTable {
  std::vector<ResultColumn> columns;
  std::unique_ptr<SelectPlan> query;  // a subquery; of two queries the left one; null: VALUES
  std::unique_ptr<SelectPlan> right;  // null: there is one query
  SetOperation operation = SetOperation::union_all;
  std::vector<std::vector<ExprPtr>> values;  // VALUES
  // WITH RECURSIVE: the right query is run again and again, until it gives no rows. Null: it is not
  // recursive.
  std::shared_ptr<const WorkingTable> working;
  // Behind the query's columns stand those of these calls (plan/window.h). Null: there are none.
  std::shared_ptr<const WindowCalls> windows;
};

// A subquery of an expression.
struct Subquery {
  SelectPlan query;
};

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
  // The table gets columns for the index, which is the last one of `indexes` there, but for its name. Null:
  // the index is on columns that are there.
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

// LOCK TABLE ... IN ACCESS SHARE MODE, of tables that there are.
struct LockPlan {};

// SET CONSTRAINTS.
struct ConstraintsPlan {
  std::vector<std::string> names;  // none: ALL
  bool deferred = false;
};

enum class TransactionCommand : std::uint8_t {
  begin,
  commit,
  rollback,
  set_characteristics,
  savepoint,
  release_savepoint,
  rollback_to_savepoint
};

struct TransactionPlan {
  TransactionCommand command = TransactionCommand::begin;
  std::optional<std::string> isolation;
  std::optional<bool> read_only;
  bool for_session = false;  // SET SESSION CHARACTERISTICS
  std::string savepoint;     // its name
};

struct SetPlan {
  std::string name;                  // empty: RESET ALL
  std::optional<std::string> value;  // none: back to the default
  bool local = false;
};

struct ShowPlan {
  std::string name;  // "all": every setting
};

struct DeallocatePlan {
  std::string name;  // empty: all
};

struct DiscardPlan {
  bool all = false;
  bool sequences = false;  // what the session remembers of them; of ALL, too
  bool temporary = false;  // its temporary tables
};

// Of portals, among which cursors are.
struct ClosePlan {
  std::string name;  // empty: all
};

// A statement that has nothing to do here: UNLISTEN, VACUUM, ANALYZE, COMMENT.
struct NothingPlan {
  std::string notice;  // tells why; empty: nobody needs to know
};

struct Plan;

// WITH with INSERT, UPDATE or DELETE. Its queries run first, each to its end, and their rows are kept; then
// the statement itself runs, which reads none of the tables that they write.
struct WithPlan {
  struct Query {
    std::shared_ptr<const WorkingTable> rows;
    std::shared_ptr<const Plan> statement;  // SELECT, too
  };
  std::vector<Query> queries;
  std::shared_ptr<const Plan> statement;
};

struct ExplainPlan {
  bool analyze = false;
  bool as_json = false;
  std::unique_ptr<Plan> statement;  // may be that of EXECUTE: of the statement that it names
};

// PREPARE. The statement's text is in that of the command.
struct PreparePlan {
  std::string name;
  std::vector<Type> declared;  // unknown where the client left a type open
  std::shared_ptr<Plan> statement;
};

struct ExecutePlan {
  std::string name;
  std::shared_ptr<const Plan> statement;  // as it was prepared then; null: there was none of that name
  std::vector<ExprPtr> arguments;         // converted to the types of its parameters
};

// DECLARE ... CURSOR.
struct DeclarePlan {
  std::string name;
  bool binary = false;
  bool scrolls = false;
  bool only_forward = false;  // NO SCROLL
  bool holds = false;
  std::shared_ptr<Plan> query;  // its parameters are the command's
};

enum class FetchDirection : std::uint8_t { forward, backward, absolute, relative };

// FETCH and MOVE, of portals.
struct FetchPlan {
  static constexpr std::int64_t kAll = INT64_MAX;
  std::string name;
  FetchDirection direction = FetchDirection::forward;
  std::int64_t count = 1;  // kAll: all rows in that direction
  bool moves = false;      // gives no rows
};

// A rare and large form of a plan, in a place of its own: the many small ones need not have its size.
template <typename T>
struct Boxed {
  Boxed(T value) : pointer(std::make_unique<T>(std::move(value))) {}  // NOLINT: it stands for the form
  std::unique_ptr<T> pointer;
};

struct Plan {
  using Body =
      std::variant<std::monostate, SelectPlan, InsertPlan, UpdatePlan, DeletePlan, WithPlan, TruncatePlan,
                   CopyFromPlan, CopyToPlan, CallPlan, CallRoutinePlan, CreateRoutinePlan, DropRoutinePlan,
                   CreateViewPlan, DropViewPlan, EnumerationPlan, Boxed<CreateTablePlan>,
                   Boxed<AlterTablePlan>, DropTablePlan, CreateIndexPlan, DropIndexPlan, ReindexPlan,
                   SequencePlan, TransactionPlan, LockPlan, ConstraintsPlan, SetPlan, ShowPlan,
                   DeallocatePlan, DiscardPlan, ClosePlan, NothingPlan, ExplainPlan, PreparePlan, ExecutePlan,
                   DeclarePlan, FetchPlan, RolePlan>;
  // monostate: an empty statement.
  Body body;
  // "SELECT", "INSERT", ...: the command tag without its counts, and the kind under which it is counted.
  std::string_view tag;
  std::vector<ResultColumn> columns;
  std::vector<Type> parameters;
  std::uint64_t catalog_version = 0;
  std::vector<std::uint32_t> tables;  // the ids of those that the statement, or its procedure, names
  std::vector<RequiredRight> rights;  // that its user needs
  // The ids of the tables that it reads, and of those that it writes, but for the functions that it calls.
  std::vector<std::uint32_t> reads;
  std::vector<std::uint32_t> writes;
  bool calls_routines = false;  // functions that are written in SQL, which may read any table
  bool calls_volatile = false;  // ... and may write to any
  // These must not write: they are called in another number, or at other times, than the statement says.
  bool calls_read_only = false;
  bool knows_types = false;  // the session knew types that statements have made: it may name one
  MemoryShare memory;        // what the plan keeps, of the budget of all clients

  template <typename T>
  const T* as() const {
    if constexpr (std::is_same_v<T, CreateTablePlan> || std::is_same_v<T, AlterTablePlan>) {
      const auto* const boxed = std::get_if<Boxed<T>>(&body);
      return boxed == nullptr ? nullptr : boxed->pointer.get();
    } else {
      return std::get_if<T>(&body);
    }
  }
  bool is_schema_change() const {
    return as<CreateTablePlan>() || as<AlterTablePlan>() || as<DropTablePlan>() || as<CreateIndexPlan>() ||
           as<DropIndexPlan>() || as<ReindexPlan>() || as<CreateRoutinePlan>() || as<DropRoutinePlan>() ||
           as<CreateViewPlan>() || as<DropViewPlan>() || as<EnumerationPlan>() || as<SequencePlan>() ||
           as<RolePlan>();
  }
  // Perhaps of no columns: SELECT FROM t.
  bool gives_rows() const { return !columns.empty() || as<SelectPlan>(); }
  bool is_call() const { return as<CallPlan>() || as<CallRoutinePlan>(); }
  // Its columns are those of another statement of the session, which may change.
  bool depends_on_session() const {
    const auto* explain = as<ExplainPlan>();
    return as<ExecutePlan>() || as<FetchPlan>() ||
           (explain != nullptr && explain->statement->depends_on_session());
  }
  // Runs inside a transaction of the engine.
  bool is_transactional() const {
    return as<SelectPlan>() || as<InsertPlan>() || as<UpdatePlan>() || as<DeletePlan>() || as<WithPlan>() ||
           as<TruncatePlan>() || as<CopyFromPlan>() || as<CopyToPlan>() || is_call();
  }
};

}  // namespace namdb::sql
