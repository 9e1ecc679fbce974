// A range of a secondary index in the transaction's snapshot, in the order of the index.
//
// Entries are hints: each one's record is looked up, many at once, and counts only if the version that the
// snapshot shows has the very key of the entry. Every such version has its entry: it was added before the
// version was published, and goes only when no snapshot needs it. Entries are asked for after the snapshot
// was confirmed. Rows that the transaction itself writes come from its write set alone.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "common/layout/index_calls.h"
#include "compute/protocol/snapshot_isolation/transaction.h"

namespace namdb::protocol {

class SnapshotIndexScan : public txn::TableScan {
 public:
  SnapshotIndexScan(SnapshotTransaction& transaction, storage::TableRef table, storage::IndexRef index,
                    txn::IndexRange range);
  reactor::Task<Status> next(std::vector<layout::Row>& rows) override;

 private:
  struct OwnRow {
    std::string key;
    layout::Row row;
  };
  reactor::Task<Status> begin();
  void collect_own_rows();
  // Asks for the next entries; fewer than wanted at the end of a part.
  reactor::Task<Status> seek();
  reactor::Task<Status> read_records(std::vector<layout::Row>* rows);
  // Own rows that come before the key; all that are left when there is none.
  void merge_own_rows(std::optional<std::string_view> before, std::vector<layout::Row>& rows);
  bool comes_before(std::string_view left, std::string_view right) const {
    return range_.descending ? left > right : left < right;
  }

  SnapshotTransaction& transaction_;
  storage::TableRef table_;
  storage::IndexRef index_;
  txn::IndexRange range_;  // what is left of it
  std::size_t part_ = 0;
  std::uint32_t batch_ = 0;  // entries to ask for
  bool began_ = false;
  bool entries_left_ = true;
  bool ended_ = false;
  std::vector<std::string> entries_;
  std::deque<OwnRow> own_rows_;  // in the order of the scan
};

}  // namespace namdb::protocol
