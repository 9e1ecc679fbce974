// The entries of secondary indexes that a commit changes: entries of new images are added, those of displaced
// ones are marked as in doubt (common/calls/index_calls.h), before the journal.
//
// The changes are posted together with the locks, and cost no round trip. The memory server delays the check
// of such an entry until the commit must have its locks. A commit that takes longer sends its changes again.
// A commit that gets no locks leaves doubts behind: so where many conflict, changes are sent under the locks,
// in a round trip of their own. The same holds where the commit adds to a unique index, and where it took its
// locks earlier.
//
// Every entry is confirmed before the journal is written. So a complete journal entry proves that the indexes
// have all entries that its images need: after the owner's death no index has to be repaired, and no index
// can fail a commit that may not abort any more. Entries that an aborted or dead commit leaves behind are in
// doubt, and are checked by a janitor.
//
// Unique: add first, then check. The reply to an add has the other primary keys with entries under the same
// values; their records' newest versions decide. Of two commits with the same values, the one that adds
// second sees the first. The values are compared as the commit leaves them, not after each row.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "common/calls/index_calls.h"
#include "common/reactor/stable_vector.h"
#include "compute/cluster/call_set.h"
#include "compute/index/latest_rows.h"
#include "compute/txn/access.h"
#include "compute/txn/worker_state.h"

namespace namdb::protocol {

class TransactionState;

class IndexWrites {
 public:
  explicit IndexWrites(TransactionState& transaction);

  // From the write set. Before the locks are posted.
  void plan();
  // The commit changes indexes.
  bool any() const { return !changes_.empty(); }
  // The locks are about to be posted: posts the changes that may be sent ahead of them. The caller awaits
  // finish_ahead() as soon as their round trip is over, also after an error.
  void post_ahead();
  reactor::Task<Status> finish_ahead();
  // Some displaced versions had entries that the new versions do not have.
  bool leaves_entries() const;
  // All locks are held, and the displaced versions are those that were read: sends the rest. Errors before
  // anything is logged:
  // duplicate_key, serialization_failure, catalog_changed, out_of_memory, limit_exceeded, lost connections.
  // `meanwhile`: a small part of other work of the commit, to be done while a call is under way; false: there
  // is none left.
  using Meanwhile = std::function<bool()>;
  reactor::Task<Status> run(layout::Stamp stamp, const Meanwhile* meanwhile);
  // The commit is published: the entries that it added are no longer in doubt, those that it left behind are
  // dead.
  void confirm();
  // The verdicts that it sends, for a commit that is published later. Their keys live as long as this.
  std::vector<std::pair<layout::ServerId, calls::IndexVerdict>> verdicts() const;

 private:
  struct Change {
    const Access* access;     // the row's, which holds the table
    storage::IndexRef index;  // the table may have others by now
    layout::IndexKey key;
    calls::IndexChange::Kind kind;
    bool sent = false;
    layout::ServerId server = 0;
    std::uint64_t sequence = 0;  // 0: the entry is not in doubt by it
    // Once the commit is published.
    calls::IndexVerdict verdict() const {
      using Kind = calls::IndexVerdict::Kind;
      return {kind == calls::IndexChange::Kind::add ? Kind::live : Kind::dead, index->id, sequence,
              key.bytes};
    }
    bool checked() const { return kind == calls::IndexChange::Kind::add && index->unique && !key.has_null; }
  };
  struct Rival {
    const Change* change;
    LatestRow* row;
  };
  void plan(const Access& access, const storage::IndexRef& index);
  // Changes that are sent in one go.
  using Some = reactor::PooledInlinedVector<Change*, 4>;
  struct Request {
    explicit Request(txn::Cluster& cluster) : calls(cluster) {}
    Some changes;
    txn::CallSet calls;
  };
  Status duplicate(const Change& change);
  static Status add_requests(const Some& changes, bool ahead, txn::CallSet& calls);
  // Of the changes from `next` on, which becomes the first that it has not; those that were sent only if
  // `again`. None: there are no more.
  std::unique_ptr<Request> next_request(std::size_t& next, bool again);
  // Posts and awaits them, several at once.
  reactor::Task<Status> send(bool again, const Meanwhile* meanwhile);
  reactor::Task<Status> answer(Request* request, const Meanwhile* meanwhile);
  Status outcome(Status of_call) const;
  Status take_results(Status of_call, const Some& changes, const txn::CallSet& calls);
  Status take_result(Change& change, const calls::IndexChangeResult& result);
  reactor::Task<Status> check_rivals(layout::Stamp stamp);

  TransactionState& transaction_;
  txn::WorkerState& worker_;
  reactor::PooledInlinedVector<Change, 2> changes_;  // stay where they are once they are planned
  // The changes sent ahead of the locks, and since when.
  Some ahead_;
  std::optional<txn::CallSet> ahead_calls_;
  std::uint64_t ahead_since_ns_ = 0;
  std::unique_ptr<std::deque<LatestRow>> rows_;  // of rivals; few commits have any
  std::vector<Rival> rivals_;
};

}  // namespace namdb::protocol
