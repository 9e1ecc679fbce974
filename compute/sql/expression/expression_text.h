// A bound expression as SQL text, as PostgreSQL's EXPLAIN writes it: every operator in parentheses, casts as
// `(x)::type`, constants with their types where the literal alone has another.
#pragma once

#include <string>

#include "common/layout/schema.h"
#include "compute/sql/expression/expression.h"

namespace namdb::sql {

// Names columns as the schema does.
std::string expression_text(const Expr& expr, const layout::Schema& schema);

}  // namespace namdb::sql
