// WITH whose queries write: INSERT, UPDATE and DELETE. All queries of such a WITH run before the statement
// itself, in their order, and their rows are kept. None must read, behind a write, the table that it has
// written: it would see more than in PostgreSQL.
#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "compute/sql/bind/bind_role.h"
#include "compute/sql/bind/bind_statement.h"
#include "compute/sql/bind/check_status.h"

namespace namdb::sql {
namespace {

bool meet(const std::vector<std::uint32_t>& left, const std::vector<std::uint32_t>& right) {
  return std::ranges::find_first_of(left, right) != left.end();
}

// It finds no row of its table but those with the same keys.
bool only_adds(const Plan& plan) {
  const auto* const insert = plan.as<InsertPlan>();
  return insert != nullptr && insert->conflict == nullptr;
}

// Of a statement that runs behind others.
Status check_behind(const std::vector<WithPlan::Query>& before, const std::vector<std::uint32_t>& reads,
                    const std::vector<std::uint32_t>& writes, bool adds) {
  for (const WithPlan::Query& query : before) {
    if (meet(query.statement->writes, reads))
      return unsupported("a statement that reads a table to which its WITH writes");
    if (meet(query.statement->writes, writes) && !adds)
      return unsupported("a statement that changes a table to which its WITH writes");
  }
  return {};
}

// Whether a table of FROM has that name, anywhere in the statement.
bool is_named(const Json& statement, std::string_view name) {
  return std::ranges::any_of(range_vars(statement), [name](const Json* table) {
    return text(*table, "relname") == name && text(*table, "schemaname").empty();
  });
}

Result<Plan> bind_query_of_with(StatementBinder& binder, const CommonTable& named, Node query) {
  if (query.kind == "InsertStmt") return bind_insert(binder, *query.body);
  if (query.kind == "UpdateStmt") return bind_update(binder, *query.body);
  if (query.kind == "DeleteStmt") return bind_delete(binder, *query.body);
  if (query.kind != "SelectStmt") return unsupported(query);
  NAMDB_SQL_ASSIGN(BoundQuery bound, bind_common_query(binder, named));
  Plan plan;
  plan.tag = "SELECT";
  plan.columns = std::move(bound.columns);
  bound.select->locking_command = binder.locking_command;
  plan.body = std::move(*bound.select);
  return plan;
}

}  // namespace

bool has_writes(const Json& clause) {
  return std::ranges::any_of(list(clause, "ctes"), [](const Json& item) {
    return node(*find(*node(item).body, "ctequery")).kind != "SelectStmt";
  });
}

Status bind_kept_query(StatementBinder& binder, const Json& clause, const Json& table) {
  if (binder.whole == nullptr || &clause != find(*binder.whole, "withClause")) {
    return located(binder.input.place, table,
                   Status(ErrorCode::feature_not_supported,
                          "WITH clause containing a data-modifying statement must be at the top level"));
  }
  const Node query = node(*find(table, "ctequery"));
  CommonTable named{std::string(text(table, "ctename")), query.body, {}, nullptr, flag(clause, "recursive")};
  for (const std::string_view column : names(list(table, "aliascolnames")))
    named.columns.emplace_back(column);
  StatementBinder inner{binder.input, binder.parameters, binder.common_tables};
  inner.queries = binder.queries;
  inner.whole = binder.whole;
  NAMDB_SQL_ASSIGN(Plan plan, bind_query_of_with(inner, named, query));
  binder.parameters = std::move(inner.parameters);
  binder.queries = inner.queries;
  binder.gives_id = binder.gives_id || inner.gives_id;
  binder.calls_routines = binder.calls_routines || inner.calls_routines;
  binder.calls_volatile = binder.calls_volatile || inner.calls_volatile;
  binder.calls_read_only = binder.calls_read_only || inner.calls_read_only;
  plan.reads = inner.reads;
  plan.writes = inner.writes;
  NAMDB_SQL_CHECK(check_behind(binder.kept, plan.reads, plan.writes, only_adds(plan)));
  if (plan.columns.size() < named.columns.size()) {
    return Status(ErrorCode::invalid_column_reference,
                  "WITH query \"" + named.name + "\" has " + std::to_string(plan.columns.size()) +
                      " columns available but " + std::to_string(named.columns.size()) +
                      " columns specified");
  }
  auto working = std::make_shared<WorkingTable>();
  working->columns = plan.columns;
  named.is_kept = true;
  named.has_rows = !plan.columns.empty();
  named.working = working;
  // A SELECT whose rows are not read does not run, and needs no rights.
  if (plan.as<SelectPlan>() == nullptr || is_named(*binder.whole, named.name)) {
    binder.kept.push_back({std::move(working), std::make_shared<const Plan>(std::move(plan))});
    require(binder, inner.rights);
  }
  binder.common_tables.push_back(std::move(named));
  return {};
}

Result<Plan> add_kept_queries(StatementBinder& binder, Plan plan) {
  if (binder.kept.empty()) return plan;
  NAMDB_SQL_CHECK(check_behind(binder.kept, binder.reads, binder.writes, only_adds(plan)));
  WithPlan with;
  with.queries = std::move(binder.kept);
  binder.kept.clear();
  for (const WithPlan::Query& query : with.queries) {
    std::ranges::copy(query.statement->reads, std::back_inserter(binder.reads));
    std::ranges::copy(query.statement->writes, std::back_inserter(binder.writes));
  }
  Plan whole;
  whole.tag = plan.tag;
  whole.columns = plan.columns;
  with.statement = std::make_shared<const Plan>(std::move(plan));
  whole.body = std::move(with);
  return whole;
}

}  // namespace namdb::sql
