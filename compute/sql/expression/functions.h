// The scalar functions that expressions may call, one table.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "compute/sql/expression/expression.h"

namespace namdb::sql {

struct Function {
  std::string_view name;
  std::vector<TypeId> parameters;
  TypeId result;
  // NULL when any argument is NULL, without being called.
  bool strict = true;
  // Another value at each call: never folded, never a key.
  bool is_volatile = false;
  // Null: PostgreSQL has it and would choose it, namdb does not.
  Status (*call)(const EvalContext& context, std::span<const Datum> arguments, Datum& out);
};

// All overloads of a name; empty when there is none.
std::vector<const Function*> functions_named(std::string_view name);

}  // namespace namdb::sql
