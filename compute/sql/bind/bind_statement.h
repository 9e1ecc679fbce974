// Declarations that the binders of the kinds of statements share.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "compute/sql/bind/bind_expression.h"
#include "compute/sql/bind/bind_input.h"
#include "compute/sql/plan/join_order.h"

namespace namdb::sql {

// A query that WITH has named. It is bound anew wherever its name stands.
struct CommonTable {
  std::string name;
  const Json* query = nullptr;
  std::vector<std::string> columns;  // names of the first ones
  OuterRows* outer = nullptr;
  bool recursive = false;                            // it may name itself
  std::shared_ptr<const WorkingTable> working = {};  // within its recursive part; and of one that is kept
  bool is_kept = false;                              // its rows: those of WithPlan
  bool has_rows = true;                              // false: it writes, and has no RETURNING
};

// The state of binding one statement: the parameters' types so far, and its input.
struct StatementBinder {
  const BindInput& input;
  std::vector<Type> parameters;
  std::vector<CommonTable> common_tables = {};  // that may be named; the last one counts
  std::size_t depth = 0;                        // of the query that is bound, in others
  std::size_t queries = 0;                      // that were bound, those of WITH once for each use
  bool reads_tables = false;
  bool gives_id = false;                   // to the transaction, in any query
  std::string_view locking_command = {};   // SelectPlan's
  std::vector<RequiredRight> rights = {};  // that the statement needs of its user
  // Plan's.
  std::vector<std::uint32_t> reads = {};
  std::vector<std::uint32_t> writes = {};
  bool calls_routines = false;
  bool calls_volatile = false;
  bool calls_read_only = false;
  // The statement itself, whose WITH may write. Then the queries of that WITH are kept.
  const Json* whole = nullptr;
  std::vector<WithPlan::Query> kept = {};
  const View* view = nullptr;   // whose query is bound; null: the statement's own
  bool expands_arrays = false;  // the statement was written anew: with_expanded_arrays()
};

struct BoundQuery {
  std::unique_ptr<SelectPlan> select;
  std::vector<ResultColumn> columns;
};

// Output columns whose type nothing decides: the text of a literal, or left to UNION.
enum class UnknownColumns : std::uint8_t { become_text, stay };

// Binds a query of any form. `outer`: the rows around it that it may read; null: none.
Result<BoundQuery> bind_query(StatementBinder& binder, const Json& body, OuterRows* outer,
                              UnknownColumns unknown);
// Names the queries of a WITH clause, and binds each once, so that an error in one that is not used is found,
// too. They may be named until they are taken out of binder.common_tables.
Status bind_with(StatementBinder& binder, const Json& clause, OuterRows* outer);
// Whether a query of that WITH writes.
bool has_writes(const Json& clause);
// Binds a query of a WITH that writes, and names it.
Status bind_kept_query(StatementBinder& binder, const Json& clause, const Json& table);
// The plan of a statement with such queries. Error feature_not_supported: it reads a table that they write.
Result<Plan> add_kept_queries(StatementBinder& binder, Plan plan);
// Binds the query of WITH, where its name stands.
Result<BoundQuery> bind_common_query(StatementBinder& binder, const CommonTable& table);
// A SELECT that is not a set operation. WITH is bound.
Result<BoundQuery> bind_plain_select(StatementBinder& binder, const Json& body, OuterRows* outer,
                                     UnknownColumns unknown);
// The output column whose position a constant gives, for that clause.
Result<ExprPtr> target_at(const Json& constant, const std::string& clause, const SelectPlan& select);
// An item of ORDER BY or DISTINCT ON: an output column's name or position, or any expression.
Result<ExprPtr> bind_order_value(ExpressionBinder& expressions, const Json& value, const std::string& clause,
                                 const SelectPlan& select, const std::vector<ResultColumn>& columns);
// The directions of an item of ORDER BY, without its value.
Result<OrderItem> order_item(const Json& sort);
// ORDER BY, LIMIT and OFFSET.
Status bind_order(ExpressionBinder& expressions, const Json& body, SelectPlan& select,
                  const std::vector<ResultColumn>& columns, ErrorPlace* place);
Status bind_limits(ExpressionBinder& expressions, const Json& body, ErrorPlace* place, SelectPlan& select);

Result<Plan> bind_select(StatementBinder& binder, const Json& body);
Result<Plan> bind_copy(StatementBinder& binder, const Json& body);
// Checks a column that COPY names.
Status check_copied(const layout::Column& column, ErrorPlace* place);
// The table of COPY FROM, and the columns that its data has.
Status bind_copied_columns(StatementBinder& binder, const Json& body, CopyFromPlan& copy);
Result<Plan> bind_insert(StatementBinder& binder, const Json& body);
Result<Plan> bind_update(StatementBinder& binder, const Json& body);
Result<Plan> bind_delete(StatementBinder& binder, const Json& body);
Result<Plan> bind_truncate(StatementBinder& binder, const Json& body);
Result<Plan> bind_call(StatementBinder& binder, const Json& body);
Result<Plan> bind_create_table(StatementBinder& binder, const Json& body);
Result<Plan> bind_alter_table(StatementBinder& binder, const Json& body);
Result<Plan> bind_rename(StatementBinder& binder, const Json& body);
Result<Plan> bind_create_view(StatementBinder& binder, const Json& body);
// The plan of DROP VIEW.
Plan drop_views(std::vector<std::string> names_of_views, bool if_exists, bool cascades);
// The query of a view that stands in FROM. `is_plain`: it selects columns of one table, in their order, and
// does nothing else but leave rows out: so the table may stand in its place.
struct ViewQuery {
  BoundQuery bound;
  bool is_plain = false;
};
Result<ViewQuery> bind_view_query(StatementBinder& binder, const View& view);
// The row of a sequence that is read as a table.
Result<BoundQuery> bind_sequence_query(StatementBinder& binder, const std::string& name);
// Makes the query of a SELECT with window functions, or its groups, those of a derived table, whose columns
// its expressions read.
void use_windows(const StatementBinder& binder, const Scope& scope, std::vector<WindowCall> windows,
                 SelectPlan& select);
// The names of WINDOW. windowing_error, undefined_object. `place` may be null.
Status check_window_names(const Json& clause, ErrorPlace* place);
// Chooses the ways to the rows of the tables.
void find_ways(const StatementBinder& binder, const Scope& scope, SelectPlan& select);
// Whether a statement's text names _pg_expandarray(), and its tree without the calls of that.
bool expands_arrays(std::string_view statement);
Result<Json> with_expanded_arrays(const Json& body);
Result<Plan> bind_create_index(StatementBinder& binder, const Json& body);
Result<Plan> bind_drop(StatementBinder& binder, const Json& body);
Result<Plan> bind_reindex(const Json& body);
Result<Plan> bind_create_sequence(StatementBinder& binder, const Json& body);
Result<Plan> bind_alter_sequence(StatementBinder& binder, const Json& body);
// In the parentheses of GENERATED AS IDENTITY.
Status bind_identity_options(const Json& options, ColumnSequence& sequence);
Result<Plan> bind_lock(StatementBinder& binder, const Json& body);
Result<Plan> bind_set_constraints(const Json& body);
// The plan of DROP SEQUENCE.
Plan drop_sequences(std::vector<std::string> names, bool if_exists);
Result<Plan> bind_transaction(const Json& body);
Result<Plan> bind_set(const Json& body);
Result<Plan> bind_explain(StatementBinder& binder, const Json& body);
Result<Plan> bind_prepare(StatementBinder& binder, const Json& body);
Result<Plan> bind_execute(StatementBinder& binder, const Json& body);
Result<Plan> bind_declare(StatementBinder& binder, const Json& body);
Result<Plan> bind_fetch(StatementBinder& binder, const Json& body);
// A statement of any kind.
Result<Plan> bind_body(StatementBinder& binder, Node statement);
// The plan gets the types of the parameters. indeterminate_datatype: one of them has none.
Status finish_plan(StatementBinder& binder, Plan& plan);
// Adds what the plan's tables and functions are: a part of finish_plan().
void add_facts(const StatementBinder& binder, Plan& plan);

// Whether the SELECT is one by which psql asks the system catalogs for words to complete; empty_completion()
// is a plan for it that returns no rows.
bool is_catalog_completion(const Json& body);
Result<Plan> empty_completion(const Json& body);

// Binds a list of output columns: of SELECT, and RETURNING.
Status bind_targets(ExpressionBinder& expressions, const Json& list, ErrorPlace* place,
                    UnknownColumns unknown, std::vector<ExprPtr>& targets,
                    std::vector<ResultColumn>& columns);
// Binds RETURNING, if the statement has it, for the rows of the table. Subqueries that read the table are
// refused: they would see what the statement has changed.
Status bind_returning(StatementBinder& binder, ExpressionBinder& expressions, const Json& body,
                      const storage::Table& table, std::vector<ExprPtr>& targets,
                      std::vector<ResultColumn>& columns);
// GROUP BY, HAVING and DISTINCT of a SELECT whose targets and order are bound. Afterwards these, and its
// window functions, read the values of groups, if it is grouped.
Status bind_groups(ExpressionBinder& expressions, const Json& body, ErrorPlace* place, SelectPlan& select,
                   std::span<WindowCall> windows, const std::vector<ResultColumn>& columns);
// FOR UPDATE and its like, of a SELECT whose other clauses are bound.
Status bind_locking(StatementBinder& binder, const ExpressionBinder& expressions, const Json& body,
                    SelectPlan& select);
// Error if a query with that construct has such a clause.
Status check_no_locking(const Json& body, std::string_view construct);
// ON CONFLICT of an INSERT into the table, whose name or alias in the statement is `name`.
Status bind_conflict(StatementBinder& binder, const Json& clause, const storage::TableRef& table,
                     const std::string& name, std::unique_ptr<ConflictPlan>& out);
// The column that a statement names to write it. undefined_column.
Result<std::uint32_t> changed_column(const storage::Table& table, std::string_view name);
// An assignment of UPDATE or ON CONFLICT: the column and its value. `assignments` has those before it.
Status bind_assignment(ExpressionBinder& expressions, const storage::Table& table, const Json& target,
                       ErrorPlace* place, std::vector<Assignment>& assignments);

// The RangeVar nodes of a query, wherever they stand.
std::vector<const Json*> range_vars(const Json& tree);
// The name in a RangeVar node. undefined_schema for a schema that namdb does not have.
Result<std::string> relation_name(const Json& range_var);
// Checks that a schema is the one that exists, or is not given.
Status check_schema(std::string_view schema);
// Makes a name for an index or a constraint as PostgreSQL does: "table_column_column_label", at most 63
// bytes.
std::string index_name(std::string_view table, std::span<const std::string_view> columns,
                       std::string_view label);
// The stored table that a RangeVar node names. undefined_table.
Result<storage::TableRef> bind_table(const StatementBinder& binder, const Json& range_var);
// The same of one that the statement changes. insufficient_privilege for the table of transactions.
Result<storage::TableRef> bind_changed_table(StatementBinder& binder, const Json& range_var);
Status check_changeable(const std::string& table);
// The indexes of the source's table; empty for a virtual table.
std::span<const storage::IndexRef> indexes_of(const BindInput& input, const Source& source);
// Binds a table in FROM and its alias.
Result<Source> bind_relation_source(StatementBinder& binder, const Json& range_var);
// `where` may be null.
Status bind_where(ExpressionBinder& expressions, const Json* where, ExprPtr& filter);
// Binds FROM and WHERE of a SELECT, and the functions of its select list that give several rows. Leaves the
// scope of their columns in `expressions`. In a join, the columns of expressions are positions in that scope
// until assign_slots().
Status bind_from(StatementBinder& binder, ExpressionBinder& expressions, const Json& body,
                 SelectPlan& select);
// The rows of UPDATE ... FROM and DELETE ... USING. Leaves the scope of all their columns in `expressions`:
// those of FROM, and behind them those of the table that is changed, which `*` gives first. In `join`, the
// source that is that table is joined.sources[i] with `first_column`. Otherwise as bind_from().
struct ChangedJoin {
  storage::TableRef table;         // that is changed
  std::string name;                // its alias or name
  std::uint32_t first_column = 0;  // in the scope
  std::unique_ptr<JoinPlan> join;
};
Result<ChangedJoin> bind_changed_join(StatementBinder& binder, ExpressionBinder& expressions,
                                      const Json& range_var, const Json& items, const Json* where);
// For people, as assign_slots() wants them.
std::vector<std::string> column_names(const Scope& scope);
// Binds the one table of UPDATE and DELETE, its alias, its condition, and the path by primary key if there is
// one. `where` may be null.
Result<Source> bind_source(StatementBinder& binder, ExpressionBinder& expressions, const Json& range_var,
                           const Json* where);

}  // namespace namdb::sql
