// Joins in FROM: their conditions, and the columns that USING and NATURAL merge.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "compute/sql/bind/check_status.h"
#include "compute/sql/bind/from_binder.h"
#include "compute/sql/plan/conditions.h"

namespace namdb::sql {

Result<FromBinder::Part> FromBinder::bind_join(const Json& join) {
  NAMDB_SQL_CHECK(
      only(join, "a join", {"jointype", "isNatural", "larg", "rarg", "usingClause", "quals", "rtindex"}));
  const std::string_view type = text(join, "jointype");
  const bool full = type == "JOIN_FULL";
  if (++depth_ > kMaxTables) return unsupported("a join of so many tables");
  NAMDB_SQL_ASSIGN(Part left, bind_item(*find(join, "larg")));
  const Barred outside = std::exchange(barred_, full || type == "JOIN_RIGHT" ? Barred(left.tables) : barred_);
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

Result<FromBinder::Part> FromBinder::bind_full_join(const Json& join, Part left, Part right) {
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

std::vector<std::string> FromBinder::merged_names(const Json& join, const Part& left, const Part& right) {
  if (flag(join, "isNatural")) return common_names(left, right);
  std::vector<std::string> merged;
  for (const Json& name : list(join, "usingClause")) merged.emplace_back(text(*node(name).body, "sval"));
  return merged;
}

Status FromBinder::bind_quals(const Json& join, const Part& joined, std::vector<ExprPtr>& conditions) {
  const Json* const quals = find(join, "quals");
  if (quals == nullptr) return {};
  expressions_.set_scope(scope_of_part(joined));
  expressions_.set_aggregates(nullptr, "JOIN conditions");
  NAMDB_SQL_ASSIGN(ExprPtr on, expressions_.bind_condition(*quals, "JOIN/ON"));
  for (ExprPtr& condition : take_conjuncts(std::move(on))) conditions.push_back(std::move(condition));
  return {};
}

std::vector<std::string> FromBinder::common_names(const Part& left, const Part& right) {
  std::vector<std::string> common;
  for (const Scope::Shown& shown : left.shown) {
    if (std::ranges::count(right.shown, shown.name, &Scope::Shown::name) != 0) common.push_back(shown.name);
  }
  return common;
}

Result<Scope::Shown> FromBinder::take_shown(Part& part, const std::string& name, std::string_view side) {
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

Result<FromBinder::Part> FromBinder::merge(Part left, Part right, const std::vector<std::string>& names,
                                           std::string_view type, std::vector<ExprPtr>& conditions) {
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

Type FromBinder::common_type(const Type& left, const Type& right, const Type& compared) {
  if (left == right) return left;
  if (!left.is_integer() || !right.is_integer()) return {compared.id};
  const bool left_is_wider = left.id == TypeId::int8 || right.id == TypeId::int2;
  return {left_is_wider ? left.id : right.id};
}

}  // namespace namdb::sql
