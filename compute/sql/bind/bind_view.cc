// CREATE VIEW, DROP VIEW, and views in FROM.
#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "compute/sql/bind/bind.h"
#include "compute/sql/bind/bind_role.h"
#include "compute/sql/bind/bind_statement.h"
#include "compute/sql/bind/check_status.h"
#include "compute/sql/catalog/definition_text.h"
#include "compute/sql/plan/plain_select.h"
#include "compute/sql/system/virtual_table.h"
#include "compute/sql/value/row_id.h"

namespace namdb::sql {
namespace {

constexpr std::size_t kMaxViewName_bytes = 63;

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' ||
         (static_cast<unsigned char>(c) & 0x80U) != 0;
}

// The place behind a comment or a quoted name or string that begins there; the same place: none does.
std::size_t skip_quoted(std::string_view text, std::size_t at) {
  if (text.substr(at).starts_with("--")) return std::min(text.find('\n', at), text.size());
  if (text.substr(at).starts_with("/*")) {
    std::size_t depth = 1;
    std::size_t place = at + 2;
    while (place < text.size() && depth > 0) {
      const bool opens = text.substr(place).starts_with("/*");
      const bool closes = text.substr(place).starts_with("*/");
      depth += opens ? 1 : 0;
      depth -= closes ? 1 : 0;
      place += opens || closes ? 2 : 1;
    }
    return place;
  }
  if (text[at] != '"' && text[at] != '\'') return at;
  const std::size_t end = text.find(text[at], at + 1);
  return end == std::string_view::npos ? text.size() : end + 1;
}

// The query's text in that of CREATE VIEW: behind the first AS that stands in no parentheses.
std::string query_text(std::string_view statement) {
  std::size_t depth = 0;
  for (std::size_t at = 0; at < statement.size();) {
    const std::size_t behind = skip_quoted(statement, at);
    if (behind != at) {
      at = behind;
      continue;
    }
    std::size_t end = at;
    while (end < statement.size() && is_word(statement[end])) ++end;
    const std::string_view word = statement.substr(at, end - at);
    const bool is_as = word.size() == 2 && std::tolower(static_cast<unsigned char>(word[0])) == 'a' &&
                       std::tolower(static_cast<unsigned char>(word[1])) == 's';
    if (is_as && depth == 0) {
      std::string_view query = statement.substr(end);
      const std::size_t first = query.find_first_not_of(" \t\r\n");
      query = first == std::string_view::npos ? std::string_view() : query.substr(first);
      while (!query.empty() &&
             (query.back() == ';' || std::isspace(static_cast<unsigned char>(query.back())) != 0))
        query.remove_suffix(1);
      return std::string(query);
    }
    if (statement[at] == '(') ++depth;
    if (statement[at] == ')' && depth > 0) --depth;
    at = std::max(end, at + 1);
  }
  return {};
}

// The names of columns that a query may mean, and whether it has a `*` or a NATURAL JOIN.
void find_column_names(const Json& tree, std::set<std::string>& names_found, bool& has_star) {
  if (!tree.is_structured()) return;
  if (tree.is_object()) {
    if (tree.contains("A_Star") || flag(tree, "isNatural")) has_star = true;
    for (const char* member : {"fields", "usingClause"}) {
      for (const Json& field : list(tree, member)) {
        if (node(field).kind == "String") names_found.insert(std::string(text(*node(field).body, "sval")));
      }
    }
  }
  for (const Json& child : tree) find_column_names(child, names_found, has_star);
}

std::vector<std::string> shown_columns_of(const BindInput& input, const std::string& relation) {
  std::vector<std::string> columns;
  if (const auto table = input.tables.find(relation); table != input.tables.end()) {
    for (const layout::Column& column : shown_columns(table->second->schema)) columns.push_back(column.name);
  } else if (const auto view = input.views.find(relation); view != input.views.end()) {
    for (const View::Column& column : view->second->columns) columns.push_back(column.name);
  }
  return columns;
}

// Whether the view reads the relation, directly or through other views.
bool leads_to(const BindInput& input, const View& view, std::string_view relation) {
  if (view.reads(relation)) return true;
  return std::ranges::any_of(view.relations, [&](const auto& entry) {
    const auto other = input.views.find(entry.first);
    return other != input.views.end() && leads_to(input, *other->second, relation);
  });
}

Status name_columns(const Json& body, const BoundQuery& query, View& view) {
  const std::vector<std::string_view> aliases = names(list(body, "aliases"));
  if (aliases.size() > query.columns.size()) {
    return Status(ErrorCode::syntax_error, "CREATE VIEW specifies more column names than columns");
  }
  std::set<std::string> taken;
  for (std::size_t i = 0; i < query.columns.size(); ++i) {
    View::Column column{query.columns[i].name, query.columns[i].type};
    if (i < aliases.size()) column.name = aliases[i];
    if (!taken.insert(column.name).second)
      return Status(ErrorCode::duplicate_column, "column \"" + column.name + "\" specified more than once");
    view.columns.push_back(std::move(column));
  }
  return {};
}

}  // namespace

