// Tables, views, sequences and queries of WITH in FROM; and the whole of a FROM with its WHERE.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "compute/sql/bind/bind_role.h"
#include "compute/sql/bind/bind_set_function.h"
#include "compute/sql/bind/bind_statement.h"
#include "compute/sql/bind/check_status.h"
#include "compute/sql/bind/from_binder.h"
#include "compute/sql/plan/conditions.h"
#include "compute/sql/plan/key_path.h"

namespace namdb::sql {

Status FromBinder::bind(const Json& items) {
  for (const Json& item : items) {
    NAMDB_SQL_ASSIGN(Part part, bind_item(item));
    use_filters(part);
    add_part(whole_, std::move(part));
  }
  return {};
}

Status FromBinder::bind_changed(const Json& range_var, ChangedJoin& changed) {
  NAMDB_SQL_ASSIGN(Source source, bind_relation_source(binder_, range_var));
  if (source.table == nullptr)
    return Status(ErrorCode::insufficient_privilege, "table " + source.name + " can only be read");
  NAMDB_SQL_CHECK(check_changeable(source.table->name));
  binder_.writes.push_back(source.table->id);
  source.to_change = true;
  changed.table = source.table;
  changed.name = source.name;
  NAMDB_SQL_ASSIGN(Part whole, add_table(range_var, std::move(source), {}));
  changed.first_column = tables_.back().first_column;
  add_part(whole, std::move(whole_));
  whole_ = std::move(whole);
  return {};
}

Status FromBinder::bind_set_calls(const Json& targets) {
  std::vector<const Json*> calls;
  NAMDB_SQL_CHECK(find_set_calls(expressions_, targets, calls));
  if (calls.empty()) return {};
  expressions_.set_scope(scope());
  expressions_.set_aggregates(nullptr, "functions that give several rows");
  Source source;
  source.function = std::make_unique<SetFunction>();
  std::vector<std::pair<const Json*, std::size_t>> columns;
  for (const Json* call : calls) {
    columns.emplace_back(node(*call).body, source.function->columns.size());
    NAMDB_SQL_CHECK(bind_set_call(expressions_, *call, *source.function));
    if (source.function->columns.size() > columns.back().second + 1)
      return unsupported("a function of several columns in a select list");
  }
  NAMDB_SQL_ASSIGN(Part part, add_table(targets, std::move(source), {}));
  const std::uint32_t first = tables_.back().first_column;
  for (const auto& [call, column] : columns)
    expressions_.set_call(call, first + static_cast<std::uint32_t>(column));
  part.shown.clear();
  add_part(whole_, std::move(part));
  return {};
}

void FromBinder::add_part(Part& whole, Part part) {
  whole.tables.insert(whole.tables.end(), part.tables.begin(), part.tables.end());
  std::ranges::move(part.shown, std::back_inserter(whole.shown));
  std::ranges::move(part.filters, std::back_inserter(whole.filters));
}

void FromBinder::use_filters(Part& part) {
  std::ranges::move(std::exchange(part.filters, {}), std::back_inserter(conditions_));
}

Scope FromBinder::scope_of_part(const Part& part) const {
  Scope scope;
  for (const std::size_t table : part.tables) scope.relations.push_back(all_.relations[table]);
  scope.columns = all_.columns;
  scope.shown = part.shown;
  return scope;
}

Result<FromBinder::Part> FromBinder::bind_item(const Json& item) {
  const Node relation = node(item);
  if (relation.kind == "RangeVar") return bind_relation(*relation.body);
  if (relation.kind == "JoinExpr") return bind_join(*relation.body);
  if (relation.kind == "RangeSubselect") return bind_subselect(*relation.body);
  if (relation.kind == "RangeFunction") return bind_function(*relation.body);
  return unsupported(relation);
}

Result<FromBinder::Part> FromBinder::bind_relation(const Json& range_var) {
  if (const CommonTable* const named = find_common_table(range_var))
    return bind_common_table(range_var, *named);
  if (const View* const view = find_view(range_var)) {
    NAMDB_SQL_ASSIGN(ViewQuery query, bind_view_query(binder_, *view));
    relation_ = &range_var;
    const Json* const alias = sql::find(range_var, "alias");
    if (query.is_plain && (alias == nullptr || list(*alias, "colnames").empty()))
      return add_plain_view(range_var, *view, std::move(query.bound));
    CommonTable named;
    named.name = view->name;
    return add_derived(range_var, std::move(query.bound), named);
  }
  if (names_sequence(range_var)) {
    const std::string name(text(range_var, "relname"));
    NAMDB_SQL_ASSIGN(BoundQuery query, bind_sequence_query(binder_, name));
    CommonTable named;
    named.name = name;
    return add_derived(range_var, std::move(query), named);
  }
  NAMDB_SQL_ASSIGN(Source source, bind_relation_source(binder_, range_var));
  require_read(binder_, source);
  relation_ = &range_var;
  return add_table(range_var, std::move(source), {});
}

const View* FromBinder::find_view(const Json& range_var) const {
  const std::string_view schema = text(range_var, "schemaname");
  const std::string_view name = text(range_var, "relname");
  if ((!schema.empty() && schema != "public") || binder_.input.tables.contains(name)) return nullptr;
  const auto found = binder_.input.views.find(name);
  return found == binder_.input.views.end() ? nullptr : found->second.get();
}

bool FromBinder::names_sequence(const Json& range_var) const {
  const std::string_view schema = text(range_var, "schemaname");
  return (schema.empty() || schema == "public") &&
         binder_.input.sequences.contains(text(range_var, "relname"));
}

void FromBinder::hide_later_columns(const Json& body, std::vector<Scope::Column>& columns) const {
  if (binder_.view == nullptr || relation_ != &body) return;
  const auto relation = binder_.view->relations.find(text(body, "relname"));
  if (relation == binder_.view->relations.end()) return;
  for (Scope::Column& column : columns) {
    const std::vector<std::string>& known = relation->second.columns;
    column.hidden = column.hidden || std::ranges::find(known, column.name) == known.end();
  }
}

const CommonTable* FromBinder::find_common_table(const Json& range_var) const {
  if (!text(range_var, "schemaname").empty()) return nullptr;
  const auto& all = binder_.common_tables;
  const auto found = std::find_if(all.rbegin(), all.rend(), [&range_var](const CommonTable& table) {
    return table.name == text(range_var, "relname");
  });
  return found == all.rend() ? nullptr : &*found;
}

Result<FromBinder::Part> FromBinder::bind_common_table(const Json& range_var, const CommonTable& named) {
  if (named.working != nullptr) return bind_working_table(range_var, named);
  if (named.outer != nullptr && named.outer != expressions_.outer())
    return unsupported("a WITH of a subquery, in a subquery within");
  const CommonTable table = named;
  auto& all = binder_.common_tables;
  const auto position = static_cast<std::size_t>(&named - all.data());
  std::vector<CommonTable> later(std::make_move_iterator(all.begin() + static_cast<std::ptrdiff_t>(position)),
                                 std::make_move_iterator(all.end()));
  all.resize(position);
  Result<BoundQuery> bound = bind_common_query(binder_, table);
  std::ranges::move(later, std::back_inserter(all));
  if (!bound.ok()) return bound.status();
  return add_derived(range_var, std::move(bound).value(), table);
}

Result<FromBinder::Part> FromBinder::bind_working_table(const Json& range_var, const CommonTable& named) {
  if (named.is_kept && !named.has_rows) {
    return located(binder_.input.place, range_var,
                   Status(ErrorCode::feature_not_supported,
                          "WITH query \"" + named.name + "\" does not have a RETURNING clause"));
  }
  if (!named.is_kept && named.outer != expressions_.outer()) {
    return Status(ErrorCode::invalid_recursion,
                  "recursive reference to query \"" + named.name + "\" must not appear within a subquery");
  }
  Source source;
  source.working = named.working;
  source.name = named.name;
  return add_table(range_var, std::move(source), named.is_kept ? named.columns : std::vector<std::string>());
}

Result<FromBinder::Part> FromBinder::add_derived(const Json& body, BoundQuery query,
                                                 const CommonTable& named) {
  auto table = std::make_shared<DerivedTable>();
  table->columns = std::move(query.columns);
  table->query = std::move(query.select);
  Source source;
  source.derived = std::move(table);
  source.name = named.name;
  return add_table(body, std::move(source), named.columns);
}

Result<FromBinder::Part> FromBinder::add_plain_view(const Json& body, const View& view, BoundQuery query) {
  SelectPlan& select = *query.select;
  Source source;
  source.table = select.source.table;
  source.index_expressions = select.source.index_expressions;
  source.name = view.name;
  std::vector<std::string> names_of_columns(source.table->schema.columns().size());
  for (std::size_t i = 0; i < select.targets.size(); ++i)
    names_of_columns[select.targets[i]->index] = view.columns[i].name;
  NAMDB_SQL_ASSIGN(Part part, add_table(body, std::move(source), std::move(names_of_columns)));
  // They are columns of the view.
  const std::uint32_t first = tables_.back().first_column;
  for (std::size_t i = first; i < all_.columns.size(); ++i)
    all_.columns[i].table = all_.columns[i].number = 0;
  for (std::size_t i = 0; i < select.targets.size(); ++i) {
    Scope::Column& column = all_.columns[first + select.targets[i]->index];
    column.table = stored_oid(view.id, 0);
    column.number = static_cast<std::uint16_t>(i + 1);
  }
  if (select.source.filter == nullptr) return part;
  std::vector<std::uint32_t> places(select.source.table->schema.columns().size());
  for (std::uint32_t i = 0; i < places.size(); ++i) places[i] = first + i;
  renumber_columns(*select.source.filter, places);
  part.filters = take_conjuncts(std::move(select.source.filter));
  return part;
}

Result<FromBinder::Part> FromBinder::add_table(const Json& body, Source source,
                                               std::vector<std::string> names_of_columns) {
  if (tables_.size() >= kMaxTables) {
    return Status(ErrorCode::limit_exceeded,
                  "a statement can read at most " + std::to_string(kMaxTables) + " tables");
  }
  JoinTable table;
  table.source = std::move(source);
  if (const Json* alias = find(body, "alias")) {
    table.source.name = text(*alias, "aliasname");
    if (!list(*alias, "colnames").empty()) names_of_columns.clear();
    for (const std::string_view name : names(list(*alias, "colnames"))) names_of_columns.emplace_back(name);
  }
  if (all_.find(table.source.name) != nullptr) {
    return located(binder_.input.place, body,
                   Status(ErrorCode::duplicate_alias,
                          "table name \"" + table.source.name + "\" specified more than once"));
  }
  table.indexes = indexes_of(binder_.input, table.source);
  std::vector<Scope::Column> own = columns_of(table.source);
  const bool renames_first =
      sql::find(body, "alias") != nullptr && !list(*sql::find(body, "alias"), "colnames").empty();
  // An alias names columns that are shown.
  const auto unnamed = renames_first ? std::ranges::count(own, true, &Scope::Column::hidden) : 0;
  const std::size_t available = own.size() - static_cast<std::size_t>(unnamed);
  if (available < names_of_columns.size()) {
    return Status(ErrorCode::invalid_column_reference,
                  "table \"" + table.source.name + "\" has " + std::to_string(available) +
                      " columns available but " + std::to_string(names_of_columns.size()) +
                      " columns specified");
  }
  if (renames_first) hide_later_columns(body, own);
  for (std::size_t i = 0; i < names_of_columns.size(); ++i) {
    own[i].name = names_of_columns[i];
    own[i].hidden = own[i].hidden || own[i].name.empty();
  }
  if (!renames_first) hide_later_columns(body, own);
  all_.add(table.source.name, table_name_of(table.source), own);
  table.first_column = all_.relations.back().first_column;
  table.columns = all_.relations.back().columns;
  Part part;
  const auto shown = own.size() - std::ranges::count(own, true, &Scope::Column::hidden);
  part.shown.assign(all_.shown.end() - static_cast<std::ptrdiff_t>(shown), all_.shown.end());
  part.tables.push_back(tables_.size());
  tables_.push_back(std::move(table));
  return part;
}

Status bind_where(ExpressionBinder& expressions, const Json* where, ExprPtr& filter) {
  if (where == nullptr) return {};
  expressions.set_aggregates(nullptr, "WHERE");
  NAMDB_SQL_ASSIGN(filter, expressions.bind_condition(*where, "WHERE"));
  return {};
}

Result<ChangedJoin> bind_changed_join(StatementBinder& binder, ExpressionBinder& expressions,
                                      const Json& range_var, const Json& items, const Json* where) {
  FromBinder from(binder, expressions);
  ChangedJoin changed;
  NAMDB_SQL_CHECK(from.bind(items));
  NAMDB_SQL_CHECK(from.bind_changed(range_var, changed));
  expressions.set_scope(from.scope());
  ExprPtr filter;
  NAMDB_SQL_CHECK(bind_where(expressions, where, filter));
  std::vector<ExprPtr> conditions = std::move(from.conditions());
  std::ranges::move(take_conjuncts(std::move(filter)), std::back_inserter(conditions));
  changed.join = order_join(std::move(from.tables()), std::move(conditions));
  return changed;
}

Status bind_from(StatementBinder& binder, ExpressionBinder& expressions, const Json& body,
                 SelectPlan& select) {
  FromBinder from(binder, expressions);
  NAMDB_SQL_CHECK(from.bind(list(body, "fromClause")));
  NAMDB_SQL_CHECK(from.bind_set_calls(list(body, "targetList")));
  const Json* const where = find(body, "whereClause");
  expressions.set_scope(from.scope());
  ExprPtr filter;
  NAMDB_SQL_CHECK(bind_where(expressions, where, filter));
  std::vector<JoinTable>& tables = from.tables();
  if (tables.size() == 1) {
    select.source = std::move(tables.front().source);
    std::vector<ExprPtr> conditions = std::move(from.conditions());
    std::ranges::move(take_conjuncts(std::move(filter)), std::back_inserter(conditions));
    select.source.filter = join_conjuncts(std::move(conditions));
    find_key(select.source);
  } else if (tables.empty()) {
    select.source.filter = std::move(filter);
  } else {
    std::vector<ExprPtr> conditions = std::move(from.conditions());
    std::ranges::move(take_conjuncts(std::move(filter)), std::back_inserter(conditions));
    select.join = order_join(std::move(tables), std::move(conditions));
  }
  return {};
}

}  // namespace namdb::sql
