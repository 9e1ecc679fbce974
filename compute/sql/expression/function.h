// One scalar function that expressions may call. functions.h has the table of them.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "compute/sql/value/datum.h"
#include "compute/sql/value/types.h"

namespace namdb::sql {

struct EvalContext;

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

}  // namespace namdb::sql
