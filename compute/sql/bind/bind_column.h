// The type and the default of a column of CREATE TABLE.
#pragma once

#include "common/layout/schema.h"
#include "compute/sql/bind/bind_statement.h"

namespace namdb::sql {

// Error feature_not_supported: columns cannot have that type.
Status set_column_type(layout::Column& column, const Type& type);
// The column has its type. Errors of the expression; feature_not_supported: it is no constant, nor one of the
// few calls that a default may be.
Status set_default(StatementBinder& binder, layout::Column& column, const Json& value);

}  // namespace namdb::sql
