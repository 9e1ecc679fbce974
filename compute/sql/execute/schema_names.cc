#include "compute/sql/execute/schema_names.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <variant>
#include <vector>

#include "compute/sql/syntax/syntax.h"

namespace namdb::sql {
namespace {

// The names in the query, and their places.
struct Named {
  std::set<std::string, std::less<>> common_tables;
  struct Name {
    std::string_view name;
    std::size_t place = 0;
    bool is_function = false;
  };
  std::vector<Name> names;

  void read(const Json& tree) {
    if (!tree.is_structured()) return;
    if (tree.is_object() && tree.size() == 1) read_node(node(tree));
    for (const Json& child : tree) read(child);
  }

 private:
  void read_node(Node part) {
    const auto place = static_cast<std::size_t>(part.body->is_object() ? integer(*part.body, "location") : 0);
    if (part.kind == "CommonTableExpr") common_tables.emplace(text(*part.body, "ctename"));
    if (part.kind == "RangeVar" && text(*part.body, "schemaname").empty())
      names.push_back({text(*part.body, "relname"), place, false});
    if (part.kind != "FuncCall") return;
    const std::vector<std::string_view> name = sql::names(list(*part.body, "funcname"));
    if (name.size() == 1) this->names.push_back({name.front(), place, true});
  }
};

}  // namespace

std::string with_schemas(const View& view) {
  const auto parsed = parse_sql(view.query);
  const auto* const tree = std::get_if<SyntaxTree>(&parsed);
  if (tree == nullptr || tree->statement_count() != 1) return view.query;
  Named found;
  const Json whole = {{std::string(tree->statement(0).kind), *tree->statement(0).body}};
  found.read(whole);
  std::set<std::size_t, std::greater<>> places;
  for (const Named::Name& name : found.names) {
    const bool is_ours = name.is_function ? std::ranges::find(view.routines, name.name) != view.routines.end()
                                          : view.reads(name.name) && !found.common_tables.contains(name.name);
    if (is_ours && name.place < view.query.size()) places.insert(name.place);
  }
  std::string query = view.query;
  for (const std::size_t place : places) query.insert(place, "public.");
  return query;
}

}  // namespace namdb::sql
