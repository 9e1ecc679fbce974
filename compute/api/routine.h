// A procedure that a client has defined in SQL text, as a compute server knows it: a worker's copy of a
// catalog entry, shared by reference. It never changes; one that was replaced is another object.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace namdb::storage {

struct Routine {
  std::uint32_t id = 0;  // of its name, unique among routines; one that replaces another keeps it
  std::string name;
  std::string definition;     // the statement that has created it
  std::uint64_t version = 0;  // of the catalog, with this definition
};
using RoutineRef = std::shared_ptr<const Routine>;

// A view is kept as a routine under a name that no procedure can have. Its definition is that of
// compute/sql/view.
inline constexpr char kViewMark = '\x01';
inline std::string view_key(std::string_view view) {
  return std::string(1, kViewMark) + std::string(view);
}
inline bool is_view(const Routine& routine) {
  return !routine.name.empty() && routine.name.front() == kViewMark;
}
inline std::string view_name(const Routine& routine) {
  return routine.name.substr(1);
}

}  // namespace namdb::storage

namespace namdb::txn {

struct RoutineDefinition {
  std::string name;
  std::string text;  // the CREATE statement
  // The version of the routine that it takes the place of; 0: there must be none.
  std::uint64_t replaces_version = 0;
  std::uint32_t owner = 0;  // of a new one: a role's id; 0: none
};

}  // namespace namdb::txn
