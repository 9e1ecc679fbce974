#include "compute/sql/expression/functions.h"

#include "compute/sql/expression/function_tables.h"

namespace namdb::sql {
namespace {

// Other names of the functions in the tables.
std::string_view canonical(std::string_view name) {
  if (name == "ceiling") return "ceil";
  if (name == "pow") return "power";
  if (name == "log10") return "log";
  if (name == "character_length") return "char_length";
  if (name == "substr") return "substring";
  if (name == "not_like_escape") return "like_escape";
  if (name == "transaction_timestamp") return "now";
  if (name == "user" || name == "current_role") return "current_user";
  if (name == "current_catalog") return "current_database";
  return name;
}

}  // namespace

std::vector<const Function*> functions_named(std::string_view name) {
  const std::string_view wanted = canonical(name);
  std::vector<const Function*> found;
  for (const auto table : {numeric_functions(), arithmetic_functions(), text_functions(), bytes_functions(),
                           time_functions(), session_functions(), array_functions(), array_set_functions(),
                           json_functions(), catalog_functions(), privilege_functions()}) {
    for (const Function& function : table) {
      if (function.name == wanted) found.push_back(&function);
    }
  }
  return found;
}

std::vector<const Function*> operators_named(std::string_view name) {
  std::vector<const Function*> found;
  for (const auto table : {time_operators(), array_set_operators(), bit_operators(), json_operators()}) {
    for (const Function& function : table) {
      if (function.name == name) found.push_back(&function);
    }
  }
  return found;
}

}  // namespace namdb::sql
