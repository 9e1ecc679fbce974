// What the binders of the single kinds of statements share.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "compute/sql/bind/bind_expression.h"
#include "compute/sql/bind/bind_input.h"

namespace namdb::sql {

// The parameters' types while a statement is bound, and what it is bound against.
struct StatementBinder {
  const BindInput& input;
  std::vector<Type> parameters;
};

Result<Plan> bind_select(StatementBinder& binder, const Json& body);
Result<Plan> bind_insert(StatementBinder& binder, const Json& body);
Result<Plan> bind_update(StatementBinder& binder, const Json& body);
Result<Plan> bind_delete(StatementBinder& binder, const Json& body);
Result<Plan> bind_call(StatementBinder& binder, const Json& body);
Result<Plan> bind_create_table(StatementBinder& binder, const Json& body);
Result<Plan> bind_create_index(StatementBinder& binder, const Json& body);
Result<Plan> bind_drop(StatementBinder& binder, const Json& body);
Result<Plan> bind_reindex(const Json& body);
Result<Plan> bind_transaction(const Json& body);
Result<Plan> bind_set(const Json& body);
Result<Plan> bind_explain(StatementBinder& binder, const Json& body);

// Whether the SELECT is one of those that psql asks the system catalogs with for words to complete, and an
// answer without rows to it.
bool is_catalog_completion(const Json& body);
Result<Plan> empty_completion(const Json& body);

// A RangeVar's name. undefined_schema for a schema that namdb does not have.
Result<std::string> relation_name(const Json& range_var);
// The one schema there is, or none.
Status check_schema(std::string_view schema);
// A name for an index or a constraint, as PostgreSQL makes it: "table_column_column_label", at most 63 bytes.
std::string index_name(std::string_view table, std::span<const std::string_view> columns,
                       std::string_view label);
// A stored table. undefined_table.
Result<storage::TableRef> bind_table(const StatementBinder& binder, const Json& range_var);
// Of the source's table; none of a table that is not stored.
std::span<const storage::IndexRef> indexes_of(const BindInput& input, const Source& source);
// The table, its alias, the condition, and whether the key decides. `where` may be null.
Result<Source> bind_source(StatementBinder& binder, ExpressionBinder& expressions, const Json& range_var,
                           const Json* where);

}  // namespace namdb::sql
