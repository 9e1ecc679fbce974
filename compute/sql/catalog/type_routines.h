// The functions by which PostgreSQL reads and writes values of a type, with its identities and names: clients
// tell by them what kind of type it is.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "compute/sql/value/types.h"

namespace namdb::sql {

struct TypeRoutine {
  Oid oid = 0;
  std::string_view name;
};

struct TypeRoutines {
  std::string_view type;  // as pg_type names it
  TypeRoutine input;
  TypeRoutine output;
  TypeRoutine receive;
  TypeRoutine send;
};

// All array types have the same ones.
const TypeRoutines& type_routines(TypeId type);
std::span<const TypeRoutines> all_type_routines();
std::optional<TypeRoutine> find_type_routine(std::string_view name);
std::optional<TypeRoutine> find_type_routine(Oid oid);

}  // namespace namdb::sql
