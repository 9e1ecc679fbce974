// The relations of pg_catalog and information_schema: PostgreSQL 15's names, identities and columns. Some
// have rows here (compute/sql/system), the others are empty, as in a PostgreSQL that does not use the
// feature. Types that namdb does not have are text.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "compute/sql/value/types.h"

namespace namdb::sql {

inline constexpr std::string_view kCatalogSchema = "pg_catalog";
inline constexpr std::string_view kInformationSchema = "information_schema";

struct SystemRelation {
  struct Column {
    std::string_view name;
    Type type;
  };
  Oid oid = 0;
  std::string_view schema;
  std::string_view name;
  char kind = 'r';  // as pg_class.relkind has it: r (table), v (view)
  std::vector<Column> columns;

  // Its rows have a column more, of the relation's identity, which must be named.
  bool has_tableoid() const { return kind == 'r'; }
};

// The relations live as long as the process.
std::span<const SystemRelation> system_relations();

}  // namespace namdb::sql
