// The transactions that a worker gives out while it has no connection: every use is an error.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "compute/api/transaction.h"

namespace namdb::compute {

class DisconnectedTransaction : public txn::Transaction {
 public:
  explicit DisconnectedTransaction(Status reason) : reason_(std::move(reason)) {}
  txn::RowId get(const storage::TableRef&, std::span<const std::byte>) override { return 0; }
  txn::RowId insert(const storage::TableRef&, std::span<const std::byte>) override { return 0; }
  reactor::Task<Status> fetch() override { co_return reason_; }
  bool found(txn::RowId) const override { return false; }
  layout::RowView row(txn::RowId) const override { return {}; }
  layout::RowWriter update(txn::RowId) override { NAMDB_CHECK(!"update() needs found()"); }
  void erase(txn::RowId) override {}
  std::unique_ptr<txn::TableScan> scan(const storage::TableRef&) override {
    return std::make_unique<Scan>(reason_);
  }
  std::unique_ptr<txn::TableScan> scan_index(const storage::TableRef&, const storage::IndexRef&,
                                             txn::IndexRange) override {
    return std::make_unique<Scan>(reason_);
  }
  reactor::Task<Status> find(storage::TableRef, storage::IndexRef, txn::IndexRange,
                             std::vector<txn::RowId>&) override {
    co_return reason_;
  }
  reactor::Task<Status> commit() override { co_return reason_; }
  void abort() override {}
  bool has_writes() const override { return false; }
  const fabric::OperationCounters& counters() const override { return counters_; }

 private:
  class Scan : public txn::TableScan {
   public:
    explicit Scan(Status reason) : reason_(std::move(reason)) {}
    reactor::Task<Status> next(std::vector<layout::Row>& rows) override {
      rows.clear();
      co_return reason_;
    }

   private:
    Status reason_;
  };
  Status reason_;
  fabric::OperationCounters counters_;
};

}  // namespace namdb::compute
