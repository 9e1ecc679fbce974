// The plans of queries: SELECT, set operations, subqueries and the tables that they make.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "compute/api/engine.h"
#include "compute/api/table.h"
#include "compute/sql/expression/expression.h"
#include "compute/sql/plan/source_plan.h"

namespace namdb::sql {

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
  // Whether it keeps its values, whose order counts.
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
  std::vector<RowLock> locks;  // their targets are not output columns, and stand behind those
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

// The plan of a subquery of an expression. No other class derives from Subquery.
struct SubqueryPlan final : Subquery {
  explicit SubqueryPlan(SelectPlan select) : query(std::move(select)) {}
  SelectPlan query;
};
inline const SelectPlan& planned_query(const Subquery& subquery) {
  return static_cast<const SubqueryPlan&>(subquery).query;
}

}  // namespace namdb::sql
