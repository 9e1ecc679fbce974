// FOR UPDATE, FOR NO KEY UPDATE, FOR SHARE and FOR KEY SHARE of SELECT, which all mean the same here: the
// tables whose rows are locked, and where that is not possible.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "compute/sql/bind/bind_role.h"
#include "compute/sql/bind/bind_statement.h"
#include "compute/sql/bind/check_status.h"

namespace namdb::sql {
namespace {

enum class FromKind : std::uint8_t { table, common_table, subquery, values, function };

// A table of FROM.
struct FromItem {
  std::string_view name;
  FromKind kind = FromKind::table;
};

FromKind kind_of(const StatementBinder& binder, const Node& item) {
  if (item.kind == "RangeFunction") return FromKind::function;
  if (item.kind == "RangeSubselect") {
    const Node query = node(*find(*item.body, "subquery"));
    return list(*query.body, "valuesLists").empty() ? FromKind::subquery : FromKind::values;
  }
  const std::string_view name = text(*item.body, "relname");
  const bool is_common = text(*item.body, "schemaname").empty() &&
                         std::ranges::count(binder.common_tables, name, &CommonTable::name) != 0;
  const bool is_view = !is_common && binder.input.views.contains(name) && !binder.input.tables.contains(name);
  return is_common ? FromKind::common_table : is_view ? FromKind::subquery : FromKind::table;
}

void add_items(const StatementBinder& binder, const Json& from, std::vector<FromItem>& items) {
  const Node item = node(from);
  if (item.kind == "JoinExpr") {
    add_items(binder, *find(*item.body, "larg"), items);
    add_items(binder, *find(*item.body, "rarg"), items);
    return;
  }
  const Json* const alias = find(*item.body, "alias");
  items.push_back(
      {alias == nullptr ? text(*item.body, "relname") : text(*alias, "aliasname"), kind_of(binder, item)});
}

// The commands that a SELECT with such a clause is, the weakest first.
constexpr std::array<std::string_view, 4> kCommands = {"SELECT FOR KEY SHARE", "SELECT FOR SHARE",
                                                       "SELECT FOR NO KEY UPDATE", "SELECT FOR UPDATE"};

std::size_t strength_of(const Json& clause) {
  const std::string_view strength = text(clause, "strength");
  return strength == "LCS_FORKEYSHARE"      ? 0
         : strength == "LCS_FORSHARE"       ? 1
         : strength == "LCS_FORNOKEYUPDATE" ? 2
                                            : 3;
}

std::string clause_name(const Json& clause) {
  return std::string(kCommands[strength_of(clause)].substr(std::string_view("SELECT ").size()));
}

Status not_supported(std::string message) {
  return Status(ErrorCode::feature_not_supported, std::move(message));
}

class LockBinder {
 public:
  LockBinder(const StatementBinder& binder, const Scope& scope, const Json& body, SelectPlan& select)
      : scope_(scope), place_(binder.input.place), select_(select) {
    for (const Json& item : list(body, "fromClause")) add_items(binder, item, items_);
  }

  Status bind(const Json& clause) {
    const std::string name = clause_name(clause);
    clause_strength_ = strength_of(clause);
    const std::string_view policy = text(clause, "waitPolicy");
    clause_locked_ = policy == "LockWaitError"  ? LockedRow::fails
                     : policy == "LockWaitSkip" ? LockedRow::is_skipped
                                                : LockedRow::waits;
    const Json& relations = list(clause, "lockedRels");
    if (relations.empty()) {
      for (const FromItem& item : items_) {
        if (item.kind == FromKind::subquery) return unsupported(name + " of a subquery in FROM");
        if (item.kind == FromKind::table) NAMDB_SQL_CHECK(lock(item.name, name));
      }
    }
    for (const Json& relation : relations) {
      const Json& range_var = *node(relation).body;
      Status status = lock_named(range_var, name);
      if (!status.ok()) return located(place_, range_var, std::move(status));
    }
    return {};
  }
  // As its first table is locked.
  std::string_view command() const { return kCommands[strength_]; }

