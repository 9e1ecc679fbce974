// A procedure that a client has defined in SQL text, as a compute server knows it: a worker's copy of a
// catalog entry, shared by reference. It never changes; one that was replaced is another object.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace namdb::storage {

struct Routine {
  std::uint32_t id = 0;  // of its name, unique among routines; one that replaces another keeps it
  std::string name;
  std::string definition;     // the statement that has created it
  std::uint64_t version = 0;  // of the catalog, with this definition
};
using RoutineRef = std::shared_ptr<const Routine>;

}  // namespace namdb::storage

namespace namdb::txn {

struct RoutineDefinition {
  std::string name;
  std::string text;  // the CREATE statement
  // The version of the routine that it takes the place of; 0: there must be none.
  std::uint64_t replaces_version = 0;
};

}  // namespace namdb::txn
