// Binding of functions that give several rows.
#pragma once

#include <string_view>
#include <vector>

#include "compute/sql/bind/bind_expression.h"
#include "compute/sql/plan/plan.h"
#include "compute/sql/syntax/syntax.h"

namespace namdb::sql {

// generate_series, generate_subscripts, unnest.
bool is_set_function(std::string_view name);
// Adds a call, and its columns, to the function: any expression is one that gives one row.
Status bind_set_call(ExpressionBinder& expressions, const Json& json, SetFunction& function);
// A function in FROM.
Result<SetFunction> bind_range_function(ExpressionBinder& expressions, const Json& body);
// The calls of such functions in a select list, without those of subqueries.
Status find_set_calls(const ExpressionBinder& expressions, const Json& json, std::vector<const Json*>& calls);

}  // namespace namdb::sql
