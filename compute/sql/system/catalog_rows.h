// The rows of the relations of pg_catalog and information_schema.
#pragma once

#include "compute/sql/catalog/catalog.h"
#include "compute/sql/system/catalog_row_writer.h"
#include "compute/sql/system/virtual_table.h"

namespace namdb::sql {

// The rows of a relation, which has none unless namdb has something to say there.
VirtualRows catalog_rows(const SystemRelation& relation, const VirtualTableInput& input);

// The relations that the statement asks about.
std::vector<const CatalogRelation*> wanted_relations(const VirtualTableInput& input);

// Adds the rows of one relation.
using CatalogRowMaker = void (*)(CatalogRowWriter& rows, const VirtualTableInput& input);
// Adds the rows of pg_constraint.
void add_constraint_rows(CatalogRowWriter& rows, const VirtualTableInput& input);
// The maker of rows of pg_proc and its like; null: it is none of these relations.
CatalogRowMaker find_routine_rows(const SystemRelation& relation);
// The same for pg_depend, pg_attrdef and pg_rewrite.
CatalogRowMaker find_dependency_rows(const SystemRelation& relation);
// The same for a view of pg_catalog; null: another relation, or a view without rows.
CatalogRowMaker find_catalog_view(const SystemRelation& relation);
// The same for a relation of information_schema; null: another one, or one without rows.
CatalogRowMaker find_information_view(const SystemRelation& relation);

}  // namespace namdb::sql
