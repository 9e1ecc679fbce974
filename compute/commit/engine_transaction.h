// The transaction that the engine gives out: a staged transaction with scans, which see its buffered writes,
// and with the commit (commit.h).
#pragma once

#include <memory>
#include <vector>

#include "compute/txn/commit_outcomes.h"
#include "compute/txn/staged_transaction.h"

namespace namdb::protocol {

class EngineTransaction : public StagedTransaction {
 public:
  using StagedTransaction::StagedTransaction;

  std::unique_ptr<txn::TableScan> scan(const storage::TableRef& table) override;
  std::unique_ptr<txn::TableScan> scan_index(const storage::TableRef& table, const storage::IndexRef& index,
                                             txn::IndexRange range) override;
  reactor::Task<Status> find(storage::TableRef table, storage::IndexRef index, txn::IndexRange range,
                             std::vector<txn::RowId>& rows) override;
  reactor::Task<Status> find_each(storage::TableRef table, storage::IndexRef index,
                                  std::vector<txn::IndexRange> ranges, txn::RowUse use,
                                  std::vector<std::vector<txn::RowId>>& rows) override;
  reactor::Task<Status> commit() override;

 private:
  // table_is_altered when a written table is frozen.
  Status check_writable();
  reactor::Task<Status> ask_outcome(txn::CommitId commit, Status lost);
  Status check_may_commit();
};

}  // namespace namdb::protocol
