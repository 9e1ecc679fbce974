// A range of a secondary index, in the order of the index.
//
// Entries are hints: each one's record is looked up, many at once, and counts only if the version that the
// transaction sees has exactly the entry's key. Every such version has its entry: it was added before the
// version was published, and goes only when no snapshot needs it. Entries are asked for after the snapshot
// was confirmed, and the next ones while the records of the former are read. Rows that the transaction itself
// writes come from its write set alone.
//
// The entries of a hash index come all at once (hash_entries.h), and are then handed out in the same order.
// They are those of the values of all its columns; a range that is not that comes from the whole table.
//
// The scan goes in steps, of which find_each.h does those of several scans together: begin(), and then, while
// !ended(), post_entries(), finish_entries(), and the records of the entries that came.
//
// Any index over the same columns will do. A transaction whose snapshot is older than all of them, or for
// which the index is gone, gets the same rows in the same order from the whole table.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "compute/index/index_cursor.h"
#include "compute/txn/staged_transaction.h"

namespace namdb::protocol {

class IndexScan : public txn::TableScan {
 public:
  IndexScan(StagedTransaction& transaction, storage::TableRef table, storage::IndexRef index,
            txn::IndexRange range);
  reactor::Task<Status> next(std::vector<layout::Row>& rows) override;
  // The same, with rows of the transaction's read set, which are fetched. One scan gives either.
  reactor::Task<Status> next(std::vector<txn::RowId>& rows);

  // --- the steps ---

  // Once, before the others. A hash index has all its entries then; the table's rows, if they come from
  // there, too.
  reactor::Task<Status> begin();
  bool ended() const { return ended_; }
  // Asks for entries, if none are there, without waiting for them. True: it takes a round trip.
  bool post_entries();
  // After post_entries(), and in any case: buffers belong to the channel until then.
  reactor::Task<Status> finish_entries();
  // Requests the records of the entries that came, which the next fetch() of the transaction reads.
  Status request_records(txn::RowUse use);
  std::size_t requested() const { return requested_.size(); }
  // After that fetch(): appends those that are in the range, and the transaction's own rows among them, which
  // may want a fetch() of their own. Without entries the scan ends.
  void take_records(std::vector<txn::RowId>* ids);

 private:
  // Where the caller wants the rows: one of the two is null.
  struct Output {
    explicit Output(std::vector<layout::Row>* into) : rows(into) {}
    explicit Output(std::vector<txn::RowId>* into) : ids(into) {}

    std::vector<layout::Row>* rows = nullptr;
    std::vector<txn::RowId>* ids = nullptr;
    bool empty() const { return rows != nullptr ? rows->empty() : ids->empty(); }
  };
  struct KeyedRow {
    std::string key;
    layout::Row row;
  };
  reactor::Task<Status> next(Output output);
  // Whether the snapshot may trust the index; takes the catalog's entry of now.
  bool usable();
  reactor::Task<void> collect_own_rows();
  reactor::Task<void> sort_own_rows();
  // All rows of the range, from the table.
  reactor::Task<Status> read_table();
  // The entries of a hash index: all, in the order of the scan.
  reactor::Task<Status> read_hash();
  void take_hashed();
  bool entries_left() const {
    return !uses_table_ && (index_->hash ? !hashed_.empty() : cursor_.entries_left());
  }
  reactor::Task<Status> seek();
  // All rows come from the table: the index is gone.
  reactor::Task<Status> leave_index();
  reactor::Task<Status> read_records(std::vector<std::string> entries, std::vector<layout::Row>* rows);
  reactor::Task<Status> fetch_records(std::vector<txn::RowId>* ids);
  // The records of the entries that are there.
  reactor::Task<Status> read_entries(Output output);
  // Both at once: the records of the entries that are there, and the next entries.
  reactor::Task<Status> read_and_seek(Output output);
  // Own rows that come before the key; all that are left when there is none.
  void merge_own_rows(std::optional<std::string_view> before, Output output);
  bool covers(std::string_view key) const {
    return key >= range_.low && (!range_.high || key < *range_.high);
  }
  bool comes_before(std::string_view left, std::string_view right) const {
    return range_.descending ? left > right : left < right;
  }

  StagedTransaction& transaction_;
  storage::TableRef table_;
  storage::IndexRef index_;
  txn::IndexRange range_;
  IndexCursor cursor_;
  bool began_ = false;
  bool uses_table_ = false;  // rows come from the table: own_rows_ holds all
  bool ended_ = false;
  bool sought_ = false;  // entries of the index came
  bool posted_ = false;
  std::vector<std::string> entries_;
  std::vector<txn::RowId>
      requested_;                   // the records of entries_, between request_records() and take_records()
  std::deque<std::string> hashed_;  // of a hash index: entries still to be handed out
  std::deque<KeyedRow> own_rows_;   // in the order of the scan
};

}  // namespace namdb::protocol
