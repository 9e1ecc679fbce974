// LOCK TABLE and SET CONSTRAINTS.
#include <nlohmann/json.hpp>
#include <utility>

#include "compute/sql/bind/bind_role.h"
#include "compute/sql/bind/bind_statement.h"
#include "compute/sql/bind/check_status.h"

namespace namdb::sql {
namespace {

// PostgreSQL's AccessShareLock.
constexpr std::int64_t kAccessShare = 1;

}  // namespace

// A reader of that mode has nothing to wait for here: it reads from its snapshot. Others would make writers
// wait for it, which they do not.
Result<Plan> bind_lock(StatementBinder& binder, const Json& body) {
  NAMDB_SQL_CHECK(only(body, "LOCK TABLE", {"relations", "mode", "nowait"}));
  if (integer(body, "mode") != kAccessShare)
    return unsupported("LOCK TABLE in a mode other than ACCESS SHARE");
  for (const Json& item : list(body, "relations")) {
    const Json& range_var = *node(item).body;
    const std::string_view name = text(range_var, "relname");
    NAMDB_SQL_CHECK(relation_name(range_var).status());
    if (!binder.input.tables.contains(name) && binder.input.views.contains(name)) {
      require_view(binder, std::string(name), {});
      continue;
    }
    NAMDB_SQL_ASSIGN(const storage::TableRef table, bind_table(binder, range_var));
    require(binder, table, storage::kSelectPrivilege);
  }
  Plan plan;
  plan.tag = "LOCK TABLE";
  plan.body = LockPlan();
  return plan;
}

Result<Plan> bind_set_constraints(const Json& body) {
  ConstraintsPlan constraints;
  constraints.deferred = flag(body, "deferred");
  for (const Json& item : list(body, "constraints")) {
    NAMDB_SQL_ASSIGN(std::string name, relation_name(*node(item).body));
    constraints.names.push_back(std::move(name));
  }
  Plan plan;
  plan.tag = "SET CONSTRAINTS";
  plan.body = std::move(constraints);
  return plan;
}

}  // namespace namdb::sql
