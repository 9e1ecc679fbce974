// The relations of pg_catalog and information_schema as text, of which system_relations.h makes its list.
#pragma once

#include <span>
#include <string_view>

#include "compute/sql/value/types.h"

namespace namdb::sql {

struct SystemRelationRow {
  Oid oid;
  std::string_view schema;
  std::string_view name;
  char kind;
  std::string_view columns;  // "name:type" as pg_type names it, separated by blanks
};

// The rows live as long as the process.
std::span<const SystemRelationRow> pg_catalog_relations();
std::span<const SystemRelationRow> information_schema_relations();

}  // namespace namdb::sql
