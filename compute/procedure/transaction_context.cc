#include "compute/procedure/transaction_context.h"

#include <string>
#include <utility>

namespace namdb::procedure {
namespace {

Task<Status> no_index(std::string name) {
  co_return Status(ErrorCode::undefined_object, "index \"" + name + "\" does not exist");
}

}  // namespace

storage::IndexRef TransactionContext::find_index(std::size_t table, std::string_view name) const {
  for (const storage::IndexRef& index : tables_[table]->indexes) {
    if (index->name == name && index->ready() && !index->replaced()) return index;
  }
  return nullptr;
}

const IndexShape* TransactionContext::index(std::size_t table, std::string_view name) const {
  const storage::IndexRef found = find_index(table, name);
  if (found == nullptr) return nullptr;
  if (shown_.empty() || shown_.back() != found) shown_.push_back(found);
  return &found->shape;
}

Task<Status> TransactionContext::find(std::size_t table, std::string_view index, IndexRange range,
                                      std::vector<RowId>& rows) {
  storage::IndexRef found = find_index(table, index);
  if (found == nullptr) return no_index(std::string(index));
  return transaction_.find(tables_[table], std::move(found), std::move(range), rows);
}

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
