// Catches wrong declarations of pieces (chopping.h) while a procedure runs: a transaction around its
// transaction that notes which tables it reads and writes. Parts of tables are not told from each other. For
// tests and simulated clusters.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compute/api/transaction.h"
#include "compute/procedure/chopping.h"

namespace namdb::procedure {

class PieceWatch final : public txn::Transaction {
 public:
  // Outlives this.
  explicit PieceWatch(txn::Transaction& watched) : watched_(watched) {}

  // Error internal: a piece would have read or written a table that none is declared to.
  Status check(const Chopping& declared) const;

  txn::RowId get(const storage::TableRef& table, std::span<const std::byte> key) override {
    return note(watched_.get(table, key), table);
  }
  txn::RowId read(const storage::TableRef& table, std::span<const std::byte> key) override {
    return note(watched_.read(table, key), table);
  }
  txn::RowId get_to_read(const storage::TableRef& table, std::span<const std::byte> key) override {
    return note(watched_.get_to_read(table, key), table);
  }
  txn::RowId insert(const storage::TableRef& table, std::span<const std::byte> row) override {
    written_.insert(table->name);
    return watched_.insert(table, row);
  }
  reactor::Task<Status> fetch() override { return watched_.fetch(); }
  bool found(txn::RowId row) const override { return watched_.found(row); }
  layout::RowView row(txn::RowId row) const override { return watched_.row(row); }
  layout::RowWriter update(txn::RowId row) override {
    note_write(row);
    return watched_.update(row);
  }
  void hold(txn::RowId row) override { watched_.hold(row); }
  void erase(txn::RowId row) override {
    note_write(row);
    watched_.erase(row);
  }
  std::unique_ptr<txn::TableScan> scan(const storage::TableRef& table) override {
    read_.insert(table->name);
    return watched_.scan(table);
  }
  std::unique_ptr<txn::TableScan> scan_index(const storage::TableRef& table, const storage::IndexRef& index,
                                             txn::IndexRange range) override {
    read_.insert(table->name);
    return watched_.scan_index(table, index, std::move(range));
  }
  reactor::Task<Status> find(storage::TableRef table, storage::IndexRef index, txn::IndexRange range,
                             std::vector<txn::RowId>& rows) override;
  reactor::Task<Status> find_each(storage::TableRef table, storage::IndexRef index,
                                  std::vector<txn::IndexRange> ranges, txn::RowUse use,
                                  std::vector<std::vector<txn::RowId>>& rows) override;
  reactor::Task<Status> confirm_reads() override { return watched_.confirm_reads(); }
  reactor::Task<Status> commit() override { return watched_.commit(); }
  void abort() override { watched_.abort(); }
  bool has_writes() const override { return watched_.has_writes(); }
  const fabric::OperationCounters& counters() const override { return watched_.counters(); }

 private:
  txn::RowId note(txn::RowId row, const storage::TableRef& table) {
    read_.insert(table->name);
    tables_.emplace(row, table->name);
    return row;
  }
  void note_write(txn::RowId row) {
    if (const auto table = tables_.find(row); table != tables_.end()) written_.insert(table->second);
  }

  txn::Transaction& watched_;
  std::map<txn::RowId, std::string> tables_;  // of rows that were read
  std::set<std::string> read_;
  std::set<std::string> written_;
};

}  // namespace namdb::procedure
