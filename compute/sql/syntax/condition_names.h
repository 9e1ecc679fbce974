// The names that PL/pgSQL gives to errors.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace namdb::sql {

// The SQLSTATE of a condition: "division_by_zero" is "22012", and so is "22012" itself. Nullopt: there is no
// such name.
std::optional<std::string> sqlstate_of_condition(std::string_view name);

}  // namespace namdb::sql
