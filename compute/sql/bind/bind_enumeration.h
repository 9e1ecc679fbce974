// CREATE TYPE ... AS ENUM, ALTER TYPE and DROP TYPE, and the functions of enumerations.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compute/sql/bind/bind_expression.h"
#include "compute/sql/bind/bind_statement.h"

namespace namdb::sql {

Result<Plan> bind_create_enumeration(const Json& body);
Result<Plan> bind_alter_enumeration(const SessionFacts* facts, const Json& body);
Result<Plan> bind_rename_type(const Json& body);
Result<Plan> bind_drop_types(const Json& body);
// The name of a type in a list of strings. undefined_schema.
Result<std::string> bind_type_name(const Json& parts);

// The names without schemas of all types that a statement names, as they are written: those of the server are
// among them. They live as long as the tree.
std::vector<std::string_view> types_named_by(const Json& tree);

// enum_first(), enum_last(), enum_range().
bool is_enumeration_function(std::string_view name);

}  // namespace namdb::sql
