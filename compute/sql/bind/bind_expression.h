// Binding of expressions, which the binders of all statements use.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compute/sql/bind/variable_scope.h"
#include "compute/sql/expression/expression.h"
#include "compute/sql/plan/plan.h"
#include "compute/sql/syntax/error_fields.h"
#include "compute/sql/syntax/syntax.h"
#include "compute/sql/value/cast.h"

namespace namdb::sql {

// The columns that names may refer to.
struct Scope {
  struct Column {
    std::string name;
    Type type;
    bool hidden = false;  // `*` does not give it
    Oid table = 0;        // as ResultColumn's
    std::uint16_t number = 0;
  };
  struct Relation {
    std::string name;   // alias or table
    std::string table;  // empty: it has only that name
    std::uint32_t first_column = 0;
    std::uint32_t columns = 0;
  };
  // A column that a name alone may mean, and that `*` gives.
  struct Shown {
    std::string name;
    std::uint32_t column = 0;
    Type type;  // where USING has merged columns, another one than the column's
    // Where USING of FULL JOIN has merged columns: that one has the value if the first one is NULL.
    std::optional<std::uint32_t> other = {};
  };
  std::vector<Relation> relations;
  // The columns of all tables of FROM, end to end: a bound column's index counts here.
  std::vector<Column> columns;
  std::vector<Shown> shown;

  // Adds the columns of a relation, which are shown unless they are hidden.
  void add(std::string name, std::string table, const std::vector<Column>& relation_columns);
  // Null: there is none of that name.
  const Relation* find(std::string_view name) const;
  const Relation& relation_of(std::uint32_t column) const;
};

// The error of a name that is not a relation of the scope.
Status missing_relation(const Scope& scope, std::string_view name);
std::string table_name_of(const Source& source);
std::vector<Scope::Column> columns_of(const Source& source);
Scope scope_of(const Source& source);
ExprPtr scope_column(const Scope& scope, std::uint32_t column);
// The same of one that is shown; where its type is not that of the column, a cast of it.
ExprPtr shown_column(const Scope& scope, const Scope::Shown& shown);

class ExpressionBinder;
struct RoutineSignature;
struct StatementBinder;
struct WindowCall;
enum class FrameBound : std::uint8_t;

// The rows around a subquery, whose columns it may read. They become arguments of the subquery's expression.
struct OuterRows {
  ExpressionBinder* around = nullptr;
  std::vector<ExprPtr> arguments;

  // The column of a row around the subquery, as its query reads it.
  Result<ExprPtr> bind_column(const Json& body);
};

class ExpressionBinder {
 public:
  // `parameters` grows as the statement names more of them, and takes the types that are inferred. `place`
  // receives the position of an error; it may be null.
  ExpressionBinder(std::vector<Type>& parameters, const SessionFacts* facts, ErrorPlace* place)
      : parameters_(parameters), facts_(facts), place_(place) {}

  // Allows subqueries. `outer`: the rows around the query whose expressions these are; null: none.
  void set_query(StatementBinder* statement, OuterRows* outer);
  // Allows calls of functions that are written in SQL, as set_query() does, too.
  void set_routines(StatementBinder* statement) { routines_ = statement; }
  // Allows the names of variables, which are parameters; null: there are none.
  void set_variables(const VariableScope* variables) { variables_ = variables; }
  OuterRows* outer() const { return outer_; }
  void set_scope(Scope scope) { scope_ = std::move(scope); }
  const Scope& scope() const { return scope_; }
  // Receives the aggregates that are bound. While it is null, as at first, they are refused, and the message
  // names the clause.
  void set_aggregates(std::vector<Aggregate>* aggregates, std::string_view clause) {
    aggregates_ = aggregates;
    clause_ = clause;
  }

  // Receives the calls of window functions; null: they are refused. `clause`: the list of WINDOW.
  // The arguments of the calls of GROUPING(), in their order.
  const std::vector<std::vector<ExprPtr>>& grouping_calls() const { return grouping_calls_; }
  void set_windows(std::vector<WindowCall>* windows, const Json* clause) {
    windows_ = windows;
    window_clause_ = clause;
  }

