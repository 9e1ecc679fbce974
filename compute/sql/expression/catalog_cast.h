// Casts to regclass and its like: from names and identities to objects of the catalog.
#pragma once

#include "compute/sql/catalog/catalog.h"
#include "compute/sql/value/datum.h"

namespace namdb::sql {

// `in` is not NULL, of type `from`: a string, an integer, or another of these types. The result's text is the
// name by which the object is shown; of an identity that no object has, its number. undefined_table,
// undefined_object, undefined_function, undefined_schema; invalid_name.
Status cast_to_catalog_object(const Datum& in, TypeId from, TypeId to, const Catalog& catalog, Arena& arena,
                              Datum& out);

// The parts of a name such as `public."My table"`, in lower case except for quoted parts. invalid_name.
Status parse_qualified_name(std::string_view text, std::vector<std::string>& parts);

// The relation of that name; null: there is none. invalid_name.
Status find_relation(const Catalog& catalog, std::string_view name, const CatalogRelation*& relation);
// The type of that name, as SQL or pg_type has it; `unknown`: there is none.
TypeId find_type(std::string_view name);

}  // namespace namdb::sql