Result<Plan> bind_create_view(StatementBinder& binder, const Json& body) {
  const Json& relation = *find(body, "view");
  if (text(relation, "relpersistence") == "t") return unsupported("a temporary view");
  const std::string_view check_option = text(body, "withCheckOption");
  if (!check_option.empty() && check_option != "NO_CHECK_OPTION") return unsupported("WITH CHECK OPTION");
  if (!list(body, "options").empty()) return unsupported("CREATE VIEW ... WITH (...)");
  NAMDB_SQL_CHECK(only(body, "CREATE VIEW", {"view", "aliases", "query", "replace", "withCheckOption"}));
  const Node query = node(*find(body, "query"));
  if (query.kind != "SelectStmt") return unsupported("CREATE VIEW of this statement");
  NAMDB_SQL_CHECK(check_schema(text(relation, "schemaname")));
  auto view = std::make_shared<View>();
  NAMDB_SQL_ASSIGN(view->name, relation_name(relation));
  if (view->name.size() > kMaxViewName_bytes)
    return Status(ErrorCode::limit_exceeded, "a view's name can have at most 63 bytes");
  if (find_virtual_table("", view->name) != nullptr)
    return Status(ErrorCode::duplicate_table, "relation \"" + view->name + "\" already exists");
  view->statement = binder.input.text;
  view->query = query_text(view->statement);
  // RECURSIVE stands in front of it, and the query's text would lack it.
  const auto again = parse_sql(view->query);
  const auto* const tree = std::get_if<SyntaxTree>(&again);
  if (tree == nullptr || tree->statement_count() != 1 || tree->statement(0).kind != "SelectStmt")
    return unsupported("CREATE VIEW of this statement");
  const Json* const with = find(*query.body, "withClause");
  if (with != nullptr && find(*tree->statement(0).body, "withClause") == nullptr)
    return unsupported("CREATE RECURSIVE VIEW");
  StatementBinder own{binder.input, {}};
  NAMDB_SQL_ASSIGN(const BoundQuery bound,
                   bind_query(own, *query.body, nullptr, UnknownColumns::become_text));
  if (!own.parameters.empty()) return Status(ErrorCode::undefined_parameter, "there is no parameter $1");
  if (!own.locking_command.empty()) return unsupported("a view with " + std::string(own.locking_command));
  NAMDB_SQL_CHECK(name_columns(body, bound, *view));
  std::set<std::string> used;
  bool has_star = false;
  find_column_names(*query.body, used, has_star);
  for (const Json* range_var : range_vars(*query.body)) {
    const std::string name(text(*range_var, "relname"));
    const std::vector<std::string> columns = shown_columns_of(binder.input, name);
    if (columns.empty()) continue;
    View::Relation& read = view->relations[name];
    read.columns = columns;
    read.used.clear();
    std::ranges::copy_if(columns, std::back_inserter(read.used),
                         [&](const std::string& column) { return has_star || used.contains(column); });
  }
  if (leads_to(binder.input, *view, view->name)) {
    return Status(ErrorCode::invalid_object_definition,
                  "infinite recursion detected in rules for relation \"" + view->name + "\"");
  }
  view->routines = routines_named_by(query);
  std::erase_if(view->routines,
                [&](const std::string& name) { return !binder.input.routines.contains(name); });
  CreateViewPlan create;
  create.view = std::move(view);
  create.replaces = flag(body, "replace");
  Plan plan;
  plan.tag = "CREATE VIEW";
  plan.body = std::move(create);
  return plan;
}

