// The names that expressions may mean beside columns: the variables of the procedure whose statement is
// bound. A variable is a parameter of the statement.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "common/base/error.h"
#include "compute/sql/value/types.h"

namespace namdb::sql {

class VariableScope {
 public:
  // A name that means a variable and a column.
  enum class Conflict : std::uint8_t { error, use_variable, use_column };

  virtual ~VariableScope() = default;
  // The variable's parameter, from 0; none: no variable has the name. `parts`: "a", or "label.a". Errors
  // undefined_column: a record has no such field, ...
  virtual Result<std::optional<std::uint32_t>> find(std::span<const std::string_view> parts) const = 0;
  virtual Conflict conflict() const = 0;
  // $1 to this one may be named by their numbers.
  virtual std::uint32_t numbered() const = 0;
};

}  // namespace namdb::sql
