// Bound expressions and their evaluation: three-valued logic, PostgreSQL's overflow and rounding rules. An
// expression is immutable once its plan is made and may be shared by any number of runs; it never suspends,
// but it may pause (work.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/base/random.h"
#include "common/layout/row.h"
#include "compute/api/role.h"
#include "compute/sql/catalog/enumeration_text.h"
#include "compute/sql/expression/work.h"
#include "compute/sql/value/datum.h"
#include "compute/sql/value/time_zone.h"
#include "compute/sql/value/types.h"

namespace namdb::sql {

class LongValues;
class SessionDirectory;
class SessionObjects;
struct RoutineSignature;
struct StatementState;

// The wall clock: µs since 2000-01-01. Without one, the time is always 0.
using WallClock = std::function<std::int64_t()>;

// The facts about a session that functions can read.
struct SessionFacts {
  std::string user;
  std::string database;
  std::int32_t process_id = 0;
  std::int64_t now_us = 0;  // start of the transaction, µs since 2000-01-01
  std::uint32_t memory_servers = 1;
  std::int64_t statement_us = 0;              // start of the statement
  const WallClock* wall_clock_us = nullptr;   // the present; null: 0
  SessionDirectory* sessions = nullptr;       // of the compute server; may be null
  const absl::TimeZone* time_zone = nullptr;  // as it is set now; null: UTC
  const SessionObjects* objects = nullptr;    // of the session; null: none are known
  // `user` is the current one: of SET ROLE, or else this one.
  std::string session_user = {};
  storage::RolesRef roles = {};                        // as this statement knows them; null: there are none
  std::uint32_t role = storage::kUnknownRole;          // of `user`
  std::uint32_t session_role = storage::kUnknownRole;  // of `session_user`
  bool hides_public = false;                           // search_path does not have the schema public
  TypeNamesRef types = {};                             // that statements have made; null: none are known

  bool is_superuser() const { return roles == nullptr || roles->is_superuser(role); }
  absl::TimeZone zone() const { return time_zone == nullptr ? absl::UTCTimeZone() : *time_zone; }
  TimeContext time() const { return {now_us, zone()}; }

  std::int64_t present_us() const {
    return wall_clock_us != nullptr && *wall_clock_us ? (*wall_clock_us)() : 0;
  }
};

// The time context of a session, or without one.
inline TimeContext time_of(const SessionFacts* facts) {
  return facts == nullptr ? TimeContext() : facts->time();
}

struct EvalContext {
  std::span<const Datum> parameters;
  // The row that column references read. Null: they read the values of a virtual table's row.
  const layout::RowView* row = nullptr;
  std::span<const Datum> values;
  std::span<const Datum> aggregates;
  std::span<const Datum> outer;  // in a subquery: the values that it reads of the rows around it
  const StatementState* state = nullptr;
  Arena* arena = nullptr;
  Work* work = nullptr;
  const SessionFacts* facts = nullptr;
  Random* random = nullptr;
  LongValues* long_values = nullptr;  // null: columns are of rows that have none

