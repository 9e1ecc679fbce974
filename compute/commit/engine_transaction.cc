#include "compute/commit/engine_transaction.h"

#include <algorithm>
#include <utility>

#include "compute/cluster/catalog_cache.h"
#include "compute/commit/commit.h"
#include "compute/index/find_each.h"
#include "compute/index/hash_entries.h"
#include "compute/index/index_scan.h"
#include "compute/txn/bucket_scan.h"
#include "compute/txn/commit_outcomes.h"
#include "compute/txn/row_parts.h"
#include "compute/txn/table_read.h"
#include "compute/txn/validation.h"

namespace namdb::protocol {

using storage::TableRef;

std::unique_ptr<txn::TableScan> EngineTransaction::scan(const TableRef& table) {
  if (TableRead::possible(*this)) return std::make_unique<TableRead>(*this, table);
  return std::make_unique<BucketScan>(*this, table, BucketScan::Order::by_address);
}

std::unique_ptr<txn::TableScan> EngineTransaction::scan_index(const TableRef& table,
                                                              const storage::IndexRef& index,
                                                              txn::IndexRange range) {
  return std::make_unique<IndexScan>(*this, table, index, std::move(range));
}

reactor::Task<Status> EngineTransaction::find(storage::TableRef table, storage::IndexRef index,
                                              txn::IndexRange range, std::vector<txn::RowId>& rows) {
  rows.clear();
  const std::uint64_t limit = range.limit == 0 ? ~std::uint64_t{0} : range.limit;
  IndexScan scan(*this, std::move(table), std::move(index), std::move(range));
  std::vector<txn::RowId> some;
  while (rows.size() < limit) {
    Status status = co_await scan.next(some);
    if (!status.ok()) co_return status;
    if (some.empty()) break;
    some.resize(std::min<std::uint64_t>(some.size(), limit - rows.size()));
    rows.insert(rows.end(), some.begin(), some.end());
  }
  co_return Status();
}

reactor::Task<Status> EngineTransaction::find_each(storage::TableRef table, storage::IndexRef index,
                                                   std::vector<txn::IndexRange> ranges, txn::RowUse use,
                                                   std::vector<std::vector<txn::RowId>>& rows) {
  return protocol::find_each(this, std::move(table), std::move(index), std::move(ranges), use, &rows);
}

// The transaction's own error is `lost`, which stays if the outcome is unknown.
reactor::Task<Status> EngineTransaction::ask_outcome(txn::CommitId commit, Status lost) {
  // Not within the switch: g++ 12 then gives the coroutine a frame that is resumed at the wrong place.
  const txn::CommitOutcome outcome = co_await worker().outcomes.find(commit, this);
  switch (outcome) {
    case txn::CommitOutcome::committed:
      co_return Status();
    case txn::CommitOutcome::undone:
      co_return Status(ErrorCode::serialization_failure,
                       "the connection to a memory server was lost during commit, and the commit was undone");
    case txn::CommitOutcome::unknown:
      break;
  }
  co_return lost;
}

// A copier waits for transactions that have passed here while this worker did not know of the copy.
Status EngineTransaction::check_writable() {
  if (!worker().catalog.has_frozen()) return {};
  for (const Access& access : accesses()) {
    if (access.write == WriteKind::none || !worker().catalog.frozen(access.table->id)) continue;
    return Status(ErrorCode::table_is_altered, "table \"" + access.table->name + "\" is being altered");
  }
  return {};
}

Status EngineTransaction::check_may_commit() {
  if (Status status = check_going_on(); !status.ok()) return status;
  return check_writable();
}

reactor::Task<Status> EngineTransaction::commit() {
  if (ended() && !failure().ok()) co_return failure();
  if (ended()) co_return Status(ErrorCode::no_active_transaction, "the transaction has ended");
  const Busy busy(*this);
  // After an error that the caller ignored nothing may be committed.
  Status status = failure();
  if (control().locking() != nullptr) lock_written_reads();
  if (status.ok() && rows().has_unfetched()) status = co_await fetch();
  if (status.ok() && writes_hash_entries(accesses())) status = co_await write_hash_entries(this);
  const bool wrote = has_writes();
  // Of one session nothing is lost that is older than what is on disk.
  if (status.ok() && wrote && !may_answer_early() && !session().deferred.all_visible())
    status = co_await wait_for_deferred();
  if (status.ok() && wrote) status = check_may_commit();
  if (status.ok() && wrote) {
    txn::CommitId id;
    {
      Commit commit(*this);
      status = co_await commit.run();
      id = commit.id();
    }
    if (!status.ok() && status.code() == ErrorCode::unknown_outcome)
      status = co_await ask_outcome(id, status);
  } else if (Validation* const validation = control().validation(); status.ok() && validation != nullptr) {
    status = co_await validation->confirm_reads(true);
  }
  if (status.ok() && !wrote && !primaries_held()) status = co_await confirm_primaries_of_reads();
  abort_with(status);  // of what remains: no lock is held any more
  for (RowParts part(accesses().size()); part.next() && part.more();) {
    rows().drop_last(part.end() - part.begin());
    co_await worker().executor.yield();
  }
  co_return status;
}

}  // namespace namdb::protocol
