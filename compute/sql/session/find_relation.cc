#include "compute/sql/session/find_relation.h"

#include <vector>

namespace namdb::sql {

reactor::Task<Result<FoundRelation>> find_relation(txn::Engine* engine, std::string name) {
  Result<std::vector<storage::TableRef>> tables = co_await engine->tables();
  if (!tables.ok()) co_return tables.status();
  for (const storage::TableRef& table : *tables) {
    if (table->name == name) co_return FoundRelation{table, nullptr};
    for (const storage::IndexRef& index : table->indexes) {
      if (index->name == name && !index->replaced()) co_return FoundRelation{table, index};
    }
  }
  co_return FoundRelation();
}

}  // namespace namdb::sql