  // A call of a function that gives several rows, whose values are that column of the scope.
  void set_call(const Json* call, std::uint32_t column) { set_calls_[call] = column; }
  bool has_set_calls() const { return !set_calls_.empty(); }

  Result<ExprPtr> bind(const Json& json);
  // Binds the condition of `clause`, whose type must be boolean.
  Result<ExprPtr> bind_condition(const Json& json, std::string_view clause);

  // left = right. undefined_function: their types cannot be compared.
  Result<ExprPtr> bind_equal(ExprPtr left, ExprPtr right) {
    return bind_compare('=', "=", std::move(left), std::move(right));
  }

  // Converts the expression to the type; error datatype_mismatch if there is no such conversion. Literals are
  // read and parameters get their types here. With `Coercion::assignment` the type's modifier is not applied:
  // store_value() does that.
  Status coerce(ExprPtr& expr, Type target, Coercion coercion);
  // Converts the expressions to one type, as UNION, VALUES and CASE do. `construct` names it in the message.
  Status unify_all(std::span<ExprPtr* const> exprs, std::string_view construct, Type& type);
  // Makes text of an expression whose type is still unknown: an output column, or an operand of ||.
  Status decide_unknown(ExprPtr& expr);
  // A subquery that gives a row of so many columns: the value of its first column. That of another one is the
  // same expression with that `index` and type.
  Result<ExprPtr> bind_row_subquery(const Json& body, std::size_t& columns);
  // The function that is written in SQL, or procedure, that a FuncCall means; null: none.
  std::shared_ptr<const RoutineSignature> routine_called(const Json& call) const;
  // A call of it. One that gives rows stands in FROM only.
  Result<ExprPtr> bind_routine(const Json& call, const std::shared_ptr<const RoutineSignature>& signature);
  // A call of a function with these arguments.
  Result<ExprPtr> bind_function(std::string_view name, std::vector<ExprPtr> args);

