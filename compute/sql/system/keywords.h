// The words of SQL as PostgreSQL 15's grammar has them: the rows of pg_get_keywords().
#pragma once

#include <vector>

#include "compute/sql/value/datum.h"

namespace namdb::sql {

// word, catcode, barelabel, catdesc, baredesc.
std::vector<std::vector<Datum>> keyword_rows(Arena& arena);

}  // namespace namdb::sql
