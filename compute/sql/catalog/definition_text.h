// Parts of the catalog as SQL, as PostgreSQL's pg_get_...def() functions and psql show them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compute/sql/catalog/catalog.h"

namespace namdb::sql {

// As PostgreSQL shows names to people: in quotation marks unless they are plain words.
std::string quoted_name(std::string_view name);
// As SQL reads them: words that SQL reserves are in quotation marks, too.
std::string quote_identifier(std::string_view name);
std::string quote_literal(std::string_view text);

// `hides_public`, here and below: names in the schema public have it before them.

// "numeric(10,2)", "public.mood".
std::string shown_type_name(const Type& type, bool hides_public);
// The expression of a column's default; the column has one.
std::string default_text(const layout::Column& column, bool hides_public = false);
// A column of an index: its name, or its expression, in parentheses unless it is a call. `pretty`, here and
// below: as people read it.
std::string index_column_text(const layout::Schema& schema, std::uint32_t column, bool pretty);
// The column whose values an index has, perhaps only those of a part of the table; nullopt: it has those of
// an expression.
std::optional<std::uint32_t> indexed_column(const layout::Schema& schema, std::uint32_t column);
// Its name in the index: that of the column or function, or "expr"; those that are taken get a number.
std::vector<std::string> index_column_names(const CatalogRelation& index);
// CREATE INDEX ..., with schemas in names or without.
std::string index_text(const CatalogRelation& index, bool with_schema);
// The expressions of an index, and the predicate of one of a part of a table; empty: it has none.
std::string index_expressions_text(const CatalogRelation& index);
std::string index_predicate_text(const CatalogRelation& index);
// An expression as the catalog keeps it, without the parentheses that it does not need.
std::string pretty_expression(std::string_view expression);
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
