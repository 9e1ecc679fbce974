// `\d` and its like: the server's catalogs as tables for people, in psql's forms.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/namsql/completion.h"
#include "tools/namsql/connection.h"
#include "tools/namsql/result_table.h"

namespace namdb::namsql {

// A list of the catalog: `\dt`, `\di`, `\ds`, `\d` (tables and sequences), `\dn`, `\du`, `\l`.
struct CatalogList {
  std::string title;
  std::string statement;
  bool counts_rows = true;
};
// With a pattern only what matches it. Nothing for a command that lists nothing.
std::optional<CatalogList> catalog_list(std::string_view command, const std::optional<std::string>& pattern);

// Each relation that matches the pattern. Nothing if the catalogs could not be read:
// connection.last_error() says why.
std::optional<std::vector<ResultTable>> describe(Connection& connection, std::string_view pattern);

// Names for the TAB key; some are missing where the catalogs could not be read.
Names read_names(Connection& connection);

}  // namespace namdb::namsql
