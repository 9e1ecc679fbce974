// A protocol's decisions about reads: when a transaction may begin to read, and which versions it sees.
#pragma once

#include <cstdint>

#include "common/base/error.h"
#include "common/layout/record.h"
#include "common/reactor/task.h"
#include "compute/cluster/batch_set.h"
#include "compute/txn/deferred_commits.h"

namespace namdb::protocol {

// A record's header word and certified body, of one READ: words of different times.
struct RecordRead {
  layout::HeaderWord header;
  const layout::BodyHeader& body;
  bool current = false;  // the body is the record's own, not one from its version ring
};

enum class ReadDecision : std::uint8_t {
  visible,
  invisible,        // an older version may be visible
  locked_by_other,  // wait: read the record again, and have its lock looked into
  torn,             // header and body are of different versions: read again
  conflict,         // another transaction holds the record, and this one gives way
  unknown_slot,     // check again when the slot directory knows the body's slot
};

// The READs of the beginning.
enum class BeginningReads : std::uint8_t {
  added,
  separate,  // a round trip before that of rows
};

enum class SnapshotCheck : std::uint8_t {
  confirmed,
  unstable,  // the bytes of that round trip are thrown away, and the beginning is tried again
};

class Visibility {
 public:
  // --- the beginning ---
  // Before rows are read by key: whether the transaction may read while earlier commits of its session are
  // under way (deferred_commits.h). Forgets those commits that it need not know of any more. False: they are
  // to be waited for, and this is called again. Scans always begin behind them.
  virtual bool may_read_behind(txn::DeferredCommits& commits) {
    if (!commits.all_visible()) return false;
    commits.forget_ended();
    return true;
  }
  // Versions may be checked.
  virtual bool ready() const = 0;
  // While not ready: prepare() before the first READ of rows is posted; piggyback() adds what is READ
  // together with it; confirm_snapshot() when that round trip has completed. While that is unstable, all
  // three are called again.
  virtual reactor::Task<Status> prepare() = 0;
  // Instead of prepare() and piggyback(), if all READs of rows to come go to memory server 0: adds the
  // protocol's own READs in front. READs that are added after these wait for them (BatchSet::fence_reads,
  // which is on then).
  virtual BeginningReads join(txn::BatchSet& /*batches*/) { return BeginningReads::separate; }
  virtual void piggyback(txn::BatchSet& batches) = 0;
  virtual reactor::Task<Result<SnapshotCheck>> confirm_snapshot() = 0;
  // From when the transaction's age counts; 0 before prepare().
  virtual std::uint64_t started_ns() const = 0;
  // The version of the catalog that the transaction began with. Once ready.
  virtual std::uint64_t catalog_version() const = 0;

  // --- what was read ---
  virtual ReadDecision check_visibility(const RecordRead& read) = 0;
  // Whether a key that was not found in a chain is absent, given the chain's lock word in that READ. False:
  // the chain is read again.
  virtual bool absence_is_certain(layout::HeaderWord /*chain_lock*/) { return true; }
  // Whether the transaction has locked that record: then no other transaction changes it.
  virtual bool holds(layout::GlobalAddress /*record*/) const { return false; }
  // While on, others' locks make no version invisible; the caller checks the header words itself.
  virtual void ignore_locks(bool /*on*/) {}

 protected:
  Visibility() = default;
  Visibility(const Visibility&) = delete;
  Visibility& operator=(const Visibility&) = delete;
  ~Visibility() = default;
};

}  // namespace namdb::protocol
