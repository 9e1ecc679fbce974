// PL/pgSQL by libpg_query: the body of a routine as a tree, and the things that libpg_query's tree leaves
// out.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "compute/sql/syntax/syntax.h"
#include "compute/sql/syntax/syntax_error.h"

namespace namdb::sql {

struct PlpgsqlTree {
  Json function;  // the body of PLpgSQL_function
  // The names that each block declares, by the order in which the text begins its blocks.
  std::vector<std::vector<std::string>> declared;
  std::string variable_conflict;  // "error", "use_variable", "use_column"
};

// `statement`: CREATE PROCEDURE or FUNCTION; `body`: its AS.
std::variant<PlpgsqlTree, SyntaxError> parse_plpgsql(const std::string& statement, const std::string& body);

// The body with `RETURN NEXT (a);` for `RETURN NEXT a;`, whose variable libpg_query's tree leaves out, and
// with `RETURN NEXT NULL;` for `RETURN NEXT;`, which it does not take.
std::string with_values_of_return_next(const std::string& body);

}  // namespace namdb::sql