  TimeContext time() const { return time_of(facts); }
};

enum class ExprKind : std::uint8_t {
  constant,
  parameter,   // index
  column,      // index
  aggregate,   // index into the plan's aggregates
  outer,       // index into the values of the rows around a subquery
  arithmetic,  // op: + - * / %
  negate,
  compare,  // op: = ! < > l (<=) g (>=); D, N: IS [NOT] DISTINCT FROM
  logical_and,
  logical_or,
  logical_not,
  is_null,
  is_not_null,
  boolean_test,  // op: t, f, u (IS TRUE, FALSE, UNKNOWN), upper case: IS NOT
  in_list,       // args[0] IN (args[1..])
  case_when,     // condition, value, condition, value, ..., [else]
  coalesce,
  null_if,
  greatest,
  least,
  cast,          // explicit_cast
  concat,        // ||
  like,          // op: ' ' or '!' (NOT LIKE)
  function,      // function
  routine,       // routine: a function that is written in SQL
  regex,         // op: ~ or ! (does not match); * and # are the same without regard to case
  array,         // its elements
  subscript,     // args[0][args[1]]
  array_concat,  // ||, of arrays and elements
  any_of_array,  // args[0] op ANY (args[1])
  all_of_array,
  // subquery; the arguments are the values of the rows around it that it reads
  exists,
  scalar_subquery,  // index: of its column
  any_of_subquery,  // args[0] op ANY (subquery); index: of the last of the arguments, if these are a row
  all_of_subquery,
  array_subquery,  // ARRAY (subquery)
};

struct Function;

// A function that is written in SQL, as an expression calls it. The expression's arguments are those of its
// input parameters.
struct RoutineCall {
  std::shared_ptr<const RoutineSignature> signature;
  std::string name;
  bool is_strict = false;  // not called with a NULL: it gives NULL, or no rows
  bool is_volatile = false;
  bool gives_rows = false;                // rows, for FROM, and no value
  std::vector<std::uint32_t> parameters;  // the positions of those that the arguments are for
};

// The query of a subquery. Expressions own it together, and tell it from others by its address; SubqueryPlan
// says how it runs.
struct Subquery {
  virtual ~Subquery() = default;
};

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct Expr {
  ExprKind kind = ExprKind::constant;
  char op = ' ';
  bool explicit_cast = false;
  Type type;
  std::uint32_t index = 0;
  Datum value;                                 // constant; its text is in `storage`
  std::unique_ptr<const std::string> storage;  // null: the value has no bytes
  const Function* function = nullptr;
  std::shared_ptr<const Subquery> subquery;
  std::shared_ptr<const RoutineCall> routine;
  std::vector<ExprPtr> args;

  bool is_null_constant() const { return kind == ExprKind::constant && value.null; }
};

ExprPtr make_constant(Type type, const Datum& value);
ExprPtr make_expr(ExprKind kind, Type type, char op = ' ');
ExprPtr clone(const Expr& expr);
// Whether both are the same operation on the same operands.
bool same(const Expr& left, const Expr& right);
// Calls `visit` with the index of each column that the expression reads.
void for_each_column(const Expr& expr, const std::function<void(std::uint32_t)>& visit);
// Whether `holds` is true of the index of each column that the expression reads.
bool all_columns(const Expr& expr, const std::function<bool(std::uint32_t)>& holds);
// Replaces the index of each column by `indexes` of it.
void renumber_columns(Expr& expr, std::span<const std::uint32_t> indexes);
// Whether the value is the same for all rows of a run: the expression has neither columns nor aggregates nor
// volatile functions. Parameters are allowed.
bool is_row_independent(const Expr& expr);
bool is_constant(const Expr& expr);
bool is_volatile(const Expr& expr);
bool contains_column(const Expr& expr);

// The context has an arena and work. Work::paused() says whether it must be called again.
Status evaluate(const Expr& expr, const EvalContext& context, Datum& out);

// A predicate: true only if the value is true (NULL counts as false).
Status evaluate_condition(const Expr& expr, const EvalContext& context, bool& out);

// Compares two values that are not NULL, of one type or of two integer types: -1, 0 or 1. NaN equals itself
// and is greater than all numbers; trailing blanks of char(n) do not count.
int compare_values(TypeId type, const Datum& left, const Datum& right);
// Whether a comparison by that operator (ExprKind::compare) holds for values in that order: -1, 0 or 1.
bool compare_matches(char op, int order);

namespace detail {
// Evaluates an expression that is not a leaf; evaluate() calls it.
Status evaluate_operator(const Expr& expr, const EvalContext& context, Datum& out);
// The same of a subquery.
Status evaluate_subquery(const Expr& expr, const EvalContext& context, Datum& out);
// The same of a call of a function that is written in SQL.
Status evaluate_routine(const Expr& expr, const EvalContext& context, Datum& out);
// The same of LIKE and of regular expressions.
Status evaluate_pattern(const Expr& expr, const EvalContext& context, Datum& out);
// The same of an operator of arrays.
Status evaluate_array(const Expr& expr, const EvalContext& context, Datum& out);
// Replaces a value's place by the value.
Status read_long_value(const EvalContext& context, Datum& value);
}  // namespace detail

// The value of a column of the context's row, or its place (Datum::is_place()).
void read_value(const EvalContext& context, std::uint32_t column, Datum& out);
// The value of a row's field, or its place. That of char(n) gets its blanks, in the arena.
void read_column(const layout::RowView& row, std::uint32_t column, Arena& arena, Datum& out);

}  // namespace namdb::sql
