// The transaction of a library's procedure, which reads rows as they are stored. A row with a value that lies
// outside of it (common/layout/long_value.h) is refused before the procedure can see the row.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "compute/api/table.h"
#include "compute/api/transaction.h"

namespace namdb::sql {

class ProcedureTransaction final : public txn::Transaction {
 public:
  // Whether rows of these tables may have such values. Otherwise the procedure needs none of this.
  static bool is_needed(std::span<const storage::TableRef> tables);
  // `transaction` outlives this.
  explicit ProcedureTransaction(txn::Transaction& transaction) : transaction_(transaction) {}

  Savepoint savepoint() override { return transaction_.savepoint(); }
  Status rollback_to(Savepoint savepoint) override { return transaction_.rollback_to(savepoint); }
  txn::RowId get(const storage::TableRef& table, std::span<const std::byte> key) override;
  txn::RowId read(const storage::TableRef& table, std::span<const std::byte> key) override;
  txn::RowId insert(const storage::TableRef& table, std::span<const std::byte> row) override {
    return transaction_.insert(table, row);
  }
  // Those below: error feature_not_supported.
  reactor::Task<Status> fetch() override;
  reactor::Task<Status> find(storage::TableRef table, storage::IndexRef index, txn::IndexRange range,
                             std::vector<txn::RowId>& rows) override;
  reactor::Task<Status> find_each(storage::TableRef table, storage::IndexRef index,
                                  std::vector<txn::IndexRange> ranges, txn::RowUse use,
                                  std::vector<std::vector<txn::RowId>>& rows) override;

  bool found(txn::RowId row) const override { return transaction_.found(row); }
  layout::RowView row(txn::RowId row) const override { return transaction_.row(row); }
  layout::RowWriter update(txn::RowId row) override { return transaction_.update(row); }
  void hold(txn::RowId row) override { transaction_.hold(row); }
  void erase(txn::RowId row) override { transaction_.erase(row); }
  // Procedures have no scans.
  std::unique_ptr<txn::TableScan> scan(const storage::TableRef& table) override {
    return transaction_.scan(table);
  }
  std::unique_ptr<txn::TableScan> scan_index(const storage::TableRef& table, const storage::IndexRef& index,
                                             txn::IndexRange range) override {
    return transaction_.scan_index(table, index, std::move(range));
  }
  reactor::Task<Status> confirm_reads() override { return transaction_.confirm_reads(); }
  reactor::Task<Status> commit() override { return transaction_.commit(); }
  void abort() override { transaction_.abort(); }
  bool has_writes() const override { return transaction_.has_writes(); }
  const fabric::OperationCounters& counters() const override { return transaction_.counters(); }

 private:
  Status check(std::span<const txn::RowId> rows) const;
  // Also checks the rows that were requested since the last fetch.
  Status check_requested();

  txn::Transaction& transaction_;
  std::vector<txn::RowId> requested_;
};

}  // namespace namdb::sql
