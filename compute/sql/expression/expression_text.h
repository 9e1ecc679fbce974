// A bound expression as SQL text, as PostgreSQL's EXPLAIN writes it: every operator in parentheses, casts as
// `(x)::type`, constants with their types where the literal alone has another.
#pragma once

#include <span>
#include <string>

#include "compute/sql/expression/expression.h"

namespace namdb::sql {

// `names`: of the columns.
std::string expression_text(const Expr& expr, std::span<const std::string> names);

}  // namespace namdb::sql
