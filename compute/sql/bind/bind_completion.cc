// When a user presses TAB, psql queries the system catalogs for names to complete. An error would fail the
// transaction block that the user is in, so where such a query asks for more than there is, the answer has no
// names.
//
// The queries are recognized by the form in which psql writes them: all relations are named in full, in
// pg_catalog, at most 1000 rows are wanted, and the functions are those of its queries, none of which changes
// anything.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "compute/sql/bind/bind_statement.h"

namespace namdb::sql {
namespace {

constexpr std::int64_t kWantedRows = 1000;

constexpr std::array<std::string_view, 16> kFunctions = {
    "btrim",      "concat",         "count",         "format_type",      "length", "lower",
    "upper",      "oidvectortypes", "quote_literal", "substring",        "unnest", "quote_ident",
    "split_part", "array_cat",      "starts_with",   "pg_timezone_names"};

constexpr std::array<std::string_view, 4> kClauses = {"intoClause", "lockingClause", "withClause",
                                                      "valuesLists"};

bool is_harmless(const Json& call) {
  const std::string_view name = name_in_catalog(list(call, "funcname"));
  return name.ends_with("_is_visible") || name.starts_with("pg_get_") ||
         std::ranges::find(kFunctions, name) != kFunctions.end();
}

bool is_catalog(const Json& range_var) {
  return text(range_var, "schemaname") == "pg_catalog";
}

// Whether every part of the tree may be passed over; counts its relations, functions in FROM included.
bool is_passable(const Json& tree, std::size_t& relations) {
  std::vector<const Json*> open = {&tree};
  while (!open.empty()) {
    const Json& json = *open.back();
    open.pop_back();
    if (!json.is_structured()) continue;
    if (json.is_object()) {
      for (const auto& [member, value] : json.items()) {
        if (std::ranges::find(kClauses, member) != kClauses.end()) return false;
        if (member == "A_Star" || (member == "FuncCall" && !is_harmless(value))) return false;
        if (member == "RangeVar" && !is_catalog(value)) return false;
        if (member == "RangeVar" || member == "RangeFunction") ++relations;
      }
    }
    for (const Json& child : json) open.push_back(&child);
  }
  return true;
}

bool wants_thousand(const Json& body) {
  const Json* limit = find(body, "limitCount");
  if (limit == nullptr || node(*limit).kind != "A_Const") return false;
  const Json* number = find(*node(*limit).body, "ival");
  return number != nullptr && integer(*number, "ival") == kWantedRows;
}

// The first of the SELECTs that a UNION is made of: its columns are those of the result.
const Json& first_select(const Json& body) {
  const Json* select = &body;
  while (const Json* left = find(*select, "larg")) {
    const Node inner = node(*left);
    select = inner.kind == "SelectStmt" ? inner.body : left;
  }
  return *select;
}

}  // namespace

bool is_catalog_completion(const Json& body) {
  std::size_t relations = 0;
  return wants_thousand(body) && is_passable(body, relations) && relations > 0 &&
         !list(first_select(body), "targetList").empty();
}

Result<Plan> empty_completion(const Json& body) {
  Plan plan;
  plan.tag = "SELECT";
  SelectPlan select;
  select.source.filter = make_constant({TypeId::boolean}, Datum::of_boolean(false));
  for (const Json& item : list(first_select(body), "targetList")) {
    const Json& target = *node(item).body;
    std::string name(text(target, "name"));
    plan.columns.push_back(
        {name.empty() ? column_name_of(*find(target, "val")) : std::move(name), {TypeId::text}});
    select.targets.push_back(make_constant({TypeId::text}, Datum()));
  }
  plan.body = std::move(select);
  return plan;
}

}  // namespace namdb::sql
