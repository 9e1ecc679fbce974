#include "compute/commit/read_validator.h"

namespace namdb::protocol {

// Rows that the commit locks need no validation: each was locked from exactly the version that was read, and
// where a row is inserted the chain is searched behind its lock.
void ReadValidator::add_accesses(bool commits) {
  owner_.confirm_shares();
  for (const Access& access : transaction_.accesses()) {
    if (!access.fetched() || access.locked || access.shared || access.lookup.passed_over() ||
        (commits && access.write != WriteKind::none))
      continue;
    read_set_.add(access.lookup);
  }
}

LockedChecks ReadValidator::check_behind_locks(layout::ServerId server, txn::BatchSet& batches) {
  if (owner_.counts_on_time()) return LockedChecks::none;
  const ReadSet::Mark mark = read_set_.mark();
  add_accesses(true);
  checks_ = read_set_.post_checks(transaction_, server, batches);
  if (!checks_) read_set_.forget(mark);
  return checks_ ? LockedChecks::added : LockedChecks::none;
}

reactor::Task<Status> ReadValidator::validate(const Locked& locked) {
  if (locked.checked) co_return read_set_.check_posted(owner_.own_lock(), &locked.chains);
  if (!checks_) add_accesses(true);
  co_return co_await read_set_.validate(&transaction_, owner_.own_lock(), &locked.chains);
}

reactor::Task<Status> ReadValidator::confirm_reads(bool /*commits*/) {
  const ReadSet::Mark mark = read_set_.mark();
  add_accesses(false);
  Status status;
  // One READ is of one moment, unless there are rows that must be true at that moment, too.
  if (!read_set_.single() || owner_.holds_rows())
    status = co_await read_set_.validate(&transaction_, owner_.own_lock(), nullptr);
  read_set_.forget(mark);
  co_return status;
}

}  // namespace namdb::protocol
