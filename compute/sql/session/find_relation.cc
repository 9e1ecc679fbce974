#include "compute/sql/session/find_relation.h"

#include <utility>
#include <vector>

#include "compute/api/long_value_tables.h"

namespace namdb::sql {

reactor::Task<Result<FoundRelation>> find_relation(txn::Engine* engine, std::string name) {
  Result<std::vector<storage::TableRef>> tables = co_await engine->tables();
  if (!tables.ok()) co_return tables.status();
  storage::TableRef table = engine->cached_table(name);
  if (table != nullptr && !storage::keeps_long_values(name))
    co_return FoundRelation{std::move(table), nullptr};
  for (const storage::TableRef& other : *tables) {
    if (storage::keeps_long_values(other->name)) continue;
    for (const storage::IndexRef& index : other->indexes) {
      if (index->name == name && !index->replaced()) co_return FoundRelation{other, index};
    }
  }
  co_return FoundRelation();
}

}  // namespace namdb::sql
