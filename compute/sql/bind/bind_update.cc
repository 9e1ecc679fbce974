// UPDATE and DELETE, of one table or with the rows of others (FROM, USING).
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "compute/sql/bind/bind_check.h"
#include "compute/sql/bind/bind_foreign_key.h"
#include "compute/sql/bind/bind_generated.h"
#include "compute/sql/bind/bind_role.h"
#include "compute/sql/bind/bind_statement.h"
#include "compute/sql/bind/bind_view_write.h"
#include "compute/sql/bind/check_status.h"
#include "compute/sql/plan/conditions.h"
#include "compute/sql/plan/index_path.h"
#include "compute/sql/plan/key_path.h"

namespace namdb::sql {
namespace {

// The table's rows that the view shows and the condition selects.
Result<Source> bind_view_rows(ExpressionBinder& expressions, ChangedView& view, const Json* where) {
  expressions.set_scope(view.scope);
  std::vector<ExprPtr> conditions;
  if (view.source.filter != nullptr) conditions.push_back(std::move(view.source.filter));
  ExprPtr own;
  NAMDB_SQL_CHECK(bind_where(expressions, where, own));
  if (own != nullptr) conditions.push_back(std::move(own));
  Source source = std::move(view.source);
  if (!conditions.empty()) source.filter = join_conjuncts(std::move(conditions));
  find_key(source);
  return source;
}

// Binds the rows that the statement changes. `items`: FROM or USING. `view`: null: it changes a table.
Status bind_rows(StatementBinder& binder, ExpressionBinder& expressions, const Json& body, const Json& items,
                 ChangedView* view, Source& source, ChangedJoin& joined) {
  const Json& relation = *find(body, "relation");
  const Json* const where = find(body, "whereClause");
  if (view != nullptr && !items.empty())
    return unsupported("a change of a view with the rows of other tables");
  if (!items.empty()) {
    NAMDB_SQL_ASSIGN(joined, bind_changed_join(binder, expressions, relation, items, where));
    source.table = joined.table;
    source.name = joined.name;
    return {};
  }
  NAMDB_SQL_ASSIGN(source, view != nullptr ? bind_view_rows(expressions, *view, where)
                                           : bind_source(binder, expressions, relation, where));
  find_index_path(source, indexes_of(binder.input, source), {});
  if (source.table == nullptr)
    return Status(ErrorCode::insufficient_privilege, "table " + source.name + " can only be read");
  // The condition is evaluated again for the rows that are changed.
  if (source.key.empty() && source.filter != nullptr && is_volatile(*source.filter))
    binder.calls_read_only = true;
  binder.writes.push_back(source.table->id);
  return check_changeable(source.table->name);
}

// The query calculates the assigned values, as its columns from `place` on.
void calculate_first(SelectPlan& query, std::vector<Assignment>& assignments, std::uint32_t place) {
  for (Assignment& assignment : assignments) {
    ExprPtr value = make_expr(ExprKind::column, assignment.value->type);
    value->index = place++;
    std::swap(value, assignment.value);
    query.targets.push_back(std::move(value));
  }
}

// Makes the plan of the join. `readers`: the statement's expressions that read the joined rows; afterwards
// they name columns as ChangedRowsPlan says. `first_values`: the assignments whose values are found before
// the first row is changed.
std::unique_ptr<ChangedRowsPlan> plan_join(const Scope& scope, ChangedJoin joined,
                                           const std::vector<Expr*>& readers,
                                           std::vector<Assignment>& first_values) {
  auto plan = std::make_unique<ChangedRowsPlan>();
  SelectPlan& query = plan->query;
  query.join = std::move(joined.join);
  const std::uint32_t first = joined.first_column;
  const auto columns = static_cast<std::uint32_t>(joined.table->schema.columns().size());
  for (const std::uint32_t column : joined.table->schema.key())
    query.targets.push_back(scope_column(scope, first + column));
  std::vector<bool> read(scope.columns.size());
  for (const Expr* reader : readers) for_each_column(*reader, [&read](std::uint32_t i) { read[i] = true; });
  std::vector<std::uint32_t> places(scope.columns.size());
  std::uint32_t next = columns;
  for (std::uint32_t i = 0; i < places.size(); ++i) {
    if (i >= first && i < first + columns) {
      places[i] = i - first;
    } else if (read[i]) {
      places[i] = next++;
      query.targets.push_back(scope_column(scope, i));
    }
  }
  for (Expr* reader : readers) renumber_columns(*reader, places);
  calculate_first(query, first_values, next);
  assign_slots(query, column_names(scope));
  return plan;
}

// Whether a subquery of the statement reads the table that it changes.
bool reads_itself(const StatementBinder& binder, const Source& source) {
  return std::ranges::count(binder.reads, source.table->id) > 1;
}

// All rows, and their new values, are found before the first one is changed.
std::unique_ptr<ChangedRowsPlan> plan_rows_first(const Scope& scope, Source& source,
                                                 std::vector<Assignment>& assignments) {
  auto plan = std::make_unique<ChangedRowsPlan>();
  SelectPlan& query = plan->query;
  for (const std::uint32_t column : source.table->schema.key())
    query.targets.push_back(scope_column(scope, column));
  calculate_first(query, assignments, static_cast<std::uint32_t>(source.table->schema.columns().size()));
  Source changed;
  changed.table = source.table;
  changed.name = source.name;
  query.source = std::exchange(source, std::move(changed));
  return plan;
}

void add_readers(const std::vector<ExprPtr>& exprs, std::vector<Expr*>& readers) {
  for (const ExprPtr& expr : exprs) readers.push_back(expr.get());
}

}  // namespace

Result<Plan> bind_update(StatementBinder& binder, const Json& given) {
  NAMDB_SQL_CHECK(
      only(given, "UPDATE",
           {"relation", "targetList", "whereClause", "fromClause", "returningList", "withClause"}));
  ErrorPlace* const place = binder.input.place;
  if (const Json* with = find(given, "withClause")) NAMDB_SQL_CHECK(bind_with(binder, *with, nullptr));
  const bool is_read = names_columns(given, {"whereClause", "returningList", "targetList"});
  const ViewChange change{"update", storage::kUpdatePrivilege, is_read, "targetList"};
  NAMDB_SQL_ASSIGN(std::optional<ChangedView> view, bind_changed_view(binder, given, change));
  const Json& body = view ? view->body : given;
  UpdatePlan update;
  ChangedJoin joined;
  ExpressionBinder expressions(binder.parameters, binder.input.facts, place);
  expressions.set_query(&binder, nullptr);
  NAMDB_SQL_CHECK(bind_rows(binder, expressions, body, list(body, "fromClause"), view ? &*view : nullptr,
                            update.source, joined));
  if (!view) require_changed(binder, update.source.table, storage::kUpdatePrivilege, is_read);
  expressions.set_aggregates(nullptr, "UPDATE");
  for (const Json& item : list(body, "targetList")) {
    NAMDB_SQL_CHECK(
        bind_assignment(expressions, *update.source.table, *node(item).body, place, update.assignments));
  }
  NAMDB_SQL_ASSIGN(update.checks, bind_checks_of(binder, *update.source.table));
  std::set<std::uint32_t> assigned;
  for (const Assignment& assignment : update.assignments) assigned.insert(assignment.column);
  keep_changed(update.checks, assigned);
  NAMDB_SQL_ASSIGN(update.foreign_keys,
                   foreign_keys_of_write(binder, update.source.table, WriteKind::updates, &assigned));
  Plan plan;
  plan.tag = "UPDATE";
  NAMDB_SQL_CHECK(
      bind_returning(binder, expressions, body, *update.source.table, update.returning, plan.columns));
  const bool values_first = reads_itself(binder, update.source);
  std::vector<Assignment> none;
  std::vector<Expr*> readers;
  if (!values_first) {
    for (const Assignment& assignment : update.assignments) readers.push_back(assignment.value.get());
  }
  add_readers(update.returning, readers);
  if (joined.join != nullptr) {
    update.joined =
        plan_join(expressions.scope(), std::move(joined), readers, values_first ? update.assignments : none);
  } else if (values_first) {
    update.joined = plan_rows_first(expressions.scope(), update.source, update.assignments);
  }
  plan.body = std::move(update);
  return plan;
}

Result<Plan> bind_delete(StatementBinder& binder, const Json& given) {
  NAMDB_SQL_CHECK(
      only(given, "DELETE", {"relation", "whereClause", "usingClause", "returningList", "withClause"}));
  if (const Json* with = find(given, "withClause")) NAMDB_SQL_CHECK(bind_with(binder, *with, nullptr));
  const bool is_read = names_columns(given, {"whereClause", "returningList"});
  const ViewChange change{"delete from", storage::kDeletePrivilege, is_read, nullptr};
  NAMDB_SQL_ASSIGN(std::optional<ChangedView> view, bind_changed_view(binder, given, change));
  const Json& body = view ? view->body : given;
  DeletePlan deletion;
  ChangedJoin joined;
  ExpressionBinder expressions(binder.parameters, binder.input.facts, binder.input.place);
  expressions.set_query(&binder, nullptr);
  NAMDB_SQL_CHECK(bind_rows(binder, expressions, body, list(body, "usingClause"), view ? &*view : nullptr,
                            deletion.source, joined));
  if (!view) require_changed(binder, deletion.source.table, storage::kDeletePrivilege, is_read);
  NAMDB_SQL_ASSIGN(deletion.foreign_keys,
                   foreign_keys_of_write(binder, deletion.source.table, WriteKind::deletes, nullptr));
  Plan plan;
  plan.tag = "DELETE";
  NAMDB_SQL_CHECK(
      bind_returning(binder, expressions, body, *deletion.source.table, deletion.returning, plan.columns));
  std::vector<Expr*> readers;
  add_readers(deletion.returning, readers);
  std::vector<Assignment> none;
  if (joined.join != nullptr) {
    deletion.joined = plan_join(expressions.scope(), std::move(joined), readers, none);
  } else if (reads_itself(binder, deletion.source)) {
    deletion.joined = plan_rows_first(expressions.scope(), deletion.source, none);
  }
  plan.body = std::move(deletion);
  return plan;
}

}  // namespace namdb::sql
