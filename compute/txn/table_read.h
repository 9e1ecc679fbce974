// Reading a whole table in a transaction by calls (common/calls/scan_calls.h): the memory server gives out
// the current versions of all records, and this decides which of them the transaction sees. The next reply is
// under way while one is read. Records that are being written, or have a version that the transaction
// does not see, are left to lookups (lookup.h), which READ them.
//
// Rows that the transaction itself has written are shown as it wrote them. Where only some columns are
// wanted, and it has written none of the table's rows before the first call, the scan shows the snapshot's
// rows to its end.
//
// For protocols whose commits are visible only once they are installed: then each row that the transaction
// sees lies in its place before the first call. Under other protocols a commit may have ended before its new
// records have landed; only the locks of their bucket chains show that (bucket_scan.h).
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/calls/scan_calls.h"
#include "compute/api/column_scan.h"
#include "compute/api/table.h"
#include "compute/txn/place_order.h"
#include "compute/txn/transaction_state.h"

namespace namdb::protocol {

class TableRead final : public txn::TableScan, public txn::ColumnScan {
 public:
  static bool possible(TransactionState& transaction);
  // The transaction outlives it.
  TableRead(TransactionState& transaction, storage::TableRef table)
      : transaction_(transaction), table_(std::move(table)), call_(std::make_unique<fabric::Call>()) {}
  TableRead(const TableRead&) = delete;
  TableRead& operator=(const TableRead&) = delete;
  ~TableRead() override;

  reactor::Task<Status> next(std::vector<layout::Row>& rows) override;
  reactor::Task<Status> next_block(txn::RowBlock& rows) override;
  void want_only(std::span<const std::uint32_t> columns) override;

 private:
  reactor::Task<Status> begin();
  // The parts of rows that are wanted.
  void choose_parts();
  bool changes_table() const;
  // Posts the next call, if there is one.
  void post();
  // Waits for it, and posts the one behind it.
  reactor::Task<Status> receive();
  // Takes the rows out of reply_, and the places that lookups must READ.
  Status take_rows(txn::RowBlock& rows);
  // Looks up some of those places.
  reactor::Task<Status> look_up(txn::RowBlock* rows);
  void add_row(std::span<const std::byte> row, txn::RowBlock& rows);
  Status check_place(layout::GlobalAddress record) const;
  void own_inserts(txn::RowBlock& rows);

  TransactionState& transaction_;
  storage::TableRef table_;
  bool some_columns_ = false;
  bool whole_ = true;                   // rows are read with all columns
  std::vector<std::uint32_t> columns_;  // then
  std::vector<calls::ScanPart> parts_;
  std::size_t part_bytes_ = 0;
  std::vector<std::byte> row_;          // one, whose other parts are zero
  std::unique_ptr<fabric::Call> call_;  // never null while this lives
  bool posted_ = false;
  std::uint64_t after_ = 0;       // the next call begins there, ...
  layout::ServerId server_ = 0;   // ... on that server
  layout::ServerId asked_ = 0;    // whose reply is under way
  layout::ServerId replied_ = 0;  // whose reply_ it is
  std::string reply_;
  std::vector<RecordPlace> places_;
  std::size_t next_place_ = 0;  // of those, that was not looked up yet
  std::uint32_t replies_ = 0;
  bool began_ = false;
  bool ended_ = false;
};

}  // namespace namdb::protocol