 private:
  Status lock_named(const Json& range_var, const std::string& clause) {
    if (!text(range_var, "schemaname").empty() || !text(range_var, "catalogname").empty())
      return Status(ErrorCode::syntax_error, clause + " must specify unqualified relation names");
    const std::string_view name = text(range_var, "relname");
    const auto item = std::ranges::find(items_, name, &FromItem::name);
    if (item == items_.end()) {
      return Status(ErrorCode::undefined_table, "relation \"" + std::string(name) + "\" in " + clause +
                                                    " clause not found in FROM clause");
    }
    switch (item->kind) {
      case FromKind::function:
        return not_supported(clause + " cannot be applied to a function");
      case FromKind::common_table:
        return not_supported(clause + " cannot be applied to a WITH query");
      case FromKind::subquery:
        return unsupported(clause + " of a subquery in FROM");
      case FromKind::values:
        return {};
      case FromKind::table:
        break;
    }
    return lock(name, clause);
  }

  // A table of FROM by its name there.
  Status lock(std::string_view name, const std::string& clause) {
    if (locked_.empty() || locked_.front() == name) strength_ = std::max(strength_, clause_strength_);
    const auto known = std::ranges::find(locked_, name);
    if (known != locked_.end()) {
      // NOWAIT is stronger than SKIP LOCKED, and both are stronger than a wait.
      RowLock& lock = select_.locks[static_cast<std::size_t>(known - locked_.begin())];
      if (clause_locked_ == LockedRow::fails || lock.locked == LockedRow::waits) lock.locked = clause_locked_;
      return {};
    }
    locked_.push_back(name);
    std::uint32_t first_column = 0;
    Source* source = &select_.source;
    if (select_.join != nullptr) {
      const auto joined = std::ranges::find(select_.join->sources, name,
                                            [](const JoinedSource& one) { return one.source.name; });
      const std::vector<JoinedSource>& all = select_.join->sources;
      const bool begins_full =
          joined == select_.join->sources.begin() && all.size() > 1 && all[1].kind == JoinKind::full;
      if (joined->kind != JoinKind::inner || begins_full)
        return not_supported(clause + " cannot be applied to the nullable side of an outer join");
      first_column = joined->first_column;
      source = &joined->source;
    }
    if (source->table == nullptr) return unsupported(clause + " of " + std::string(name));
    NAMDB_SQL_CHECK(check_changeable(source->table->name));
    // Without a wait it is locked apart from being read.
    source->to_change = clause_locked_ == LockedRow::waits;
    const auto first_target = static_cast<std::uint32_t>(select_.targets.size());
    select_.locks.push_back({source->table, first_target, clause_locked_});
    for (const std::uint32_t column : source->table->schema.key())
      select_.targets.push_back(scope_column(scope_, first_column + column));
    return {};
  }

  const Scope& scope_;
  ErrorPlace* place_;
  SelectPlan& select_;
  std::vector<FromItem> items_;
  std::vector<std::string_view> locked_;
  std::size_t clause_strength_ = 0;
  LockedRow clause_locked_ = LockedRow::waits;
  std::size_t strength_ = 0;
};

// Rows of the result are not rows of tables.
Status check_lockable(const ExpressionBinder& expressions, const Json& body, const SelectPlan& select) {
  if (!list(body, "distinctClause").empty()) return check_no_locking(body, "DISTINCT clause");
  if (!list(body, "groupClause").empty()) return check_no_locking(body, "GROUP BY clause");
  if (find(body, "havingClause") != nullptr) return check_no_locking(body, "HAVING clause");
  if (!select.aggregates.empty()) return check_no_locking(body, "aggregate functions");
  if (expressions.has_set_calls())
    return check_no_locking(body, "set-returning functions in the target list");
  return {};
}

}  // namespace

Status check_no_locking(const Json& body, std::string_view construct) {
  const Json& clauses = list(body, "lockingClause");
  if (clauses.empty()) return {};
  const std::string name = clause_name(*node(clauses.front()).body);
  if (construct == "VALUES") return not_supported(name + " cannot be applied to VALUES");
  return not_supported(name + " is not allowed with " + std::string(construct));
}

Status bind_locking(StatementBinder& binder, const ExpressionBinder& expressions, const Json& body,
                    SelectPlan& select) {
  const Json& clauses = list(body, "lockingClause");
  if (clauses.empty()) return {};
  NAMDB_SQL_CHECK(check_lockable(expressions, body, select));
  LockBinder locks(binder, expressions.scope(), body, select);
  for (const Json& clause : clauses) NAMDB_SQL_CHECK(locks.bind(*node(clause).body));
  if (select.locks.empty()) return {};
  for (const RowLock& lock : select.locks) require(binder, lock.table, storage::kUpdatePrivilege);
  if (binder.depth == 1 || binder.locking_command.empty()) binder.locking_command = locks.command();
  return {};
}

}  // namespace namdb::sql
