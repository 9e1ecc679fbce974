// The types of a routine's parameters, by which statements name it: DROP FUNCTION f(integer, text).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "compute/sql/plan/routine.h"

namespace namdb::sql {

// "integer, text".
std::string types_text(const std::vector<TypeId>& types);
std::vector<TypeId> parameter_types(const RoutineSignature& signature, bool inputs_only);
// Whether these are the types of its parameters, all or those that it is given.
bool has_types(const RoutineSignature& signature, const std::vector<TypeId>& types);
// `word`: "procedure".
Status missing_routine(const std::string& name, std::string_view word,
                       const std::optional<std::vector<TypeId>>& types);

}  // namespace namdb::sql
