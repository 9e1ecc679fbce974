// What a commit does to secondary indexes: entries of new images are added, those of displaced ones are
// marked as in doubt (common/calls/index_calls.h), before the journal.
//
// They are posted together with the locks, and cost no round trip: nobody is asked about such an entry for
// longer than a commit may take for its locks, and one that takes longer sends its changes again. A commit
// that gets no locks leaves doubts behind: so where many conflict, changes are sent under the locks, in a
// round trip of their own. So they are where the commit adds to a unique index, and where it has its locks
// from before.
//
// Because every entry is confirmed before the journal, a complete journal entry says that the indexes have
// all that its images need: repair has nothing to do for them, and nothing of an index can fail a commit that
// may not abort any more. What an aborted or dead commit leaves behind is in doubt, and looked at by a
// janitor.
//
// Unique: add first, then check. An add answers the other primary keys that have entries under the same
// values; their records' newest versions decide. Of two commits with the same values, whoever adds second
// sees the first. The values are compared as the commit leaves them, not after each row.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "common/calls/index_calls.h"
#include "compute/cluster/call_set.h"
#include "compute/index/latest_rows.h"
#include "compute/txn/access.h"
#include "compute/txn/worker_state.h"

namespace namdb::protocol {

class StagedTransaction;

class IndexWrites {
 public:
  explicit IndexWrites(StagedTransaction& transaction);

  // From the write set. Before the locks are asked for.
  void plan();
  // The commit changes indexes.
  bool any() const { return !changes_.empty(); }
  // The locks are about to be posted: posts what may go ahead of them. Whoever called this awaits
  // finish_ahead() as soon as their round trip is over, and whatever came of it.
  void post_ahead();
  reactor::Task<Status> finish_ahead();
  // Some of what it displaces had entries that the new versions have not.
  bool leaves_entries() const;
  // All locks are held, and what they displace is what was read: the rest. Errors before anything is logged:
  // duplicate_key, serialization_failure, catalog_changed, out_of_memory, limit_exceeded, lost connections.
  reactor::Task<Status> run(layout::Stamp stamp);
  // The commit is published: the entries that it added are in doubt no more, those that it left behind are
  // dead.
  void confirm();

 private:
  struct Change {
    storage::TableRef table;
    storage::IndexRef index;
    calls::IndexChange::Kind kind;
    layout::IndexKey key;
    const Access* access = nullptr;  // the row's
    layout::ServerId server = 0;
    bool sent = false;
    std::uint64_t sequence = 0;  // 0: the entry is not in doubt by it
    bool checked() const { return kind == calls::IndexChange::Kind::add && index->unique && !key.has_null; }
  };
  struct Rival {
    const Change* change;
    LatestRow* row;
  };
  void plan(const Access& access, const storage::IndexRef& index);
  // Changes that are sent in one go.
  using Some = std::vector<Change*>;
  Status duplicate(const Change& change);
  static Status add_requests(const Some& changes, bool ahead, txn::CallSet& calls);
  reactor::Task<Status> send(Some* changes);
  Status outcome(Status of_call) const;
  Status take_results(const Some& changes, const txn::CallSet& calls);
  Status take_result(Change& change, const calls::IndexChangeResult& result);
  reactor::Task<Status> check_rivals(layout::Stamp stamp);

  StagedTransaction& transaction_;
  txn::WorkerState& worker_;
  std::vector<Change> changes_;
  // What is ahead of the locks, and since when.
  Some ahead_;
  std::unique_ptr<txn::CallSet> ahead_calls_;
  std::uint64_t ahead_since_ns_ = 0;
  std::unique_ptr<std::deque<LatestRow>> rows_;  // of rivals; few commits have any
  std::vector<Rival> rivals_;
};

}  // namespace namdb::protocol
