// A procedure's Context over a transaction: what CALL and the engine-level benchmark run procedures with.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/reactor/task.h"
#include "compute/api/engine.h"
#include "compute/api/table.h"
#include "compute/api/transaction.h"
#include "compute/procedure/procedure.h"

namespace namdb::procedure {

// One attempt of one procedure. Borrows everything that it is given.
class TransactionContext final : public Context {
 public:
  // `tables` are those of the definition, in its order; `results` has an element for each output column.
  TransactionContext(txn::Transaction& transaction, std::span<const storage::TableRef> tables,
                     std::span<const Value> arguments, std::span<Value> results, std::int64_t timestamp_us)
      : transaction_(transaction),
        tables_(tables),
        arguments_(arguments),
        results_(results),
        timestamp_us_(timestamp_us) {}

  const Schema& schema(std::size_t table) const override { return tables_[table]->schema; }
  RowId get(std::size_t table, std::span<const std::byte> key) override {
    return transaction_.get(tables_[table], key);
  }
  RowId insert(std::size_t table, std::span<const std::byte> row) override {
    return transaction_.insert(tables_[table], row);
  }
  Task<Status> fetch() override { return transaction_.fetch(); }
  bool found(RowId row) const override { return transaction_.found(row); }
  RowView row(RowId row) const override { return transaction_.row(row); }
  RowWriter update(RowId row) override { return transaction_.update(row); }
  void erase(RowId row) override { transaction_.erase(row); }
  const IndexShape* index(std::size_t table, std::string_view name) const override;
  Task<Status> find(std::size_t table, std::string_view index, IndexRange range,
                    std::vector<RowId>& rows) override;
  std::span<const Value> arguments() const override { return arguments_; }
  void result(std::size_t column, Value value) override { results_[column] = std::move(value); }
  std::int64_t timestamp_us() const override { return timestamp_us_; }

 private:
  // Null when there is none that is ready.
  storage::IndexRef find_index(std::size_t table, std::string_view name) const;

  txn::Transaction& transaction_;
  std::span<const storage::TableRef> tables_;
  std::span<const Value> arguments_;
  std::span<Value> results_;
  std::int64_t timestamp_us_;
  // Those whose columns the procedure was shown: the catalog may have others by now.
  mutable std::vector<storage::IndexRef> shown_;
};

// The tables that the definition names, in its order. undefined_table.
Task<Result<std::vector<storage::TableRef>>> resolve_tables(txn::Engine& engine,
                                                            const Definition& definition);

}  // namespace namdb::procedure
