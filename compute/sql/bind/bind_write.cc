#include <algorithm>

#include <nlohmann/json.hpp>

#include "compute/sql/bind/bind_check.h"
#include "compute/sql/bind/bind_column.h"
#include "compute/sql/bind/bind_foreign_key.h"
#include "compute/sql/bind/bind_role.h"
#include "compute/sql/bind/bind_routine.h"
#include "compute/sql/bind/bind_statement.h"
#include "compute/sql/bind/bind_view_write.h"
#include "compute/sql/bind/check_status.h"
#include "compute/sql/plan/index_path.h"
#include "compute/sql/value/row_id.h"
#include "compute/sql/value/sequence_default.h"

namespace namdb::sql {
namespace {

// Adds a column to those that a statement lists.
Status add_column(const storage::Table& table, std::string_view name, std::vector<std::uint32_t>& columns) {
  NAMDB_SQL_ASSIGN(const std::uint32_t column, changed_column(table, name));
  if (std::ranges::find(columns, column) != columns.end()) {
    return Status(ErrorCode::duplicate_column,
                  "column \"" + std::string(name) + "\" specified more than once");
  }
  columns.push_back(column);
  return {};
}

// A statement that lists no columns means all that clients see.
void add_all_if_none(const storage::Table& table, std::vector<std::uint32_t>& columns) {
  if (!columns.empty()) return;
  for (std::uint32_t i = 0; i < shown_columns(table.schema).size(); ++i) columns.push_back(i);
}

Result<std::vector<std::uint32_t>> target_columns(const storage::Table& table, const Json& cols,
                                                  ErrorPlace* place) {
  std::vector<std::uint32_t> columns;
  for (const Json& item : cols) {
    const Json& target = *node(item).body;
    NAMDB_SQL_CHECK(only(target, "INSERT", {"name"}));
    if (Status status = add_column(table, text(target, "name"), columns); !status.ok())
      return located(place, target, std::move(status));
  }
  add_all_if_none(table, columns);
  return columns;
}

// Of a column that a statement gives a value.
Status check_given(const layout::Column& column, bool overriding, ErrorPlace* place) {
  if (is_generated(column)) {
    return detailed(place,
                    Status(ErrorCode::generated_always,
                           "cannot insert a non-DEFAULT value into column \"" + column.name + "\""),
                    "Column \"" + column.name + "\" is a generated column.");
  }
  const std::optional<SequenceDefault> filled = sequence_default_of(column);
  if (!filled || !filled->is_always() || overriding) return {};
  return Status(ErrorCode::generated_always,
                "cannot insert a non-DEFAULT value into column \"" + column.name + "\"",
                "Use OVERRIDING SYSTEM VALUE to override.");
}

// The values of a row's columns that were not given.
Status add_defaults(ExpressionBinder& expressions, const std::vector<layout::Column>& columns,
                    const std::vector<bool>& given, std::vector<ExprPtr>& row) {
  for (std::size_t column = 0; column < columns.size(); ++column) {
    if (given[column]) continue;
    NAMDB_SQL_ASSIGN(row[column], default_of(expressions, columns[column]));
  }
  return {};
}

// `overriding`: OVERRIDING SYSTEM VALUE.
Result<std::vector<ExprPtr>> bind_row(ExpressionBinder& expressions, const storage::Table& table,
                                      const std::vector<std::uint32_t>& columns, const Json& items,
                                      const Json& cols, bool overriding, ErrorPlace* place) {
  if (items.size() > columns.size()) {
    if (place != nullptr) place->note_begin(items[columns.size()]);
    return Status(ErrorCode::syntax_error, "INSERT has more expressions than target columns");
  }
  if (items.size() < cols.size()) {
    return located(place, *node(cols[items.size()]).body,
                   Status(ErrorCode::syntax_error, "INSERT has more target columns than expressions"));
  }
  const std::vector<layout::Column>& all = table.schema.columns();
  std::vector<ExprPtr> row(all.size());
  std::vector<bool> given(all.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::uint32_t column = columns[i];
    if (node(items[i]).kind == "SetToDefault") continue;
    if (Status status = check_given(all[column], overriding, place); !status.ok()) {
      if (place != nullptr) place->note_begin(items[i]);
      return status;
    }
    NAMDB_SQL_ASSIGN(row[column], expressions.bind(items[i]));
    if (Status status = coerce_to_column(expressions, row[column], all[column]); !status.ok()) {
      if (place != nullptr) place->note_begin(items[i]);
      return status;
    }
    given[column] = true;
  }
  NAMDB_SQL_CHECK(add_defaults(expressions, all, given, row));
  return row;
}

// The rows of INSERT come from a query: a SELECT, or VALUES with a query's clauses.
bool is_query(const Json& body) {
  const auto has = [&body](const char* clause) { return find(body, clause) != nullptr; };
  return list(body, "valuesLists").empty() || has("sortClause") || has("limitCount") || has("limitOffset") ||
         has("withClause");
}

// INSERT ... SELECT: the one row of expressions reads the query's columns.
Status bind_inserted_query(StatementBinder& binder, ExpressionBinder& expressions, const Json& body,
                           const Json& cols, const std::vector<std::uint32_t>& columns, bool overriding,
                           InsertPlan& insert) {
  NAMDB_SQL_ASSIGN(BoundQuery query, bind_query(binder, body, nullptr, UnknownColumns::stay));
  if (query.columns.size() > columns.size())
    return Status(ErrorCode::syntax_error, "INSERT has more expressions than target columns");
  if (query.columns.size() < cols.size())
    return Status(ErrorCode::syntax_error, "INSERT has more target columns than expressions");
  const std::vector<layout::Column>& all = insert.table->schema.columns();
  std::vector<ExprPtr> row(all.size());
  std::vector<bool> given(all.size());
  for (std::size_t i = 0; i < query.columns.size(); ++i) {
    const layout::Column& column = all[columns[i]];
    NAMDB_SQL_CHECK(check_given(column, overriding, binder.input.place));
    // A literal takes the column's type.
    ExprPtr& target = query.select->targets[i];
    if (target->type.id == TypeId::unknown) NAMDB_SQL_CHECK(coerce_to_column(expressions, target, column));
    ExprPtr value = make_expr(ExprKind::column, target->type);
    value->index = static_cast<std::uint32_t>(i);
    NAMDB_SQL_CHECK(coerce_to_column(expressions, value, column));
    row[columns[i]] = std::move(value);
    given[columns[i]] = true;
  }
  NAMDB_SQL_CHECK(add_defaults(expressions, all, given, row));
  insert.query = std::move(query.select);
  insert.rows.push_back(std::move(row));
  return {};
}

}  // namespace

Result<Plan> bind_insert(StatementBinder& binder, const Json& given) {
  NAMDB_SQL_CHECK(only(
      given, "INSERT",
      {"relation", "cols", "selectStmt", "override", "onConflictClause", "returningList", "withClause"}));
  const std::string_view override_kind = text(given, "override");
  const bool overriding = override_kind == "OVERRIDING_SYSTEM_VALUE";
  if (!overriding && override_kind != "OVERRIDING_NOT_SET") return unsupported("OVERRIDING USER VALUE");
  ErrorPlace* const place = binder.input.place;
  if (const Json* with = find(given, "withClause")) NAMDB_SQL_CHECK(bind_with(binder, *with, nullptr));
  const bool is_read = names_columns(given, {"returningList"});
  const ViewChange change{"insert into", storage::kInsertPrivilege, is_read, "cols"};
  NAMDB_SQL_ASSIGN(const std::optional<ChangedView> view, bind_changed_view(binder, given, change));
  const Json& body = view ? view->body : given;
  if (view && find(body, "onConflictClause") != nullptr) return unsupported("ON CONFLICT of a view");
  InsertPlan insert;
  NAMDB_SQL_ASSIGN(insert.table, bind_changed_table(binder, *find(body, "relation")));
  if (!view) require(binder, insert.table, storage::kInsertPrivilege);
  if (!view && is_read) require(binder, insert.table, storage::kSelectPrivilege);
  std::string name = insert.table->name;
  if (const Json* alias = find(*find(body, "relation"), "alias")) {
    NAMDB_SQL_CHECK(only(*alias, "an alias", {"aliasname"}));
    name = text(*alias, "aliasname");
  }
  NAMDB_SQL_ASSIGN(const std::vector<std::uint32_t> columns,
                   target_columns(*insert.table, list(body, "cols"), place));
  ExpressionBinder expressions(binder.parameters, binder.input.facts, place);
  expressions.set_query(&binder, nullptr);
  expressions.set_aggregates(nullptr, "VALUES");
  const Json& cols = list(given, "cols");
  const Json* source = find(body, "selectStmt");
  if (source == nullptr) {
    // INSERT ... DEFAULT VALUES
    NAMDB_SQL_ASSIGN(std::vector<ExprPtr> row, bind_row(expressions, *insert.table, columns, Json::array(),
                                                        Json::array(), overriding, nullptr));
    insert.rows.push_back(std::move(row));
  } else if (const Json& values = *node(*source).body; is_query(values)) {
    NAMDB_SQL_CHECK(bind_inserted_query(binder, expressions, values, cols, columns, overriding, insert));
  } else {
    std::size_t length = 0;
    for (const Json& item : list(values, "valuesLists")) {
      const std::size_t here = list(*node(item).body, "items").size();
      if (length != 0 && here != length)
        return Status(ErrorCode::syntax_error, "VALUES lists must all be the same length");
      length = here;
      NAMDB_SQL_ASSIGN(std::vector<ExprPtr> row,
                       bind_row(expressions, *insert.table, columns, list(*node(item).body, "items"), cols,
                                overriding, place));
      insert.rows.push_back(std::move(row));
    }
  }
  // It reads the rows that are there.
  if (find(body, "onConflictClause") != nullptr) binder.reads.push_back(insert.table->id);
  if (const Json* clause = find(body, "onConflictClause")) {
    const auto reads = std::ranges::count(binder.reads, insert.table->id);
    NAMDB_SQL_CHECK(bind_conflict(binder, *clause, insert.table, name, insert.conflict));
    if (std::ranges::count(binder.reads, insert.table->id) != reads)
      return unsupported("a subquery in ON CONFLICT that reads the changed table");
  }
  NAMDB_SQL_ASSIGN(insert.checks, bind_checks_of(binder, *insert.table));
  const bool updates = insert.conflict != nullptr && insert.conflict->updates;
  NAMDB_SQL_ASSIGN(
      insert.foreign_keys,
      foreign_keys_of_write(binder, insert.table,
                            updates ? WriteKind::inserts_or_updates : WriteKind::inserts, nullptr));
  Plan plan;
  plan.tag = "INSERT";
  Source written;
  written.table = insert.table;
  written.name = name;
  expressions.set_scope(view ? view->scope : scope_of(written));
  NAMDB_SQL_CHECK(bind_returning(binder, expressions, body, *insert.table, insert.returning, plan.columns));
  plan.body = std::move(insert);
  return plan;
}

Status check_copied(const layout::Column& column, ErrorPlace* place) {
  if (!is_generated(column)) return {};
  return detailed(
      place,
      Status(ErrorCode::invalid_column_reference, "column \"" + column.name + "\" is a generated column"),
      "Generated columns cannot be used in COPY.");
}

Status bind_copied_columns(StatementBinder& binder, const Json& body, CopyFromPlan& copy) {
  NAMDB_SQL_ASSIGN(copy.insert.table, bind_changed_table(binder, *find(body, "relation")));
  require(binder, copy.insert.table, storage::kInsertPrivilege);
  const std::vector<layout::Column>& all = copy.insert.table->schema.columns();
  for (const std::string_view name : names(list(body, "attlist"))) {
    NAMDB_SQL_CHECK(add_column(*copy.insert.table, name, copy.columns));
    NAMDB_SQL_CHECK(check_copied(all[copy.columns.back()], binder.input.place));
  }
  add_all_if_none(*copy.insert.table, copy.columns);
  std::erase_if(copy.columns, [&](std::uint32_t column) { return is_generated(all[column]); });
  ExpressionBinder expressions(binder.parameters, binder.input.facts, binder.input.place);
  expressions.set_query(&binder, nullptr);
  std::vector<bool> given(all.size());
  std::vector<ExprPtr> row(all.size());
  for (std::size_t i = 0; i < copy.columns.size(); ++i) {
    const std::uint32_t column = copy.columns[i];
    given[column] = true;
    copy.types.push_back(column_type(all[column]));
    row[column] = make_expr(ExprKind::column, copy.types.back());
    row[column]->index = static_cast<std::uint32_t>(i);
  }
  NAMDB_SQL_CHECK(add_defaults(expressions, all, given, row));
  copy.insert.rows.push_back(std::move(row));
  NAMDB_SQL_ASSIGN(copy.insert.checks, bind_checks_of(binder, *copy.insert.table));
  NAMDB_SQL_ASSIGN(copy.insert.foreign_keys,
                   foreign_keys_of_write(binder, copy.insert.table, WriteKind::inserts, nullptr));
  return {};
}

namespace {

// The tables that reference those of TRUNCATE are truncated with them, or it is refused.
Status add_referencing_tables(StatementBinder& binder, bool cascades, TruncatePlan& truncate) {
  const auto is_truncated = [&](const storage::Table& table) {
    return std::ranges::any_of(truncate.tables,
                               [&](const DeletePlan& one) { return one.source.table->id == table.id; });
  };
  for (std::size_t i = 0; i < truncate.tables.size(); ++i) {
    const storage::TableRef table = truncate.tables[i].source.table;
    for (const ReferencingKey& key : referencing_keys(binder.input, *table)) {
      if (is_truncated(*key.table)) continue;
      if (!cascades) {
        return detailed(binder.input.place,
                        Status(ErrorCode::feature_not_supported,
                               "cannot truncate a table referenced in a foreign key constraint",
                               "Truncate table \"" + key.table->name +
                                   "\" at the same time, or use TRUNCATE ... CASCADE."),
                        "Table \"" + key.table->name + "\" references \"" + table->name + "\".");
      }
      require(binder, key.table, storage::kTruncatePrivilege);
      DeletePlan& deletion = truncate.tables.emplace_back();
      deletion.source.table = key.table;
      deletion.source.name = key.table->name;
      binder.writes.push_back(key.table->id);
      truncate.cascades.push_back(key.table->name);
    }
  }
  return {};
}

}  // namespace

Result<Plan> bind_truncate(StatementBinder& binder, const Json& body) {
  NAMDB_SQL_CHECK(only(body, "TRUNCATE", {"relations", "restart_seqs", "behavior"}));
  TruncatePlan truncate;
  truncate.restarts_sequences = flag(body, "restart_seqs");
  for (const Json& item : list(body, "relations")) {
    DeletePlan& deletion = truncate.tables.emplace_back();
    NAMDB_SQL_ASSIGN(deletion.source.table, bind_changed_table(binder, *node(item).body));
    deletion.source.name = deletion.source.table->name;
    require(binder, deletion.source.table, storage::kTruncatePrivilege);
  }
  NAMDB_SQL_CHECK(add_referencing_tables(binder, text(body, "behavior") == "DROP_CASCADE", truncate));
  Plan plan;
  plan.tag = "TRUNCATE TABLE";
  plan.body = std::move(truncate);
  return plan;
}

Result<Plan> bind_call(StatementBinder& binder, const Json& body) {
  const Json& call = *find(body, "funccall");
  NAMDB_SQL_CHECK(only(call, "CALL", {"funcname", "args", "funcformat"}));
  const std::vector<std::string_view> parts = names(list(call, "funcname"));
  if (parts.empty() || parts.size() > 2 || (parts.size() == 2 && parts[0] != "public"))
    return unsupported("a procedure of another schema");
  const std::string_view name = parts.back();
  require_execute(binder, name, "procedure");
  const auto routine = binder.input.routines.find(name);
  if (routine != binder.input.routines.end()) return bind_routine_call(binder, call, routine->second);
  ExpressionBinder expressions(binder.parameters, binder.input.facts, binder.input.place);
  expressions.set_routines(&binder);
  expressions.set_variables(binder.input.variables);
  expressions.set_aggregates(nullptr, "CALL arguments");
  CallPlan plan_body;
  for (const Json& argument : list(call, "args")) {
    NAMDB_SQL_ASSIGN(ExprPtr value, expressions.bind(argument));
    plan_body.arguments.push_back(std::move(value));
  }
  plan_body.definition = binder.input.procedures->find(name);
  std::string signature;
  for (const ExprPtr& argument : plan_body.arguments)
    signature += (signature.empty() ? "" : ", ") + std::string(type_name(argument->type.id));
  const auto no_such = [&] {
    std::string hint =
        "No procedure matches the given name and argument types. You might need to add explicit "
        "type casts.";
    if (plan_body.definition != nullptr) {
      hint = "The procedure is " + std::string(name) + "(";
      for (const procedure::Parameter& parameter : plan_body.definition->parameters) {
        if (hint.back() != '(') hint += ", ";
        hint += parameter.name + " " +
                type_name(column_type(parameter.type, parameter.precision, parameter.scale));
      }
      hint += ").";
    }
    return located(binder.input.place, call,
                   Status(ErrorCode::undefined_function,
                          "procedure " + std::string(name) + "(" + signature + ") does not exist", hint));
  };
  if (plan_body.definition == nullptr) return no_such();
  const procedure::Definition& definition = *plan_body.definition;
  if (definition.parameters.size() != plan_body.arguments.size()) return no_such();
  for (std::size_t i = 0; i < definition.parameters.size(); ++i) {
    const procedure::Parameter& parameter = definition.parameters[i];
    ExprPtr& argument = plan_body.arguments[i];
    Type type = column_type(parameter.type, parameter.precision, parameter.scale);
    // The procedure gets a scaled integer, so the parameter always has a scale.
    if (type.id == TypeId::numeric && !type.numeric_scale()) type = numeric_type(18, parameter.scale);
    // A constant may be narrowed, so that CALL p(1) finds a smallint parameter; numbers are always rounded to
    // a numeric parameter's scale. Other types must convert implicitly, as in PostgreSQL.
    const bool number_to_number = argument->type.is_number() && type.is_number();
    const Coercion coercion =
        number_to_number || type.is_string() ? Coercion::assignment : Coercion::implicit;
    if (!can_cast(argument->type.id, type.id, coercion) ||
        (type.is_string() && !can_cast(argument->type.id, type.id, Coercion::implicit))) {
      return no_such();
    }
    NAMDB_SQL_CHECK(expressions.coerce(argument, {type.id}, coercion));
    if (type.numeric_scale()) NAMDB_SQL_CHECK(expressions.coerce(argument, type, Coercion::explicit_cast));
  }
  for (const std::string& table_name : definition.tables) {
    const auto table = binder.input.tables.find(table_name);
    if (table == binder.input.tables.end()) {
      return Status(ErrorCode::undefined_table, "relation \"" + table_name + "\" does not exist",
                    "procedure " + std::string(name) + " uses it");
    }
    const bool generates =
        std::ranges::any_of(table->second->schema.columns(),
                            [](const layout::Column& column) { return generation_of(column).has_value(); });
    if (generates) {
      return Status(ErrorCode::feature_not_supported,
                    "a procedure of a library cannot use table \"" + table_name +
                        "\", which has generated columns, or indexes on expressions or of a part of it",
                    "procedures that are written in SQL can");
    }
    plan_body.tables.push_back(table->second);
  }
  Plan plan;
  plan.tag = "CALL";
  for (const procedure::Parameter& result : definition.results)
    plan.columns.push_back({result.name, column_type(result.type, result.precision, result.scale)});
  plan.body = std::move(plan_body);
  return plan;
}

}  // namespace namdb::sql
