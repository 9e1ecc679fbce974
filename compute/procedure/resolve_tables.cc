#include "compute/procedure/resolve_tables.h"

#include <string>
#include <utility>

namespace namdb::procedure {

Task<Result<std::vector<storage::TableRef>>> resolve_tables(txn::Engine& engine,
                                                            const Definition& definition) {
  std::vector<storage::TableRef> tables;
  for (const std::string& name : definition.tables) {
    Result<storage::TableRef> table = co_await engine.table(name);
    if (!table.ok()) co_return table.status();
    tables.push_back(std::move(table).value());
  }
  co_return tables;
}

}  // namespace namdb::procedure
