#include "compute/protocol/occ/optimistic_rules.h"

#include "compute/cluster/catalog_cache.h"
#include "compute/commit/chain_locks.h"
#include "compute/txn/make_rules.h"
#include "compute/txn/slot_keeper.h"

namespace namdb::protocol {

using layout::GlobalAddress;
using layout::HeaderWord;

OptimisticRules::OptimisticRules(StagedTransaction& transaction, Duties duties)
    : Rules(duties), transaction_(transaction) {}

reactor::Task<Status> OptimisticRules::prepare() {
  if (started_ns_ == 0) started_ns_ = transaction_.worker().executor.fresh_now_ns();
  co_return Status();
}

// The catalog that the transaction begins with: whoever changed it before is seen.
void OptimisticRules::ride(txn::BatchSet& batches) {
  txn::Cluster& cluster = transaction_.worker().cluster;
  if (!catalog_word_) catalog_word_ = fabric::LocalBuffer(cluster.pool(), 8);
  batches.read(cluster.catalog_word(), catalog_word_.data(), 8);
}

reactor::Task<Result<bool>> OptimisticRules::settle() {
  catalog_version_ = catalog_word_.word();
  ready_ = true;
  txn::CatalogCache& catalog = transaction_.worker().catalog;
  if (catalog_version_ > catalog.version()) {
    Status status = co_await catalog.refresh();
    if (!status.ok()) co_return status;
  }
  co_return true;
}

Judgement OptimisticRules::judge(const SeenRecord& seen) {
  if (looks_through_) return Judgement::visible;
  if (seen.header.locked()) return seen.header == own_lock() ? Judgement::visible : meet_lock(seen.header);
  // One READ shows words of different moments.
  return seen.header == seen.body.header_word() ? Judgement::visible : Judgement::torn;
}

reactor::Task<Result<std::shared_ptr<txn::ExecutionSlot>>> OptimisticRules::slot() {
  return transaction_.worker().slot_keeper.acquire();
}

layout::Stamp OptimisticRules::lock_stamp(layout::Stamp stamp) {
  commit_lock_ = HeaderWord(stamp, false, true);
  return stamp;
}

// What the commit locks needs no validation: it was locked from exactly the version that was read, and where
// a row is inserted the chain is searched behind its lock.
void OptimisticRules::add_accesses(bool commits) {
  for (const Access& access : transaction_.accesses()) {
    if (!access.fetched() || access.locked || access.shared || (commits && access.write != WriteKind::none))
      continue;
    saw_record(access.lookup);
  }
}

reactor::Task<Status> OptimisticRules::validate(const Locked& locked) {
  add_accesses(true);
  co_return co_await read_set_.validate(&transaction_, own_lock(), &locked.chains);
}

reactor::Task<Status> OptimisticRules::confirm_reads(bool /*commits*/) {
  const ReadSet::Mark mark = read_set_.mark();
  add_accesses(false);
  Status status;
  // One READ is of one moment, unless there are rows that must be true at that moment, too.
  if (!read_set_.single() || holds_rows())
    status = co_await read_set_.validate(&transaction_, own_lock(), nullptr);
  read_set_.forget(mark);
  co_return status;
}

bool OptimisticRules::give_up(std::uint64_t /*generation*/, const Status& /*outcome*/, bool /*wrote*/) {
  return false;
}

std::unique_ptr<Rules> make_occ_rules(StagedTransaction& transaction) {
  return std::make_unique<OptimisticRules>(transaction);
}

}  // namespace namdb::protocol
