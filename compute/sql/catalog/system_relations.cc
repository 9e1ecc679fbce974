#include "compute/sql/catalog/system_relations.h"

#include <algorithm>
#include <optional>

#include "common/base/check.h"
#include "compute/sql/catalog/system_relation_rows.h"

namespace namdb::sql {
namespace {

std::vector<SystemRelation::Column> columns_of(std::string_view text) {
  std::vector<SystemRelation::Column> columns;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view item = text.substr(0, end);
    const std::size_t colon = item.find(':');
    const std::optional<TypeId> type = type_named(item.substr(colon + 1));
    NAMDB_CHECK(type.has_value());
    columns.push_back({item.substr(0, colon), {*type}});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return columns;
}

}  // namespace

std::span<const SystemRelation> system_relations() {
  static const std::vector<SystemRelation> relations = [] {
    std::vector<SystemRelation> all;
    for (const auto rows : {pg_catalog_relations(), information_schema_relations()}) {
      for (const SystemRelationRow& row : rows)
        all.push_back({row.oid, row.schema, row.name, row.kind, columns_of(row.columns)});
    }
    return all;
  }();
  return relations;
}

}  // namespace namdb::sql
