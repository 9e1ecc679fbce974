// The scalar functions that expressions may call.
#pragma once

#include <string_view>
#include <vector>

#include "compute/sql/expression/function.h"

namespace namdb::sql {

// All overloads of that name.
std::vector<const Function*> functions_named(std::string_view name);
// The same of an operator with dates, times, intervals, arrays or JSON.
std::vector<const Function*> operators_named(std::string_view name);

}  // namespace namdb::sql
