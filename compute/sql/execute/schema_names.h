// A view's query for clients that do not see the schema public.
#pragma once

#include <string>

#include "compute/sql/catalog/view.h"

namespace namdb::sql {

// The query with the schema before the names of relations and functions that lack it.
std::string with_schemas(const View& view);

}  // namespace namdb::sql
