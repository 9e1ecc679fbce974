#include "compute/sql/bind/bind.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "compute/sql/bind/bind_enumeration.h"
#include "compute/sql/bind/bind_role.h"
#include "compute/sql/bind/bind_routine.h"
#include "compute/sql/bind/bind_statement.h"
#include "compute/sql/bind/check_status.h"
#include "compute/sql/catalog/definition_text.h"
#include "compute/sql/syntax/error_fields.h"
#include "compute/sql/system/settings.h"

namespace namdb::sql {
namespace {

Status bind_transaction_options(const Json& options, TransactionPlan& transaction) {
  for (const Json& item : options) {
    const Json& element = *node(item).body;
    const std::string_view name = text(element, "defname");
    const Json* argument = find(element, "arg");
    const Json* constant = argument == nullptr ? nullptr : node(*argument).body;
    if (name == "transaction_isolation" && constant != nullptr) {
      transaction.isolation = std::string(text(*find(*constant, "sval"), "sval"));
    } else if (name == "transaction_read_only" && constant != nullptr) {
      const Json* value = find(*constant, "ival");
      transaction.read_only = value != nullptr && integer(*value, "ival") != 0;
    } else if (name == "transaction_deferrable") {
      // It has no effect below SERIALIZABLE.
    } else {
      return unsupported("transaction mode " + std::string(name));
    }
  }
  return {};
}

// The text of a string constant; empty: `value` is another node.
std::string_view literal_of(const Json& value) {
  const Node constant = node(value);
  const Json* string = constant.kind == "A_Const" ? find(*constant.body, "sval") : nullptr;
  return string == nullptr ? std::string_view() : text(*string, "sval");
}

// The value of SET: names, strings and numbers, separated by commas.
Result<std::string> setting_value(const Json& args, bool names, bool time_zone) {
  std::string value;
  for (const Json& item : args) {
    if (!value.empty()) value += ", ";
    Node element = node(item);
    if (element.kind == "TypeCast") {
      // SET TIME ZONE INTERVAL '+02:00' HOUR TO MINUTE.
      const std::string_view interval = literal_of(*find(*element.body, "arg"));
      if (!time_zone || interval.empty()) return unsupported("SET with a typed value");
      const bool is_signed = interval.starts_with('+') || interval.starts_with('-');
      // As POSIX writes it, without a name: the offset counts west of UTC.
      value += (interval.starts_with('-') ? "<>+" : "<>-") + std::string(interval.substr(is_signed ? 1 : 0));
      continue;
    }
    if (element.kind != "A_Const") return unsupported(element);
    if (const Json* string = find(*element.body, "sval")) {
      value += names ? quoted_name(text(*string, "sval")) : std::string(text(*string, "sval"));
    } else if (const Json* whole = find(*element.body, "ival")) {
      value += std::to_string(integer(*whole, "ival"));
    } else if (const Json* number = find(*element.body, "fval")) {
      value += text(*number, "fval");
    } else if (const Json* boolean = find(*element.body, "boolval")) {
      value += flag(*boolean, "boolval") ? "on" : "off";
    } else {
      return unsupported("this value in SET");
    }
  }
  return value;
}

Plan plain(std::string_view tag, Plan::Body body);

// On objects that there may be.
Result<Plan> bind_comment(const Json& body) {
  constexpr std::array<std::string_view, 17> kKinds = {
      "TABLE",     "COLUMN",    "VIEW",       "INDEX",       "SEQUENCE", "TABCONSTRAINT",
      "FUNCTION",  "PROCEDURE", "ROUTINE",    "SCHEMA",      "DATABASE", "ROLE",
      "EXTENSION", "LANGUAGE",  "TABLESPACE", "LARGEOBJECT", "TYPE"};
  std::string_view kind = text(body, "objtype");
  if (kind.starts_with("OBJECT_")) kind.remove_prefix(7);
  if (std::ranges::find(kKinds, kind) == kKinds.end()) {
    std::string words(kind);
    std::ranges::replace(words, '_', ' ');
    return unsupported("COMMENT ON " + words);
  }
  return plain("COMMENT", NothingPlan{"comments are not kept: this one has no effect"});
}

Plan plain(std::string_view tag, Plan::Body body) {
  Plan plan;
  plan.tag = tag;
  plan.body = std::move(body);
  return plan;
}

Result<Plan> bind_deallocate(const Json& body) {
  DeallocatePlan deallocate;
  deallocate.name = text(body, "name");
  const std::string_view tag = deallocate.name.empty() ? "DEALLOCATE ALL" : "DEALLOCATE";
  return plain(tag, std::move(deallocate));
}

Result<Plan> bind_discard(const Json& body) {
  const std::string_view target = text(body, "target");
  DiscardPlan discard;
  discard.all = target == "DISCARD_ALL";
  discard.temporary = target == "DISCARD_TEMP";
  discard.sequences = discard.all || target == "DISCARD_SEQUENCES";
  return plain(discard.all                     ? "DISCARD ALL"
               : target == "DISCARD_PLANS"     ? "DISCARD PLANS"
               : target == "DISCARD_SEQUENCES" ? "DISCARD SEQUENCES"
                                               : "DISCARD TEMP",
               discard);
}

Result<Plan> bind_close(const Json& body) {
  ClosePlan close;
  close.name = text(body, "portalname");
  const std::string_view tag = close.name.empty() ? "CLOSE CURSOR ALL" : "CLOSE CURSOR";
  return plain(tag, std::move(close));
}

Result<Plan> bind_show(const Json& body) {
  ShowPlan show;
  show.name = text(body, "name");
  Plan plan = plain("SHOW", Plan::Body());
  if (show.name == "all") {
    plan.columns = {{"name", {TypeId::text}}, {"setting", {TypeId::text}}, {"description", {TypeId::text}}};
  } else if (show.name == "namdb.statistics") {
    plan.columns = {{"name", {TypeId::text}}, {"metric", {TypeId::text}}, {"value", {TypeId::int8}}};
  } else {
    plan.columns = {{std::string(Settings::shown_name(show.name)), {TypeId::text}}};
  }
  plan.body = std::move(show);
  return plan;
}

// The tables that VACUUM or ANALYZE names.
std::vector<const Json*> vacuumed_tables(const Json& body) {
  std::vector<const Json*> tables;
  for (const Json& item : list(body, "rels")) {
    if (const Json* relation = find(*node(item).body, "relation")) tables.push_back(relation);
  }
  return tables;
}

// Space is given back without being asked, and there are no statistics of columns.
Result<Plan> bind_vacuum(const StatementBinder& binder, const Json& body) {
  for (const Json* table : vacuumed_tables(body)) NAMDB_SQL_CHECK(bind_table(binder, *table).status());
  if (flag(body, "is_vacuumcmd"))
    return plain("VACUUM", NothingPlan{"VACUUM has nothing to do: old versions are collected all the time"});
  return plain("ANALYZE", NothingPlan{"ANALYZE has nothing to do: plans do not depend on statistics"});
}

// Tools make sure of their schema so.
Result<Plan> bind_create_schema(const Json& body) {
  const std::string name(text(body, "schemaname"));
  if (name != "public" || !flag(body, "if_not_exists") || !list(body, "schemaElts").empty())
    return unsupported("CREATE SCHEMA");
  return plain("CREATE SCHEMA", NothingPlan{"schema \"" + name + "\" already exists, skipping"});
}

}  // namespace

namespace {

// Tables do not depend on functions that are written in SQL.
Status check_no_routines(const StatementBinder& binder, Node statement) {
  const std::string_view kind = statement.kind;
  const bool defines = kind == "CreateStmt" || kind == "AlterTableStmt" || kind == "IndexStmt";
  if (!defines || binder.input.routines.empty()) return {};
  // Not those of a view that is altered.
  for (const std::string& name : routines_named_by(statement)) {
    if (!binder.input.routines.contains(name)) continue;
    return unsupported("function " + name + " in " +
                       (kind == "IndexStmt" ? "an index" : "the definition of a table"));
  }
  return {};
}

}  // namespace

Result<Plan> bind_body(StatementBinder& binder, Node statement) {
  const std::string_view kind = statement.kind;
  if (kind.empty()) return Plan();
  const Json& body = *statement.body;
  if (kind == "SelectStmt" && expands_arrays(binder.input.text) && !binder.expands_arrays) {
    binder.expands_arrays = true;
    NAMDB_SQL_ASSIGN(const Json rewritten, with_expanded_arrays(body));
    return bind_body(binder, {kind, &rewritten});
  }
  if (kind == "SelectStmt" || kind == "InsertStmt" || kind == "UpdateStmt" || kind == "DeleteStmt") {
    binder.whole = &body;
    NAMDB_SQL_ASSIGN(Plan plan, kind == "SelectStmt"   ? bind_select(binder, body)
                                : kind == "InsertStmt" ? bind_insert(binder, body)
                                : kind == "UpdateStmt" ? bind_update(binder, body)
                                                       : bind_delete(binder, body));
    return add_kept_queries(binder, std::move(plan));
  }
  NAMDB_SQL_CHECK(check_no_routines(binder, statement));
  if (kind == "CallStmt") return bind_call(binder, body);
  if (kind == "DoStmt") return bind_do(binder, body);
  if (kind == "CopyStmt") return bind_copy(binder, body);
  if (kind == "TruncateStmt") return bind_truncate(binder, body);
  if (kind == "CreateStmt") return bind_create_table(binder, body);
  if (kind == "AlterTableStmt") return bind_alter_table(binder, body);
  if (kind == "RenameStmt") return bind_rename(binder, body);
  if (kind == "IndexStmt") return bind_create_index(binder, body);
  if (kind == "DropStmt") return bind_drop(binder, body);
  if (kind == "ReindexStmt") return bind_reindex(body);
  if (kind == "CreateSeqStmt") return bind_create_sequence(binder, body);
  if (kind == "AlterSeqStmt") return bind_alter_sequence(binder, body);
  if (kind == "TransactionStmt") return bind_transaction(body);
  if (kind == "VariableSetStmt") return bind_set(body);
  if (kind == "VariableShowStmt") return bind_show(body);
  if (kind == "ExplainStmt") return bind_explain(binder, body);
  if (kind == "DeallocateStmt") return bind_deallocate(body);
  if (kind == "DiscardStmt") return bind_discard(body);
  if (kind == "ClosePortalStmt") return bind_close(body);
  if (kind == "PrepareStmt") return bind_prepare(binder, body);
  if (kind == "ExecuteStmt") return bind_execute(binder, body);
  if (kind == "DeclareCursorStmt") return bind_declare(binder, body);
  if (kind == "FetchStmt") return bind_fetch(binder, body);
  if (kind == "UnlistenStmt") return plain("UNLISTEN", NothingPlan());
  if (kind == "VacuumStmt") return bind_vacuum(binder, body);
  if (kind == "CommentStmt") return bind_comment(body);
  if (kind == "CreateSchemaStmt") return bind_create_schema(body);
  if (kind == "CreateEnumStmt") return bind_create_enumeration(body);
  if (kind == "AlterEnumStmt") return bind_alter_enumeration(binder.input.facts, body);
  if (kind == "LockStmt") return bind_lock(binder, body);
  if (kind == "ConstraintsSetStmt") return bind_set_constraints(body);
  if (kind == "ViewStmt") return bind_create_view(binder, body);
  if (kind == "CreateTableAsStmt" && text(body, "objtype") == "OBJECT_MATVIEW")
    return unsupported("CREATE MATERIALIZED VIEW");
  if (kind == "CreateFunctionStmt") return bind_create_routine(binder, body);
  if (kind == "CreateRoleStmt") return bind_create_role(binder, body);
  if (kind == "AlterRoleStmt") return bind_alter_role(binder, body);
  if (kind == "DropRoleStmt") return bind_drop_role(body);
  if (kind == "GrantRoleStmt") return bind_grant_role(body);
  if (kind == "GrantStmt") return bind_grant(binder, body);
  if (kind == "AlterOwnerStmt") return bind_change_owner(binder, body);
  if (kind == "ReassignOwnedStmt") return bind_reassign_owned(body);
  if (kind == "DropOwnedStmt") return bind_drop_owned(body);
  return unsupported(statement);
}

Result<Plan> bind_transaction(const Json& body) {
  const std::string_view kind = text(body, "kind");
  TransactionPlan transaction;
  NAMDB_SQL_CHECK(bind_transaction_options(list(body, "options"), transaction));
  if (kind == "TRANS_STMT_BEGIN") return plain("BEGIN", std::move(transaction));
  if (kind == "TRANS_STMT_START") return plain("START TRANSACTION", std::move(transaction));
  transaction.savepoint = text(body, "savepoint_name");
  if (kind == "TRANS_STMT_SAVEPOINT") {
    transaction.command = TransactionCommand::savepoint;
    return plain("SAVEPOINT", std::move(transaction));
  }
  if (kind == "TRANS_STMT_RELEASE") {
    transaction.command = TransactionCommand::release_savepoint;
    return plain("RELEASE", std::move(transaction));
  }
  if (kind == "TRANS_STMT_ROLLBACK_TO") {
    transaction.command = TransactionCommand::rollback_to_savepoint;
    return plain("ROLLBACK", std::move(transaction));
  }
  const bool commit = kind == "TRANS_STMT_COMMIT";
  if (!commit && kind != "TRANS_STMT_ROLLBACK") {
    std::string name(kind.starts_with("TRANS_STMT_") ? kind.substr(11) : kind);
    for (char& c : name) c = c == '_' ? ' ' : c;
    return unsupported(name);
  }
  if (flag(body, "chain")) return unsupported("AND CHAIN");
  transaction.command = commit ? TransactionCommand::commit : TransactionCommand::rollback;
  return plain(commit ? "COMMIT" : "ROLLBACK", std::move(transaction));
}

Result<Plan> bind_set(const Json& body) {
  const std::string_view kind = text(body, "kind");
  SetPlan set;
  set.local = flag(body, "is_local");
  set.name = text(body, "name");
  if (kind == "VAR_SET_MULTI") {
    TransactionPlan transaction;
    transaction.command = TransactionCommand::set_characteristics;
    transaction.for_session = set.name == "SESSION CHARACTERISTICS";
    if (!transaction.for_session && set.name != "TRANSACTION") return unsupported("SET " + set.name);
    NAMDB_SQL_CHECK(bind_transaction_options(list(body, "args"), transaction));
    return plain("SET", std::move(transaction));
  }
  if (kind == "VAR_RESET_ALL") {
    set.name.clear();
    return plain("RESET", std::move(set));
  }
  if (kind == "VAR_RESET") return plain("RESET", std::move(set));
  if (kind == "VAR_SET_DEFAULT") return plain("SET", std::move(set));
  if (kind != "VAR_SET_VALUE") return unsupported("SET ... FROM CURRENT");
  if (list(body, "args").size() > 1 && !Settings::is_list(set.name)) {
    return Status(ErrorCode::invalid_parameter_value, "SET " + set.name + " takes only one argument");
  }
  NAMDB_SQL_ASSIGN(set.value,
                   setting_value(list(body, "args"), set.name == "search_path", set.name == "timezone"));
  return plain("SET", std::move(set));
}

Result<Plan> bind_explain(StatementBinder& binder, const Json& body) {
  ExplainPlan explain;
  for (const Json& item : list(body, "options")) {
    const Json& option = *node(item).body;
    const std::string_view name = text(option, "defname");
    const Json* argument = find(option, "arg");
    bool on = true;
    if (argument != nullptr) {
      const Node value = node(*argument);
      const std::string_view word = value.kind == "String" ? text(*value.body, "sval") : std::string_view();
      on = value.kind == "Integer" ? integer(*value.body, "ival") != 0 : word == "true" || word == "on";
      if (name == "format") {
        explain.as_json = word == "json";
        if (word == "xml" || word == "yaml") return unsupported("EXPLAIN (FORMAT " + std::string(word) + ")");
        if (!explain.as_json && word != "text") {
          return Status(ErrorCode::invalid_parameter_value,
                        "unrecognized value for EXPLAIN option \"format\": \"" + std::string(word) + "\"");
        }
      }
    }
    if (name == "analyze") {
      explain.analyze = on;
    } else if (name != "format" && name != "verbose" && name != "costs" && name != "timing" &&
               name != "summary" && name != "buffers") {
      return unsupported("EXPLAIN option " + std::string(name));
    }
  }
  const Node inner = node(*find(body, "query"));
  NAMDB_SQL_ASSIGN(Plan statement, bind_body(binder, inner));
  const bool is_query = statement.as<CopyFromPlan>() == nullptr && statement.as<CopyToPlan>() == nullptr &&
                        statement.as<TruncatePlan>() == nullptr;
  const bool is_named = statement.as<ExecutePlan>() != nullptr;
  if ((!statement.is_transactional() && !is_named) || !is_query)
    return unsupported("EXPLAIN of this statement");
  add_facts(binder, statement);
  explain.statement = std::make_unique<Plan>(std::move(statement));
  const TypeId type = explain.as_json ? TypeId::json : TypeId::text;
  Plan plan = plain("EXPLAIN", std::move(explain));
  plan.columns = {{"QUERY PLAN", {type}}};
  return plan;
}

namespace {

// The tables of REFERENCES.
void add_referenced(const Json& tree, std::vector<std::string>& tables) {
  if (!tree.is_structured()) return;
  if (tree.is_object() && tree.contains("pktable"))
    tables.emplace_back(text(*find(tree, "pktable"), "relname"));
  for (const Json& child : tree) add_referenced(child, tables);
}

// Whether nothing below such a node names a table.
bool is_leaf(std::string_view kind) {
  return kind == "A_Const" || kind == "ColumnRef" || kind == "ParamRef" || kind == "TypeName";
}

}  // namespace

std::vector<const Json*> range_vars(const Json& tree) {
  std::vector<const Json*> found;
  std::vector<const Json*> open = {&tree};
  while (!open.empty()) {
    const Json& json = *open.back();
    open.pop_back();
    if (!json.is_structured()) continue;
    if (json.is_object() && json.size() == 1) {
      const Node part = node(json);
      if (is_leaf(part.kind)) continue;
      if (part.kind == "RangeVar") found.push_back(part.body);
      // Of a query of WITH that writes.
      const bool writes = part.kind == "InsertStmt" || part.kind == "UpdateStmt" || part.kind == "DeleteStmt";
      if (const Json* const changed = writes ? find(*part.body, "relation") : nullptr)
        found.push_back(changed);
    }
    for (const Json& child : json) open.push_back(&child);
  }
  return found;
}

std::vector<std::string> tables_named_by(Node statement, const procedure::ProcedureRegistry& procedures) {
  std::vector<std::string> tables;
  if (statement.body == nullptr) return tables;
  const Json& body = *statement.body;
  if (statement.kind == "ExplainStmt" || statement.kind == "PrepareStmt" ||
      statement.kind == "DeclareCursorStmt")
    return tables_named_by(node(*find(body, "query")), procedures);
  if (const Json* relation = find(body, "relation"); relation != nullptr && statement.kind != "CreateStmt")
    tables.emplace_back(text(*relation, "relname"));
  if (statement.kind == "CreateStmt" || statement.kind == "AlterTableStmt") add_referenced(body, tables);
  if (statement.kind == "ViewStmt") {
    tables.emplace_back(text(*find(body, "view"), "relname"));
    for (const Json* table : range_vars(*find(body, "query"))) tables.emplace_back(text(*table, "relname"));
  }
  const bool is_query = statement.kind == "SelectStmt" || statement.kind == "InsertStmt" ||
                        statement.kind == "UpdateStmt" || statement.kind == "DeleteStmt" ||
                        statement.kind == "CopyStmt" || statement.kind == "TruncateStmt" ||
                        statement.kind == "LockStmt";
  if (is_query) {
    for (const Json* table : range_vars(body)) tables.emplace_back(text(*table, "relname"));
  }
  if (statement.kind == "CreateFunctionStmt") {
    // Perhaps a table's row.
    if (const Json* const type = find(body, "returnType"))
      if (const auto name = names(list(*type, "names")); name.size() == 1) tables.emplace_back(name.front());
  }
  if (statement.kind == "VacuumStmt") {
    for (const Json* table : vacuumed_tables(body)) tables.emplace_back(text(*table, "relname"));
  }
  if (statement.kind == "CallStmt") {
    const std::vector<std::string_view> name = names(list(*find(body, "funccall"), "funcname"));
    const auto definition = name.empty() ? nullptr : procedures.find(name.back());
    if (definition != nullptr) tables = definition->tables;
  }
  return tables;
}

std::vector<std::string> routines_named_by(Node statement) {
  std::vector<std::string> found;
  if (statement.body == nullptr) return found;
  const auto add = [&found](std::string_view name) {
    if (!name.empty() && std::ranges::find(found, name) == found.end()) found.emplace_back(name);
  };
  if (statement.kind == "CallStmt") {
    const std::vector<std::string_view> name = names(list(*find(*statement.body, "funccall"), "funcname"));
    if (!name.empty()) add(name.back());
  }
  std::vector<const Json*> open = {statement.body};
  while (!open.empty()) {
    const Json& json = *open.back();
    open.pop_back();
    if (!json.is_structured()) continue;
    if (json.is_object() && json.size() == 1) {
      const Node part = node(json);
      if (is_leaf(part.kind)) continue;
      if (part.kind == "FuncCall") add(name_of_routine(list(*part.body, "funcname")));
    }
    for (const Json& child : json) open.push_back(&child);
  }
  return found;
}

Result<Plan> bind_statement(Node statement, const BindInput& input) {
  StatementBinder binder{input, input.parameters};
  NAMDB_SQL_ASSIGN(Plan plan, bind_body(binder, statement));
  NAMDB_SQL_CHECK(finish_plan(binder, plan));
  return plan;
}

void add_facts(const StatementBinder& binder, Plan& plan) {
  plan.reads = binder.reads;
  plan.writes = binder.writes;
  plan.calls_routines = binder.calls_routines;
  plan.calls_volatile = binder.calls_volatile;
  plan.calls_read_only = binder.calls_read_only;
}

Status finish_plan(StatementBinder& binder, Plan& plan) {
  add_facts(binder, plan);
  for (std::size_t i = 0; i < binder.parameters.size(); ++i) {
    if (binder.parameters[i].id == TypeId::unknown) {
      return Status(ErrorCode::indeterminate_datatype,
                    "could not determine data type of parameter $" + std::to_string(i + 1));
    }
  }
  plan.parameters = std::move(binder.parameters);
  // The query of a new view is checked when the view is read, as its owner's.
  if (plan.as<CreateViewPlan>() == nullptr) plan.rights = binder.rights;
  plan.catalog_version = binder.input.catalog_version;
  return {};
}

}  // namespace namdb::sql
