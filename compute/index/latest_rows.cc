#include "compute/index/latest_rows.h"

#include "compute/txn/lock_resolver.h"
#include "compute/txn/lookup_runner.h"
#include "compute/txn/visibility.h"

namespace namdb::protocol {
namespace {

// The lookup has found a record. One that the transaction itself has locked stays as it is.
LatestRow::State state_of(const Lookup& lookup, const Visibility& visibility) {
  const bool is_free = lookup.header_seen() == lookup.current().header_word();
  if (!lookup.current_is_visible() || !(is_free || visibility.holds(lookup.record()))) {
    return LatestRow::State::undecided;
  }
  return lookup.state() == Lookup::State::present ? LatestRow::State::present : LatestRow::State::absent;
}

// The holder of an undecided row may be dead.
void note_lock(txn::WorkerState& worker, const LatestRow& row) {
  const Lookup& lookup = row.lookup;
  if (lookup.has_record()) {
    if (!lookup.header_seen().locked()) return;
    worker.locks.note(lookup.record(), lookup.header_seen(), row.table->record.body_bytes());
  } else if (lookup.chain_lock().locked()) {
    worker.locks.note(lookup.chain().front(), lookup.chain_lock(), 0);
  }
}

}  // namespace

reactor::Task<Status> read_latest(TransactionState* transaction, std::deque<LatestRow>* rows,
                                  layout::HeaderWord own_lock) {
  txn::WorkerState& worker = transaction->worker();
  // Locks are the question here: state_of() checks them.
  transaction->visibility().ignore_locks(true);
  std::vector<LatestRow*> wanted;
  for (LatestRow& row : *rows) wanted.push_back(&row);
  // One READ shows a chain's lock word and its buckets as of different moments. So a key that is absent from
  // an unlocked chain is looked up again: a row that was inserted before the lock was free is there now.
  for (const bool again : {false, true}) {
    Lookups lookups;
    LookupTables tables;
    for (LatestRow* row : wanted) {
      row->lookup = Lookup();
      row->lookup.start(worker, *row->table, row->key, row->table->hash_of(row->key));
      lookups.push_back(&row->lookup);
      tables.push_back(row->table.get());
    }
    Status status = co_await run_lookups(transaction, std::move(lookups), std::move(tables));
    if (!status.ok()) co_return status;
    std::vector<LatestRow*> not_there;
    for (LatestRow* row : wanted) {
      if (row->lookup.has_record()) {
        row->state = state_of(row->lookup, transaction->visibility());
      } else if (again) {
        row->state = LatestRow::State::absent;
      } else if (!row->lookup.chain_lock().locked() || row->lookup.chain_lock() == own_lock) {
        not_there.push_back(row);
      }
    }
    wanted = std::move(not_there);
    if (wanted.empty()) break;
  }
  transaction->visibility().ignore_locks(false);
  for (const LatestRow& row : *rows) {
    if (row.state == LatestRow::State::undecided) note_lock(worker, row);
  }
  co_return Status();
}

}  // namespace namdb::protocol
