// CREATE INDEX on expressions, and of a part of a table: the table gets columns for the index.
#pragma once

#include "compute/sql/bind/bind_statement.h"

namespace namdb::sql {

// An element of CREATE INDEX, whose column is that one: whether it is descending.
Result<bool> bind_index_order(const Json& element, const layout::Column& column, bool hash);
bool needs_index_columns(const Json& body);
// Chooses the index's name, too, if it has none.
Status bind_index_columns(StatementBinder& binder, const Json& body, CreateIndexPlan& create);

}  // namespace namdb::sql
