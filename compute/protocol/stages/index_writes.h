// What a commit does to secondary indexes: entries of new images are added, those of displaced ones are
// marked as in doubt (common/layout/index_calls.h), in one round trip under the commit's locks, before the
// journal.
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

#include "common/layout/index_calls.h"
#include "compute/protocol/stages/access.h"
#include "compute/protocol/stages/latest_rows.h"
#include "compute/txn/worker_state.h"

namespace namdb::protocol {

class StagedTransaction;

class IndexWrites {
 public:
  explicit IndexWrites(StagedTransaction& transaction);

  // From the write set. False when the commit changes no index.
  bool plan();
  // Some of what it displaces had entries that the new versions have not.
  bool leaves_entries() const;
  // All locks are held, and what they displace is what was read. Errors before anything is logged:
  // duplicate_key, serialization_failure, catalog_changed, out_of_memory, limit_exceeded, lost connections.
  reactor::Task<Status> run(layout::Stamp stamp);
  // The commit is published: the entries that it added are in doubt no more, those that it left behind are
  // dead.
  void confirm();

 private:
  struct Change {
    storage::TableRef table;
    storage::IndexRef index;
    layout::IndexChange::Kind kind;
    layout::IndexKey key;
    layout::ServerId server = 0;
    std::uint64_t sequence = 0;
    bool checked() const { return kind == layout::IndexChange::Kind::add && index->unique && !key.has_null; }
  };
  struct Rival {
    const Change* change;
    LatestRow* row;
  };
  void plan(const Access& access, const storage::IndexRef& index);
  // Notes the results of changes first..last - 1; the replies stand in `calls`.
  Status take_results(std::size_t first, std::size_t last, const std::vector<std::string_view>& replies);
  Status take_result(Change& change, const layout::IndexChangeResult& result);
  reactor::Task<Status> check_rivals(layout::Stamp stamp);

  StagedTransaction& transaction_;
  txn::WorkerState& worker_;
  std::vector<Change> changes_;
  std::unique_ptr<std::deque<LatestRow>> rows_;  // of rivals; few commits have any
  std::vector<Rival> rivals_;
};

}  // namespace namdb::protocol