namespace {

// Whether its columns are columns of one table, in their order there.
bool shows_table(const SelectPlan& select) {
  if (select.source.table == nullptr || !is_plain(select)) return false;
  std::optional<std::uint32_t> last;
  for (const ExprPtr& target : select.targets) {
    if (target->kind != ExprKind::column || (last && target->index <= *last)) return false;
    last = target->index;
  }
  return true;
}

}  // namespace

Result<ViewQuery> bind_view_query(StatementBinder& binder, const View& view) {
  const auto damaged = [&view] {
    return Status(ErrorCode::corrupt_data, "the query of view \"" + view.name + "\" cannot be read");
  };
  const auto parsed = parse_sql(view.query);
  const auto* const tree = std::get_if<SyntaxTree>(&parsed);
  if (tree == nullptr || tree->statement_count() != 1 || tree->statement(0).kind != "SelectStmt")
    return damaged();
  // Its places are not those of the statement's text, and it sees nothing of the statement around it.
  BindInput input = binder.input;
  input.place = nullptr;
  input.variables = nullptr;
  StatementBinder own{input, {}};
  own.depth = binder.depth;
  own.queries = binder.queries;
  own.view = &view;
  const Json& body = *tree->statement(0).body;
  NAMDB_SQL_ASSIGN(BoundQuery query, bind_query(own, body, nullptr, UnknownColumns::become_text));
  binder.queries = own.queries;
  binder.reads.insert(binder.reads.end(), own.reads.begin(), own.reads.end());
  binder.calls_routines = binder.calls_routines || own.calls_routines;
  binder.calls_volatile = binder.calls_volatile || own.calls_volatile;
  binder.calls_read_only = binder.calls_read_only || own.calls_read_only;
  require_view(binder, view.name, std::move(own.rights));
  // Also if it reads no table: the plan depends on the view.
  binder.reads_tables = true;
  binder.gives_id = binder.gives_id || own.gives_id;
  if (query.columns.size() != view.columns.size()) return damaged();
  for (std::size_t i = 0; i < view.columns.size(); ++i) query.columns[i].name = view.columns[i].name;
  // An ORDER BY may have become the order of an index.
  const bool plain = list(body, "sortClause").empty() && shows_table(*query.select);
  return ViewQuery{std::move(query), plain};
}

Result<BoundQuery> bind_sequence_query(StatementBinder& binder, const std::string& name) {
  const auto parsed =
      parse_sql("SELECT last_value, 0::bigint AS log_cnt, is_called FROM " +
                std::string(storage::kSequencesTable) + " WHERE name = " + quote_literal(name));
  BindInput input = binder.input;
  input.place = nullptr;
  input.variables = nullptr;
  StatementBinder own{input, {}};
  own.depth = binder.depth;
  own.queries = binder.queries;
  const Json& body = *std::get<SyntaxTree>(parsed).statement(0).body;
  NAMDB_SQL_ASSIGN(BoundQuery query, bind_query(own, body, nullptr, UnknownColumns::become_text));
  binder.queries = own.queries;
  binder.reads.insert(binder.reads.end(), own.reads.begin(), own.reads.end());
  binder.reads_tables = true;
  binder.rights.push_back(
      {{storage::ObjectKind::sequence, 0, name}, storage::kSelectPrivilege, true, name, "sequence"});
  return query;
}

Plan drop_views(std::vector<std::string> names_of_views, bool if_exists, bool cascades) {
  Plan plan;
  plan.tag = "DROP VIEW";
  plan.body = DropViewPlan{std::move(names_of_views), if_exists, cascades, {}};
  return plan;
}

}  // namespace namdb::sql
