// The rows of the relations of roles and privileges, and what other relations say of them.
#pragma once

#include <cstdint>
#include <string>

#include "compute/api/role.h"
#include "compute/sql/catalog/catalog.h"
#include "compute/sql/system/catalog_row_writer.h"

namespace namdb::sql {

class RoleTexts {
 public:
  RoleTexts(const VirtualTableInput& input, Arena& arena);

  // The owner of a relation; of an index that of its table.
  Oid owner_oid(const CatalogRelation& relation) const;
  std::string owner_name(const CatalogRelation& relation) const;
  Oid system_owner_oid() const;
  Oid type_owner_oid(TypeId made) const;
  std::string system_owner_name() const;
  // An array of aclitems, as text; NULL: they are as of any new object.
  Datum grants(const CatalogRelation& relation) const;
  Datum schema_grants() const;

 private:
  Datum grants_of(const storage::SecuredObject& object) const;

  const VirtualTableInput& input_;
  Arena& arena_;
  const storage::Roles* roles_;  // null: there are none
};

// The table, or the sequence; of an index its table.
storage::SecuredObject secured_object(const CatalogRelation& relation);
Oid system_owner_oid(const VirtualTableInput& input);

void add_stored_roles(CatalogRowWriter& rows, const VirtualTableInput& input);
void add_shown_roles(CatalogRowWriter& rows, const VirtualTableInput& input);
void add_users(CatalogRowWriter& rows, const VirtualTableInput& input);
void add_shadows(CatalogRowWriter& rows, const VirtualTableInput& input);
void add_groups(CatalogRowWriter& rows, const VirtualTableInput& input);
void add_memberships(CatalogRowWriter& rows, const VirtualTableInput& input);
void add_table_privileges(CatalogRowWriter& rows, const VirtualTableInput& input);
void add_role_table_grants(CatalogRowWriter& rows, const VirtualTableInput& input);
void add_enabled_roles(CatalogRowWriter& rows, const VirtualTableInput& input);
void add_applicable_roles(CatalogRowWriter& rows, const VirtualTableInput& input);

}  // namespace namdb::sql
