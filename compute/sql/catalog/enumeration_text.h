// Enumerations as the catalog keeps them: as routines, under names that no procedure can have.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "compute/api/routine.h"
#include "compute/sql/value/enumeration.h"

namespace namdb::sql {

inline constexpr char kTypeMark = '\x02';
// The entry of a new type, unless one that had that name has it.
inline std::string type_key(std::string_view type) {
  return std::string(1, kTypeMark) + std::string(type);
}
inline bool is_type(const storage::Routine& routine) {
  return !routine.name.empty() && routine.name.front() == kTypeMark;
}
// A procedure or a function, and nothing else that is kept as one.
inline bool is_procedure(const storage::Routine& routine) {
  return !storage::is_view(routine) && !is_type(routine);
}

// As a routine's definition. Without id, key and version.
std::string text_of(const Enumeration& enumeration);
// The enumeration in a routine that is a type. Error corrupt_data.
Result<Enumeration> enumeration_of(const storage::Routine& routine);

// The types that names mean, for a session.
using TypeNames = std::map<std::string, TypeId, std::less<>>;
using TypeNamesRef = std::shared_ptr<const TypeNames>;

}  // namespace namdb::sql
