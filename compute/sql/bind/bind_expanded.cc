// information_schema._pg_expandarray(array), by which clients read the columns of keys: in the list of a
// SELECT it gives a row of two columns for each element, x (the element) and n (its number). A
// column has no fields here, so such a statement is written anew, with a column for each of the two.
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compute/sql/bind/bind_statement.h"
#include "compute/sql/bind/check_status.h"

namespace namdb::sql {
namespace {

constexpr std::string_view kFunction = "_pg_expandarray";

Json string_node(std::string_view text) {
  return {{"String", {{"sval", std::string(text)}}}};
}

Json call(std::string_view function, Json arguments) {
  return {{"FuncCall",
           {{"funcname", Json::array({string_node("pg_catalog"), string_node(function)})},
            {"args", std::move(arguments)},
            {"funcformat", "COERCE_EXPLICIT_CALL"}}}};
}

Json number(int value) {
  return {{"A_Const", {{"ival", {{"ival", value}}}}}};
}

// The array of a call of the function; null: it is something else.
const Json* expanded_array(const Json& json) {
  const Node part = node(json);
  if (part.kind != "FuncCall") return nullptr;
  const std::vector<std::string_view> name = names(list(*part.body, "funcname"));
  if (name.size() != 2 || name[0] != "information_schema" || name[1] != kFunction) return nullptr;
  const Json& arguments = list(*part.body, "args");
  return arguments.size() == 1 ? &arguments[0] : nullptr;
}

Json part_of_array(const Json& array, std::string_view column) {
  if (column == "x") return call("unnest", Json::array({array}));
  return call("generate_series",
              Json::array({number(1), call("array_length", Json::array({array, number(1)}))}));
}

// The column's name in `(value).x`; empty: it is something else.
std::string_view selected(const Json& indirection) {
  const Json& parts = list(indirection, "indirection");
  if (parts.size() != 1 || node(parts[0]).kind != "String") return {};
  const std::string_view name = text(*node(parts[0]).body, "sval");
  return name == "x" || name == "n" ? name : std::string_view();
}

class Expansion {
 public:
  // The names that statements within give to whole rows of the function.
  void find_rows(const Json& json) {
    if (!json.is_structured()) return;
    if (json.is_object()) {
      if (json.contains("A_Star")) has_star_ = true;
      for (const Json& item : list(json, "targetList")) {
        const Node target = node(item);
        if (target.kind == "ResTarget" && find(*target.body, "val") != nullptr &&
            expanded_array(*find(*target.body, "val")) != nullptr)
          rows_.insert(name_of(*target.body));
      }
    }
    for (const Json& child : json) find_rows(child);
  }
  bool is_ambiguous() const { return has_star_ && !rows_.empty(); }

  Json rewrite(const Json& json) const {
    if (!json.is_structured()) return json;
    if (json.is_array()) {
      Json all = Json::array();
      for (const Json& child : json) all.push_back(rewrite(child));
      return all;
    }
    if (json.size() == 1 && node(json).kind == "A_Indirection") {
      const Json& body = *node(json).body;
      const std::string_view column = selected(body);
      const Json& value = *find(body, "arg");
      if (!column.empty()) {
        if (const Json* const array = expanded_array(value)) return part_of_array(rewrite(*array), column);
        if (names_row(value)) return part_of_row(value, column);
      }
    }
    Json all = Json::object();
    for (const auto& [member, child] : json.items())
      all[member] = member == "targetList" ? rewrite_targets(child) : rewrite(child);
    return all;
  }

 private:
  static std::string name_of(const Json& target) {
    const std::string_view name = text(target, "name");
    return std::string(name.empty() ? kFunction : name);
  }

  bool names_row(const Json& value) const {
    const Node reference = node(value);
    if (reference.kind != "ColumnRef") return false;
    const std::vector<std::string_view> fields = names(list(*reference.body, "fields"));
    return !fields.empty() && rows_.contains(std::string(fields.back()));
  }

  static std::string column_of(const std::string& row, std::string_view column) {
    return row + "." + std::string(column);
  }

  static Json part_of_row(const Json& value, std::string_view column) {
    Json reference = value;
    Json& last = reference["ColumnRef"]["fields"].back();
    last = string_node(column_of(std::string(text(*node(last).body, "sval")), column));
    return reference;
  }

  Json rewrite_targets(const Json& targets) const {
    Json all = Json::array();
    for (const Json& item : targets) {
      const Node target = node(item);
      const Json* const value = target.kind == "ResTarget" ? find(*target.body, "val") : nullptr;
      const Json* const array = value == nullptr ? nullptr : expanded_array(*value);
      if (array == nullptr) {
        Json kept = rewrite(item);
        const bool is_part = value != nullptr && node(*value).kind == "A_Indirection";
        if (is_part && text(*target.body, "name").empty() && !selected(*node(*value).body).empty())
          kept["ResTarget"]["name"] = selected(*node(*value).body);
        all.push_back(std::move(kept));
        continue;
      }
      for (const std::string_view column : {"x", "n"}) {
        Json part = {{"ResTarget",
                      {{"name", column_of(name_of(*target.body), column)},
                       {"val", part_of_array(rewrite(*array), column)}}}};
        if (const Json* const place = find(*target.body, "location")) part["ResTarget"]["location"] = *place;
        all.push_back(std::move(part));
      }
    }
    return all;
  }

  std::set<std::string> rows_;
  bool has_star_ = false;
};

}  // namespace

bool expands_arrays(std::string_view statement) {
  return statement.find(kFunction) != std::string_view::npos;
}

Result<Json> with_expanded_arrays(const Json& body) {
  Expansion expansion;
  expansion.find_rows(body);
  if (expansion.is_ambiguous()) return unsupported("* beside a row of _pg_expandarray()");
  return expansion.rewrite(body);
}

}  // namespace namdb::sql
