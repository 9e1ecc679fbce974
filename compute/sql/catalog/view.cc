#include "compute/sql/catalog/view.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "compute/sql/value/enumeration.h"

namespace namdb::sql {

using Json = nlohmann::json;

bool View::reads(std::string_view relation, std::string_view column) const {
  const auto found = relations.find(relation);
  return found != relations.end() &&
         std::ranges::find(found->second.used, column) != found->second.used.end();
}

std::string text_of(const View& view) {
  Json columns = Json::array();
  for (const View::Column& column : view.columns) {
    columns.push_back(
        {{"name", column.name}, {"type", type_oid(column.type.id)}, {"modifier", column.type.modifier}});
  }
  Json relations = Json::object();
  for (const auto& [name, relation] : view.relations)
    relations[name] = {{"columns", relation.columns}, {"used", relation.used}};
  const Json whole = {
      {"statement", view.statement}, {"query", view.query},       {"columns", columns},
      {"relations", relations},      {"routines", view.routines},
  };
  return whole.dump();
}

Result<ViewRef> view_of(const storage::Routine& routine) {
  const std::string name = storage::view_name(routine);
  const auto unsound = [&name] {
    return Status(ErrorCode::corrupt_data, "the catalog's entry of view \"" + name + "\" makes no sense");
  };
  const Json whole = Json::parse(routine.definition, nullptr, /*allow_exceptions=*/false);
  if (!whole.is_object()) return unsound();
  const auto is_list = [&whole](const char* member) {
    return whole.contains(member) && whole[member].is_array();
  };
  const auto is_text = [&whole](const char* member) {
    return whole.contains(member) && whole[member].is_string();
  };
  if (!is_text("statement") || !is_text("query") || !is_list("columns") || !whole.contains("relations") ||
      !whole["relations"].is_object())
    return unsound();
  auto view = std::make_shared<View>();
  view->id = routine.id;
  view->version = routine.version;
  view->name = name;
  view->statement = whole["statement"].get<std::string>();
  view->query = whole["query"].get<std::string>();
  for (const Json& column : whole["columns"]) {
    if (!column.is_object() || !column.contains("name") || !column["name"].is_string() ||
        !column.contains("type") || !column["type"].is_number() || !column.contains("modifier") ||
        !column["modifier"].is_number())
      return unsound();
    const auto oid = column["type"].get<Oid>();
    std::optional<TypeId> type = made_type(oid);
    if (!type) type = type_from_oid(oid);
    if (!type) return unsound();
    View::Column& added = view->columns.emplace_back();
    added.name = column["name"].get<std::string>();
    added.type = Type{*type};
    added.type.modifier = column["modifier"].get<std::int32_t>();
  }
  const auto strings = [](const Json& body, const char* member) {
    std::vector<std::string> all;
    if (!body.contains(member)) return all;
    for (const Json& item : body[member]) {
      if (item.is_string()) all.push_back(item.get<std::string>());
    }
    return all;
  };
  for (const auto& [relation, body] : whole["relations"].items())
    view->relations[relation] = {strings(body, "columns"), strings(body, "used")};
  view->routines = strings(whole, "routines");
  return ViewRef(std::move(view));
}

}  // namespace namdb::sql
