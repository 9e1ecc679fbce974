#include "compute/sql/catalog/enumeration_text.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "compute/sql/catalog/definition_text.h"

namespace namdb::sql {

using Json = nlohmann::json;

std::string text_of(const Enumeration& enumeration) {
  Json values = Json::array();
  for (const Enumeration::Value& value : enumeration.values)
    values.push_back({{"label", value.label}, {"position", value.position}});
  return Json({{"name", enumeration.name}, {"birth", enumeration.birth}, {"values", values}}).dump();
}

Result<Enumeration> enumeration_of(const storage::Routine& routine) {
  Enumeration enumeration;
  enumeration.id = routine.id;
  enumeration.version = routine.version;
  enumeration.key = routine.name;
  const auto unsound = [&enumeration] {
    return Status(ErrorCode::corrupt_data,
                  "the catalog's entry of type \"" + enumeration.key.substr(1) + "\" makes no sense");
  };
  const Json whole = Json::parse(routine.definition, nullptr, /*allow_exceptions=*/false);
  if (!whole.is_object() || !whole.contains("birth") || !whole["birth"].is_string() ||
      !whole.contains("name") || !whole["name"].is_string() || !whole.contains("values") ||
      !whole["values"].is_array())
    return unsound();
  enumeration.name = whole["name"].get<std::string>();
  enumeration.shown_name = quote_identifier(enumeration.name);
  enumeration.birth = whole["birth"].get<std::string>();
  for (const Json& value : whole["values"]) {
    if (!value.is_object() || !value.contains("label") || !value["label"].is_string() ||
        !value.contains("position") || !value["position"].is_number_integer())
      return unsound();
    const auto position = value["position"].get<std::int64_t>();
    if (!enumeration.values.empty() && enumeration.values.back().position >= position) return unsound();
    enumeration.values.push_back({value["label"].get<std::string>(), position});
  }
  return enumeration;
}

}  // namespace namdb::sql
