// A view's query for clients to whom the schema public is not visible.
#pragma once

#include <string>

#include "compute/sql/catalog/view.h"

namespace namdb::sql {

// The query with the schema before the names of relations and functions that lack it.
std::string with_schemas(const View& view);

}  // namespace namdb::sql