 private:
  friend struct OuterRows;
  Result<ExprPtr> bind_node(Node node);
  Result<ExprPtr> bind_constant(const Json& body);
  Result<ExprPtr> bind_column(const Json& body);
  // A column of the query, or of those around it.
  Result<ExprPtr> bind_query_column(const Json& body);
  // A column of the scope, without rows around it.
  Result<ExprPtr> bind_own_column(const Json& body);
  // A name that a variable has.
  Result<ExprPtr> bind_variable(const Json& body, std::uint32_t index);
  // A column that is named alone.
  Result<ExprPtr> bind_shown_column(std::string_view name);
  Result<ExprPtr> bind_parameter(const Json& body);
  ExprPtr parameter_at(std::uint32_t index) const;
  Result<ExprPtr> bind_operator(const Json& body);
  Result<ExprPtr> bind_named_operator(std::string_view name, ExprPtr left, ExprPtr right);
  Result<ExprPtr> bind_arithmetic(char op, std::string_view name, ExprPtr left, ExprPtr right);
  Result<ExprPtr> bind_compare(char op, std::string_view name, ExprPtr left, ExprPtr right);
  // With dates, times, intervals, arrays or JSON. `right` is null of an operator with one operand.
  Result<ExprPtr> bind_table_operator(std::string_view name, ExprPtr left, ExprPtr right);
  // The arguments become those of the function, whose overload has been chosen.
  Result<ExprPtr> make_call(const Function& function, std::vector<ExprPtr> args);
  Result<ExprPtr> bind_unary(std::string_view name, const Json& operand);
  Result<ExprPtr> bind_in(const Json& body);
  // `negated`: of NOT IN, whose negation is not part of it; messages name its operator.
  Result<ExprPtr> bind_in_list(const Json& body, const Json& items, bool negated);
  Result<ExprPtr> bind_of_array(const Json& body, bool any);
  Result<ExprPtr> bind_array_concat(ExprPtr left, ExprPtr right);
  Result<ExprPtr> bind_regex(char op, std::string_view name, ExprPtr left, ExprPtr right);
  Result<ExprPtr> bind_between(const Json& body, bool negated);
  // A comparison of two values or of two rows.
  Result<ExprPtr> bind_compared(char op, std::string_view name, const Json& left, const Json& right);
  // One of the operands is a row.
  Result<ExprPtr> bind_row_operator(std::string_view kind, std::string_view name, const Json& left,
                                    const Json& right);
  Result<ExprPtr> bind_row_compare(char op, std::string_view name, const Json& left, const Json& right);
  Result<ExprPtr> bind_row_in(const Json& body, const Json& items);
  Result<ExprPtr> bind_row_null_test(const Json& row, bool is_null);
  Status bind_row(const Json& row, std::size_t wanted, std::vector<ExprPtr>& columns);
  Result<ExprPtr> compare_rows(char op, std::string_view name, std::vector<ExprPtr> left,
                               std::vector<ExprPtr> right);
  Result<ExprPtr> bind_like(const Json& body);
  Result<ExprPtr> like_of(char op, std::string_view name, bool ignores_case, ExprPtr value, ExprPtr pattern);
  Result<ExprPtr> bind_null_if(const Json& body);
  Result<ExprPtr> bind_logical(const Json& body);
  Result<ExprPtr> bind_boolean_test(const Json& body);
  Result<ExprPtr> bind_case(const Json& body);
  Result<ExprPtr> bind_variadic(ExprKind kind, std::string_view name, const Json& args);
  Result<ExprPtr> bind_cast(const Json& body);
  // INTERVAL '5' DAY: the literal counts the last of the fields that the type names.
  static Result<ExprPtr> bind_interval(std::string_view literal, const Type& type);
  // A literal as a value of the type, whose modifier is not applied to other types than intervals.
  Result<ExprPtr> read_literal(const std::string& text, const Type& type) const;
  // make_interval(days => 10): any of its arguments.
  Result<ExprPtr> bind_make_interval(const Json& args);
  // `wanted`: the array that it is cast to; without an identity: none.
  Result<ExprPtr> bind_array(const Json& body, Type wanted);
  Result<ExprPtr> bind_subscript(const Json& body);
  Result<ExprPtr> bind_letter(ExprPtr name, const Json& subscript);
  // value['a'][0] is value #> ARRAY['a', '0'].
  Result<ExprPtr> bind_json_subscripts(ExprPtr value, const Json& steps);
  Result<ExprPtr> bind_collate(const Json& body);
  Result<ExprPtr> bind_call(const Json& body);
  Result<ExprPtr> no_function_of_schema(const Json& body);
  Result<ExprPtr> bind_routine_value(const Json& body,
                                     const std::shared_ptr<const RoutineSignature>& signature);
  Result<ExprPtr> bind_aggregate(std::string_view name, const Json& body);
  Result<ExprPtr> bind_window(const Json& body);
  Result<ExprPtr> bind_grouping(const Json& body);
  Status bind_window_parts(const Json& body, std::string_view name, WindowCall& call);
  Status bind_window_arguments(const Json& body, std::string_view name, WindowCall& call);
  Status bind_frame(const Json& window, WindowCall& call);
  Status bind_frame_offset(const Json& json, FrameBound bound, WindowCall& call, ExprPtr& offset,
                           ExprPtr& value);
  // Gives the offset its type, and makes the value that an end of the frame is compared with.
  Status fit_frame_offset(FrameBound bound, WindowCall& call, ExprPtr& offset, ExprPtr& value);
  Status bind_json_aggregate(std::string_view name, std::vector<ExprPtr> args, Aggregate& aggregate);
  // One that the statement has already is not calculated twice.
  Result<ExprPtr> add_aggregate(Aggregate aggregate, const Json& body);
  Status bind_aggregate_parts(const Json& body, std::vector<ExprPtr>& args, std::vector<OrderItem>& order,
                              ExprPtr& filter);
  Result<ExprPtr> bind_concat(std::vector<ExprPtr> args);
  // concat_ws() and format().
  Result<ExprPtr> bind_joined_texts(std::vector<ExprPtr> args);
  Result<ExprPtr> bind_format(std::vector<ExprPtr> args);
  Status bind_shown(ExprPtr& value);
  Result<ExprPtr> bind_json_object(std::string_view name, std::vector<ExprPtr> args);
  Result<ExprPtr> bind_json_array(std::vector<ExprPtr> args, TypeId type);
  // The text of the JSON of a value, as to_json() or to_jsonb() give it; of NULL null.
  Result<ExprPtr> json_of(ExprPtr value, std::string_view function = "to_json");
  // The path of jsonb_extract_path(value, 'a', 'b') and its like.
  Status gather_path(std::vector<ExprPtr>& args);
  Result<ExprPtr> text_or(ExprPtr value, std::string_view replacement);
  static ExprPtr joined(ExprPtr left, ExprPtr right);
  Result<ExprPtr> bind_value_function(const Json& body);
  Result<ExprPtr> bind_enumeration_function(std::string_view name, std::vector<ExprPtr> args);
  Result<ExprPtr> bind_subquery(const Json& body);

