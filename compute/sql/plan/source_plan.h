// The sources of rows in a plan: access paths by keys and indexes, functions in FROM, and joins.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compute/api/engine.h"
#include "compute/api/table.h"
#include "compute/sql/expression/expression.h"

namespace namdb::sql {

struct VirtualTable;

struct ResultColumn {
  std::string name;
  Type type;
  // The table or view of which it is a column, and its number there; 0: it is no such column, or that is not
  // known.
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

// The hidden column that an index has for an expression, or for its predicate (a partial index). Conditions
// of statements may contain the expression.
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
  // The expressions of the table's indexes; null: they have none.
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

}  // namespace namdb::sql
