// The type and the default of a column of CREATE TABLE.
#pragma once

#include "common/layout/schema.h"
#include "compute/sql/bind/bind_statement.h"

namespace namdb::sql {

// Error feature_not_supported: columns cannot have that type.
Status set_column_type(layout::Column& column, const Type& type);
// feature_not_supported: an index, or a hash index, cannot have the column.
Status check_index_column(const layout::Column& column, bool hash);
// The column has its type. Errors of the expression; feature_not_supported: it is neither a constant nor one
// of the few calls that a default may be.
Status set_default(StatementBinder& binder, layout::Column& column, const Json& value);
// The default of a column, for a row that gives it no value; null: NULL.
Result<ExprPtr> default_of(ExpressionBinder& expressions, const layout::Column& column);
// An expression as a column stores it. Error datatype_mismatch.
Status coerce_to_column(ExpressionBinder& expressions, ExprPtr& value, const layout::Column& column);

}  // namespace namdb::sql
