// Overload resolution of functions and operators by PostgreSQL's rules ("Type Conversion" in its manual), for
// types that convert implicitly as cast.h says.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "compute/sql/value/types.h"

namespace namdb::sql {

struct OverloadChoice {
  enum class Outcome : std::uint8_t { found, none, ambiguous };
  Outcome outcome = Outcome::none;
  std::size_t index = 0;  // of the chosen candidate
};

// Each candidate has as many parameters as there are arguments.
OverloadChoice choose_overload(std::span<const std::span<const TypeId>> candidates,
                               std::span<const TypeId> arguments);

}  // namespace namdb::sql
