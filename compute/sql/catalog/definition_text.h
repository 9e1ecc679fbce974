// Parts of the catalog as SQL, as PostgreSQL's pg_get_...def() functions and psql show them.
#pragma once

#include <string>
#include <string_view>

#include "compute/sql/catalog/catalog.h"

namespace namdb::sql {

// As PostgreSQL shows names to people: in quotation marks unless they are plain words.
std::string quoted_name(std::string_view name);
// As SQL reads them: words that SQL reserves are in quotation marks, too.
std::string quote_identifier(std::string_view name);
std::string quote_literal(std::string_view text);

// `hides_public`, here and below: names in the schema public have it before them.

// The expression of a column's default; the column has one.
std::string default_text(const layout::Column& column, bool hides_public = false);
// CREATE INDEX ..., with schemas in names or without.
std::string index_text(const CatalogRelation& index, bool with_schema);
// The query of a view, as it was written.
std::string view_text(const CatalogRelation& view);
// The action of a foreign key: "NO ACTION".
std::string_view action_text(storage::ForeignKeyAction action);
// "PRIMARY KEY (a, b)", "UNIQUE (a)", "CHECK ((a > 0))", "FOREIGN KEY (a) REFERENCES t(b)": of a constraint.
// `pretty`: "CHECK (a > 0)".
std::string constraint_text(const CatalogRelation& index, bool pretty, bool hides_public);
// The name by which regclass shows it: with its schema where the name alone means something else.
std::string relation_text(const CatalogRelation& relation, bool hides_public);

}  // namespace namdb::sql
