#include "compute/sql/session/routine_types.h"

namespace namdb::sql {

std::string types_text(const std::vector<TypeId>& types) {
  std::string text;
  for (const TypeId type : types) {
    if (!text.empty()) text += ", ";
    text += type_name(type);
  }
  return text;
}

std::vector<TypeId> parameter_types(const RoutineSignature& signature, bool inputs_only) {
  std::vector<TypeId> types;
  for (const RoutineParameter& parameter : signature.parameters) {
    if (!inputs_only || parameter.is_input()) types.push_back(parameter.type.id);
  }
  return types;
}

bool has_types(const RoutineSignature& signature, const std::vector<TypeId>& types) {
  return types == parameter_types(signature, false) || types == parameter_types(signature, true);
}

Status missing_routine(const std::string& name, std::string_view word,
                       const std::optional<std::vector<TypeId>>& types) {
  const std::string kind(word);
  return Status(ErrorCode::undefined_function,
                types ? kind + " " + name + "(" + types_text(*types) + ") does not exist"
                      : "could not find a " + kind + " named \"" + name + "\"");
}

}  // namespace namdb::sql
