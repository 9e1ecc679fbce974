// FROM: tables and joins. Conditions of inner joins are those of WHERE; those of outer joins stay with the
// table on the nullable side, which is one table.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "compute/sql/bind/bind_role.h"
#include "compute/sql/bind/bind_set_function.h"
#include "compute/sql/bind/bind_statement.h"
#include "compute/sql/bind/check_status.h"
#include "compute/sql/plan/conditions.h"
#include "compute/sql/plan/key_path.h"
#include "compute/sql/system/virtual_table.h"
#include "compute/sql/value/enumeration.h"

namespace namdb::sql {
namespace {

constexpr std::size_t kMaxTables = 64;  // of one statement

class FromBinder {
 public:
  FromBinder(StatementBinder& binder, ExpressionBinder& expressions)
      : binder_(binder), expressions_(expressions) {}

  Status bind(const Json& items) {
    for (const Json& item : items) {
      NAMDB_SQL_ASSIGN(Part part, bind_item(item));
      use_filters(part);
      add_part(whole_, std::move(part));
    }
    return {};
  }

  // The table that UPDATE or DELETE changes, behind bind(): FROM does not see it.
  Status bind_changed(const Json& range_var, ChangedJoin& changed) {
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

  // The functions of the select list that give several rows: a table that has no name.
  Status bind_set_calls(const Json& targets) {
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

  Scope scope() const { return scope_of_part(whole_); }
  std::vector<JoinTable>& tables() { return tables_; }
  std::vector<ExprPtr>& conditions() { return conditions_; }

 private:
  using Barred = std::vector<std::size_t>;  // tables that functions and queries in FROM must not read

  // A table, or a join: its tables, and what `*` gives.
  struct Part {
    std::vector<std::size_t> tables;
    std::vector<Scope::Shown> shown;
    std::vector<ExprPtr> filters;  // of plain views
  };

  static void add_part(Part& whole, Part part) {
    whole.tables.insert(whole.tables.end(), part.tables.begin(), part.tables.end());
    std::ranges::move(part.shown, std::back_inserter(whole.shown));
    std::ranges::move(part.filters, std::back_inserter(whole.filters));
  }

  // Rows of the part are left out before they are joined.
  void use_filters(Part& part) {
    std::ranges::move(std::exchange(part.filters, {}), std::back_inserter(conditions_));
  }

  Scope scope_of_part(const Part& part) const {
    Scope scope;
    for (const std::size_t table : part.tables) scope.relations.push_back(all_.relations[table]);
    scope.columns = all_.columns;
    scope.shown = part.shown;
    return scope;
  }

  Result<Part> bind_item(const Json& item) {
    const Node relation = node(item);
    if (relation.kind == "RangeVar") return bind_relation(*relation.body);
    if (relation.kind == "JoinExpr") return bind_join(*relation.body);
    if (relation.kind == "RangeSubselect") return bind_subselect(*relation.body);
    if (relation.kind == "RangeFunction") return bind_function(*relation.body);
    return unsupported(relation);
  }

  Result<Part> bind_relation(const Json& range_var) {
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

  // A subquery in FROM does not see the other tables, unless it is LATERAL.
  Result<Part> bind_subselect(const Json& body) {
    NAMDB_SQL_CHECK(only(body, "a subquery in FROM", {"subquery", "alias", "lateral"}));
    if (find(body, "alias") == nullptr) {
      return Status(ErrorCode::syntax_error, "subquery in FROM must have an alias",
                    "For example, FROM (SELECT ...) [AS] foo.");
    }
    const Node query = node(*find(body, "subquery"));
    if (query.kind != "SelectStmt") return unsupported(query);
    if (flag(body, "lateral") && !all_.relations.empty()) {
      NAMDB_SQL_ASSIGN(std::optional<Part> part, bind_lateral(body, *query.body));
      if (part) return *std::move(part);
    }
    NAMDB_SQL_ASSIGN(BoundQuery bound,
                     bind_query(binder_, *query.body, expressions_.outer(), UnknownColumns::become_text));
    return add_derived(body, std::move(bound), {});
  }

  // nullopt: it reads no table before it.
  Result<std::optional<Part>> bind_lateral(const Json& body, const Json& query) {
    expressions_.set_scope(all_);
    expressions_.set_aggregates(nullptr, "a LATERAL subquery");
    OuterRows outer{&expressions_, {}};
    NAMDB_SQL_ASSIGN(BoundQuery bound, bind_query(binder_, query, &outer, UnknownColumns::become_text));
    bool reads_tables = false;
    for (const ExprPtr& argument : outer.arguments) {
      NAMDB_SQL_CHECK(check_barred(*argument));
      reads_tables = reads_tables || contains_column(*argument);
    }
    if (!reads_tables) return std::optional<Part>();
    // A row has at least one value.
    if (bound.select->targets.empty())
      bound.select->targets.push_back(make_constant({TypeId::boolean}, Datum::of_boolean(true)));
    NAMDB_SQL_ASSIGN(Part part, add_derived(body, std::move(bound), {}));
    tables_.back().source.lateral = std::move(outer.arguments);
    return std::optional<Part>(std::move(part));
  }

  // It sees the tables before it.
  Result<Part> bind_function(const Json& body) {
    expressions_.set_scope(all_);
    expressions_.set_aggregates(nullptr, "functions in FROM");
    if (const VirtualTable* const table = table_of_function(body)) {
      Source source;
      source.virtual_table = table;
      source.name = table->name;
      return add_table(body, std::move(source), {});
    }
    NAMDB_SQL_ASSIGN(SetFunction function, bind_range_function(expressions_, body));
    for (const SetFunction::Call& made : function.calls) {
      for (const ExprPtr& argument : made.args) NAMDB_SQL_CHECK(check_barred(*argument));
    }
    Source source;
    source.name = function.columns.front().name;
    // An alias without columns names the one column, too, unless the function itself names it.
    const SetFunction::Call& call = function.calls.front();
    const RoutineCall* const routine = call.args.front()->routine.get();
    const bool is_named = call.kind == SetFunction::Kind::json_elements ||
                          (routine != nullptr && routine->signature->has_outputs());
    if (const Json* alias = find(body, "alias"); alias != nullptr && function.calls.size() == 1 && !is_named)
      function.columns.front().name = text(*alias, "aliasname");
    source.function = std::make_unique<SetFunction>(std::move(function));
    return add_table(body, std::move(source), {});
  }

  // A function or query on the right side of RIGHT JOIN gives rows that are there without the left side's.
  Status check_barred(const Expr& expr) const {
    if (expr.kind == ExprKind::column) {
      for (const std::size_t table : barred_) {
        const Scope::Relation& relation = all_.relations[table];
        if (expr.index < relation.first_column || expr.index >= relation.first_column + relation.columns)
          continue;
        return detailed(binder_.input.place,
                        Status(ErrorCode::invalid_column_reference,
                               "invalid reference to FROM-clause entry for table \"" + relation.name + "\""),
                        "The combining JOIN type must be INNER or LEFT for a LATERAL reference.");
      }
    }
    for (const ExprPtr& argument : expr.args) NAMDB_SQL_CHECK(check_barred(*argument));
    return {};
  }

  // pg_get_keywords().
  static const VirtualTable* table_of_function(const Json& body) {
    const Json& functions = list(body, "functions");
    if (functions.size() != 1 || flag(body, "ordinality") || flag(body, "is_rowsfrom")) return nullptr;
    const Node call = node(list(*node(functions[0]).body, "items")[0]);
    constexpr std::string_view kKeywords = "pg_get_keywords";
    const bool is_call = call.kind == "FuncCall" &&
                         name_in_catalog(list(*call.body, "funcname")) == kKeywords &&
                         list(*call.body, "args").empty();
    return is_call ? find_virtual_table("pg_catalog", kKeywords) : nullptr;
  }

  const View* find_view(const Json& range_var) const {
    const std::string_view schema = text(range_var, "schemaname");
    const std::string_view name = text(range_var, "relname");
    if ((!schema.empty() && schema != "public") || binder_.input.tables.contains(name)) return nullptr;
    const auto found = binder_.input.views.find(name);
    return found == binder_.input.views.end() ? nullptr : found->second.get();
  }

  bool names_sequence(const Json& range_var) const {
    const std::string_view schema = text(range_var, "schemaname");
    return (schema.empty() || schema == "public") &&
           binder_.input.sequences.contains(text(range_var, "relname"));
  }

  // In the query of a view, `*` gives the columns that there were when it was created.
  void hide_later_columns(const Json& body, std::vector<Scope::Column>& columns) const {
    if (binder_.view == nullptr || relation_ != &body) return;
    const auto relation = binder_.view->relations.find(text(body, "relname"));
    if (relation == binder_.view->relations.end()) return;
    for (Scope::Column& column : columns) {
      const std::vector<std::string>& known = relation->second.columns;
      column.hidden = column.hidden || std::ranges::find(known, column.name) == known.end();
    }
  }

  const CommonTable* find_common_table(const Json& range_var) const {
    if (!text(range_var, "schemaname").empty()) return nullptr;
    const auto& all = binder_.common_tables;
    const auto found = std::find_if(all.rbegin(), all.rend(), [&range_var](const CommonTable& table) {
      return table.name == text(range_var, "relname");
    });
    return found == all.rend() ? nullptr : &*found;
  }

  // Its query sees those that WITH has named before it.
  Result<Part> bind_common_table(const Json& range_var, const CommonTable& named) {
    if (named.working != nullptr) return bind_working_table(range_var, named);
    if (named.outer != nullptr && named.outer != expressions_.outer())
      return unsupported("a WITH of a subquery, in a subquery within");
    const CommonTable table = named;
    auto& all = binder_.common_tables;
    const auto position = static_cast<std::size_t>(&named - all.data());
    std::vector<CommonTable> later(
        std::make_move_iterator(all.begin() + static_cast<std::ptrdiff_t>(position)),
        std::make_move_iterator(all.end()));
    all.resize(position);
    Result<BoundQuery> bound = bind_common_query(binder_, table);
    std::ranges::move(later, std::back_inserter(all));
    if (!bound.ok()) return bound.status();
    return add_derived(range_var, std::move(bound).value(), table);
  }

  // A subquery may run once for several rounds.
  Result<Part> bind_working_table(const Json& range_var, const CommonTable& named) {
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
    return add_table(range_var, std::move(source),
                     named.is_kept ? named.columns : std::vector<std::string>());
  }

  // `named`: of WITH.
  Result<Part> add_derived(const Json& body, BoundQuery query, const CommonTable& named) {
    auto table = std::make_shared<DerivedTable>();
    table->columns = std::move(query.columns);
    table->query = std::move(query.select);
    Source source;
    source.derived = std::move(table);
    source.name = named.name;
    return add_table(body, std::move(source), named.columns);
  }

  // The table that the view reads, with the view's columns, and its condition as one of the statement's.
  Result<Part> add_plain_view(const Json& body, const View& view, BoundQuery query) {
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

  // `names`: of its first columns, unless the alias has some; a column whose name becomes empty is hidden.
  Result<Part> add_table(const Json& body, Source source, std::vector<std::string> names_of_columns) {
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

  Result<Part> bind_join(const Json& join) {
    NAMDB_SQL_CHECK(
        only(join, "a join", {"jointype", "isNatural", "larg", "rarg", "usingClause", "quals", "rtindex"}));
    const std::string_view type = text(join, "jointype");
    const bool full = type == "JOIN_FULL";
    if (++depth_ > kMaxTables) return unsupported("a join of so many tables");
    NAMDB_SQL_ASSIGN(Part left, bind_item(*find(join, "larg")));
    const Barred outside =
        std::exchange(barred_, full || type == "JOIN_RIGHT" ? Barred(left.tables) : barred_);
    Result<Part> bound_right = bind_item(*find(join, "rarg"));
    barred_ = outside;
    if (!bound_right.ok()) return bound_right.status();
    Part right = std::move(bound_right).value();
    --depth_;
    if (full) return bind_full_join(join, std::move(left), std::move(right));
    const bool outer = type != "JOIN_INNER";
    const Part& nullable = type == "JOIN_RIGHT" ? left : right;
    if (outer && nullable.tables.size() != 1) {
      return unsupported(type == "JOIN_RIGHT" ? "a join as the left side of RIGHT JOIN"
                                              : "a join as the right side of LEFT JOIN");
    }
    const std::size_t nullable_table = nullable.tables.front();
    std::vector<ExprPtr> conditions;
    Part& other = type == "JOIN_RIGHT" ? right : left;
    if (outer) conditions = std::exchange(type == "JOIN_RIGHT" ? left.filters : right.filters, {});
    use_filters(other);
    if (!outer) use_filters(right);
    const std::vector<std::string> merged = merged_names(join, left, right);
    NAMDB_SQL_ASSIGN(Part joined, merge(std::move(left), std::move(right), merged, type, conditions));
    NAMDB_SQL_CHECK(bind_quals(join, joined, conditions));
    if (outer) {
      tables_[nullable_table].kind = JoinKind::left;
      tables_[nullable_table].on = std::move(conditions);
    } else {
      std::ranges::move(conditions, std::back_inserter(conditions_));
    }
    return joined;
  }

  // Its rows are made before those of all other joins.
  Result<Part> bind_full_join(const Json& join, Part left, Part right) {
    if (left.tables.size() != 1 || right.tables.size() != 1)
      return unsupported("a join as a side of FULL JOIN");
    if (std::ranges::any_of(tables_, &JoinTable::begins_full)) return unsupported("a second FULL JOIN");
    JoinTable& first = tables_[left.tables.front()];
    first.begins_full = true;
    first.own = std::exchange(left.filters, {});
    const std::size_t second = right.tables.front();
    if (depends_on_row(first.source) || depends_on_row(tables_[second].source))
      return unsupported("LATERAL with FULL JOIN");
    tables_[second].kind = JoinKind::full;
    tables_[second].own = std::exchange(right.filters, {});
    const std::vector<std::string> merged = merged_names(join, left, right);
    std::vector<ExprPtr>& on = tables_[second].on;
    NAMDB_SQL_ASSIGN(Part joined, merge(std::move(left), std::move(right), merged, "JOIN_FULL", on));
    NAMDB_SQL_CHECK(bind_quals(join, joined, on));
    return joined;
  }

  // The columns of USING or NATURAL.
  static std::vector<std::string> merged_names(const Json& join, const Part& left, const Part& right) {
    if (flag(join, "isNatural")) return common_names(left, right);
    std::vector<std::string> merged;
    for (const Json& name : list(join, "usingClause")) merged.emplace_back(text(*node(name).body, "sval"));
    return merged;
  }

  Status bind_quals(const Json& join, const Part& joined, std::vector<ExprPtr>& conditions) {
    const Json* const quals = find(join, "quals");
    if (quals == nullptr) return {};
    expressions_.set_scope(scope_of_part(joined));
    expressions_.set_aggregates(nullptr, "JOIN conditions");
    NAMDB_SQL_ASSIGN(ExprPtr on, expressions_.bind_condition(*quals, "JOIN/ON"));
    for (ExprPtr& condition : take_conjuncts(std::move(on))) conditions.push_back(std::move(condition));
    return {};
  }

  static std::vector<std::string> common_names(const Part& left, const Part& right) {
    std::vector<std::string> common;
    for (const Scope::Shown& shown : left.shown) {
      if (std::ranges::count(right.shown, shown.name, &Scope::Shown::name) != 0) common.push_back(shown.name);
    }
    return common;
  }

  static Result<Scope::Shown> take_shown(Part& part, const std::string& name, std::string_view side) {
    const auto found = std::ranges::find(part.shown, name, &Scope::Shown::name);
    if (found == part.shown.end()) {
      return Status(ErrorCode::undefined_column, "column \"" + name +
                                                     "\" specified in USING clause does not exist in " +
                                                     std::string(side) + " table");
    }
    if (std::ranges::count(part.shown, name, &Scope::Shown::name) > 1) {
      return Status(
          ErrorCode::ambiguous_column,
          "common column name \"" + name + "\" appears more than once in " + std::string(side) + " table");
    }
    Scope::Shown shown = *found;
    part.shown.erase(found);
    return shown;
  }

  // The columns of USING come first, as those of the side that is always there.
  Result<Part> merge(Part left, Part right, const std::vector<std::string>& names, std::string_view type,
                     std::vector<ExprPtr>& conditions) {
    Part joined;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
          names.begin() + static_cast<std::ptrdiff_t>(i)) {
        return Status(ErrorCode::duplicate_column,
                      "column name \"" + names[i] + "\" appears more than once in USING clause");
      }
      NAMDB_SQL_ASSIGN(const Scope::Shown from_left, take_shown(left, names[i], "left"));
      NAMDB_SQL_ASSIGN(const Scope::Shown from_right, take_shown(right, names[i], "right"));
      Result<ExprPtr> equal =
          expressions_.bind_equal(shown_column(all_, from_left), shown_column(all_, from_right));
      if (!equal.ok()) {
        return Status(ErrorCode::datatype_mismatch,
                      "JOIN/USING types " + std::string(type_name(from_left.type.id)) + " and " +
                          std::string(type_name(from_right.type.id)) + " cannot be matched");
      }
      Scope::Shown shown = type == "JOIN_RIGHT" ? from_right : from_left;
      shown.type = common_type(from_left.type, from_right.type, (*equal)->args[0]->type);
      if (type == "JOIN_FULL") shown.other = from_right.column;
      joined.shown.push_back(std::move(shown));
      conditions.push_back(std::move(equal).value());
    }
    add_part(joined, std::move(left));
    add_part(joined, std::move(right));
    return joined;
  }

  // Integers compare as they are, whatever their widths.
  static Type common_type(const Type& left, const Type& right, const Type& compared) {
    if (left == right) return left;
    if (!left.is_integer() || !right.is_integer()) return {compared.id};
    const bool left_is_wider = left.id == TypeId::int8 || right.id == TypeId::int2;
    return {left_is_wider ? left.id : right.id};
  }

  StatementBinder& binder_;
  ExpressionBinder& expressions_;
  std::vector<JoinTable> tables_;
  Scope all_;  // of the tables, in their order
  std::vector<ExprPtr> conditions_;
  const Json* relation_ = nullptr;  // the last name in FROM that is a table's or a view's
  Part whole_;
  std::size_t depth_ = 0;
  Barred barred_;
};

}  // namespace

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
