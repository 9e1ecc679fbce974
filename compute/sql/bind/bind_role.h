// Statements about roles, privileges and owners, and the rights that statements need.
#pragma once

#include <optional>
#include <string>

#include "compute/sql/bind/bind_statement.h"

namespace namdb::sql {

RoleName bind_role_name(const Json& spec);
Result<Plan> bind_create_role(StatementBinder& binder, const Json& body);
Result<Plan> bind_alter_role(StatementBinder& binder, const Json& body);
Result<Plan> bind_rename_role(const Json& body);
Result<Plan> bind_drop_role(const Json& body);
Result<Plan> bind_grant_role(const Json& body);
Result<Plan> bind_grant(StatementBinder& binder, const Json& body);
// ALTER ... OWNER TO, of routines.
Result<Plan> bind_change_owner(StatementBinder& binder, const Json& body);
// ALTER TABLE and ALTER SEQUENCE, if that is all that it does; otherwise nullopt.
Result<std::optional<Plan>> bind_relation_owner(StatementBinder& binder, const Json& body);
Result<Plan> bind_reassign_owned(const Json& body);
Result<Plan> bind_drop_owned(const Json& body);

// The statement needs these privileges of the table.
void require(StatementBinder& binder, const storage::TableRef& table, storage::Privileges privileges);
// Of a table that a statement reads; the catalog's are readable by all users, except those with passwords.
void require_read(StatementBinder& binder, const Source& source);
// For a view that is read, whose query needs the rights `of_query` of its owner.
void require_view(StatementBinder& binder, const std::string& view, std::vector<RequiredRight> of_query);
// For the table that UPDATE or DELETE changes, before all others.
void require_changed(StatementBinder& binder, const storage::TableRef& table, storage::Privileges privileges,
                     bool is_read);
// Adds the rights that a part of the statement needs.
void require(StatementBinder& binder, const std::vector<RequiredRight>& of_part);
// `kind`: "procedure" or "function".
void require_execute(StatementBinder& binder, std::string_view routine, std::string_view kind);
// Whether an expression of the statement's clauses names a column.
bool names_columns(const Json& body, std::initializer_list<const char*> clauses);

}  // namespace namdb::sql