  Status unify(ExprPtr& left, ExprPtr& right, std::string_view operator_name);
  // Binds the value and the list of IN.
  Status unify_list(std::span<ExprPtr> exprs);
  // Evaluates an expression that is constant; an error is left for the execution.
  ExprPtr fold(ExprPtr expr) const;
  // An error is in the literal's text: notes its place.
  void note_literal(const Expr& expr);

  std::vector<Type>& parameters_;
  const SessionFacts* facts_;
  ErrorPlace* place_;
  // Literals without a type of their own, with their places in the text. Their types are inferred later.
  std::vector<std::pair<const Expr*, std::int64_t>> literals_;
  Scope scope_;
  std::map<const Json*, std::uint32_t> set_calls_;
  StatementBinder* statement_ = nullptr;
  StatementBinder* routines_ = nullptr;
  const VariableScope* variables_ = nullptr;
  OuterRows* outer_ = nullptr;
  std::vector<Aggregate>* aggregates_ = nullptr;
  // Within an aggregate that is a window function: those of the query's groups.
  std::vector<Aggregate>* group_aggregates_ = nullptr;
  std::string_view clause_ = "this place";
  std::vector<std::vector<ExprPtr>> grouping_calls_;
  std::vector<WindowCall>* windows_ = nullptr;
  const Json* window_clause_ = nullptr;
  int depth_ = 0;
};

// Whether it is ROW(...) or (a, b).
bool is_row(const Json& json);
// The error of a call of a function that does not exist with arguments of these types.
Status no_such_function(std::string_view name, std::span<const ExprPtr> args);
// The error of a polymorphic function whose arguments have no types.
Status undecided_type();
// A parameter of the type "any" does not get a type.
Status check_any(std::span<const ExprPtr> args);
// The clause that the message names where an aggregate stands in another one.
inline constexpr std::string_view kNestedAggregate = "an aggregate function";
// The columns from that one on are the values of window functions, until use_windows().
inline constexpr std::uint32_t kFirstWindowColumn = 1 << 24;
// Until the groups are known, a call of GROUPING() is the column with this number, or behind it.
inline constexpr std::uint32_t kFirstGroupingColumn = 1 << 23;
bool is_aggregate(std::string_view name);
bool is_window_function(std::string_view name);
// Whether a function that is not written in SQL has the name.
bool is_builtin_function(std::string_view name);
// The names that a call of such a function may have: "f", or "public.f"; empty: it is of another schema.
std::string_view name_of_routine(const Json& name);
// A name that may be preceded by pg_catalog; empty: it is of another schema.
std::string_view name_in_catalog(const Json& name);
// The type of a literal that is compared with a value of another one: varchar and the objects of the catalog
// have no operators of their own.
TypeId literal_type(const Type& other);
// The op of ExprKind::compare for an operator's name; nullopt: it compares nothing.
std::optional<char> comparison_operator(std::string_view name);
// The array of such elements. feature_not_supported: there is none.
Result<Type> array_of(TypeId element);
// The type that a TypeName node means. undefined_object, feature_not_supported. `facts`: of a session; null:
// only types that the server has by itself are known.
Result<Type> bind_type(const Json& type_name, const SessionFacts* facts);
// The name of an output column without an alias, as PostgreSQL chooses it.
std::string column_name_of(const Json& expression);

}  // namespace namdb::sql
