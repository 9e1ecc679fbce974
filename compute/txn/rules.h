// What a concurrency-control protocol decides in one transaction. The stages around it are the same for all
// protocols: finding records, buffering writes, locking by CAS, the journal, install, secondary indexes,
// repair. A protocol is one implementation of this interface (compute/protocol) and one line in
// common/layout/protocol_list.h.
//
// Called by the transaction's coroutine only; nothing here is called while another call of it is suspended.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "common/base/error.h"
#include "common/layout/bucket.h"
#include "common/layout/record.h"
#include "common/reactor/frame_pool.h"
#include "common/reactor/task.h"
#include "compute/api/index.h"
#include "compute/api/transaction.h"
#include "compute/cluster/batch_set.h"
#include "compute/txn/execution_slot.h"

namespace namdb::protocol {

class ChainLocks;
class Lookup;
struct Access;

// A record's header word and certified body, of one READ: words of different times.
struct SeenRecord {
  layout::HeaderWord header;
  const layout::BodyHeader& body;
  bool current = false;  // the body is the record's own, not one from its version ring
};

enum class Judgement : std::uint8_t {
  visible,
  invisible,     // an older version may be visible
  held,          // somebody holds the record: read it again, and have the lock looked into
  torn,          // header and body are of different versions: read again
  conflict,      // somebody holds the record: this transaction gives way
  unknown_slot,  // ask again when the slot directory knows the body's slot
};

// What of a secondary index a transaction has seen: these are all the entries in [low, high). Of a hash index
// there are none: the rules see its chain and its entries as those of a table.
struct SeenRange {
  std::uint32_t table = 0;
  storage::IndexRef index;
  std::string low;
  std::optional<std::string> high;
  std::vector<std::string> entries;
};

class Rules {
 public:
  // What a protocol does not do costs nothing: its calls are not made.
  struct Duties {
    bool locks_rows = false;       // will_fetch(), look_at_locks(), fetched(), unlock()
    bool has_waiters = false;      // records say who waits for them (Lookup::waiter); wait_for_locks()
    bool validates_reads = false;  // validate(), confirm_reads()
    bool has_timestamps = false;   // behind_lock(), behind_locks(), commit_timestamp(); leases of rows by key
  };
  explicit Rules(Duties duties) : duties_(duties) {}
  Rules(const Rules&) = delete;
  Rules& operator=(const Rules&) = delete;
  virtual ~Rules() = default;

  static void* operator new(std::size_t bytes) { return reactor::allocate_frame(bytes); }
  static void operator delete(void* place, std::size_t bytes) { reactor::free_frame(place, bytes); }

  bool locks_rows() const { return duties_.locks_rows; }
  bool has_waiters() const { return duties_.has_waiters; }
  bool validates_reads() const { return duties_.validates_reads; }
  bool has_timestamps() const { return duties_.has_timestamps; }

  // --- read ---
  // Rows may be judged.
  virtual bool ready() const = 0;
  // While not ready: what must come before the first READ of rows, then what goes along with it, then, once
  // that round trip completed, whether what it brought counts. False: it is thrown away, and all of this
  // comes again.
  virtual reactor::Task<Status> prepare() = 0;
  virtual void ride(txn::BatchSet& batches) = 0;
  virtual reactor::Task<Result<bool>> settle() = 0;
  // From when the transaction's age counts; 0 before prepare().
  virtual std::uint64_t started_ns() const = 0;
  // Of the catalog that the transaction began with. Once ready.
  virtual std::uint64_t catalog_version() const = 0;
  virtual Judgement judge(const SeenRecord& seen) = 0;
  // Whether a key that is not in a chain is not there, where the chain's lock word was that. False: the chain
  // is read again.
  virtual bool believes_absence(layout::HeaderWord /*chain_lock*/) { return true; }
  // From now on locks of others keep no row from being read; who reads must look at the header words itself.
  virtual void look_through_locks(bool /*on*/) {}

  // What was read and counts for the transaction, beside the rows of its read set.
  virtual void saw_record(const Lookup& /*lookup*/) {}
  virtual void saw_bucket(const storage::Table& /*table*/, layout::GlobalAddress /*address*/,
                          const layout::Bucket& /*bucket*/, bool /*main*/) {}
  // A rival under a unique index: what its newest version says decided.
  virtual void saw_latest(const Lookup& /*lookup*/) {}
  virtual void saw_range(SeenRange /*range*/) {}

  // --- lock ---
  // Whether the transaction has that record locked: nobody writes it before its commit does.
  virtual bool holds(layout::GlobalAddress /*record*/) { return false; }
  // Rows are about to be asked for by key.
  virtual reactor::Task<Status> will_fetch() { co_return Status(); }
  // The lookup has such a row's record, or where it is thought to be, READ in this batch: may add the CAS
  // that locks it before that READ. look_at_locks() once the batch completed.
  virtual void lock_along(Lookup& /*lookup*/, txn::BatchSet& /*batches*/) {}
  virtual void look_at_locks() {}
  // Some of these lookups wait for records that others hold. True: it has waited for them. False: the caller
  // waits before it looks again.
  virtual reactor::Task<Result<bool>> wait_for_locks(const reactor::PooledVector<Lookup*>* /*lookups*/) {
    co_return false;
  }
  // Rows that were asked for by key, to be locked (Access::locked) or shared (Access::shares), have just been
  // read: this does the rest. What it cannot share is validated.
  virtual reactor::Task<Status> fetched(std::span<const txn::RowId> /*rows*/) { co_return Status(); }
  // Conflicts of a write to an existing record that are known without asking.
  virtual Status may_write(const Access& access) const = 0;
  // The slot to commit under, and the stamp in the lock words of records, for a commit that bears `stamp`.
  virtual reactor::Task<Result<std::shared_ptr<txn::ExecutionSlot>>> slot() = 0;
  virtual layout::Stamp lock_stamp(layout::Stamp stamp) { return stamp; }

  // The commit locks that row in this batch: may add READs of its record behind that, which stay until
  // validate(); then, behind all locks of records, READs of more.
  virtual void behind_lock(const Access& /*access*/, txn::BatchSet& /*batches*/) {}
  virtual void behind_locks(txn::BatchSet& /*batches*/) {}

  // --- validate ---
  struct Locked {
    const ChainLocks& chains;
    bool changes_indexes;  // entries are added or left behind
    bool leaves_entries;   // nobody will find displaced versions by theirs
  };
  // All locks of the commit are held, and its index entries stand.
  virtual reactor::Task<Status> validate(const Locked& /*locked*/) { co_return Status(); }
  // Of all versions that the commit writes; known once it is validated.
  virtual std::uint64_t commit_timestamp() const { return 0; }
  // Before a commit: whether all that was read was true at one moment since this was called. The commit of a
  // transaction without writes is that and no more, with `commits`. Error serialization_failure.
  virtual reactor::Task<Status> confirm_reads(bool /*commits*/) { co_return Status(); }

  // --- install, publish, release ---
  // Adds the WRITEs that release what fetched() locked and the commit does not write; posted together with
  // its install. unlocked() once they completed.
  virtual void unlock(txn::BatchSet& /*batches*/) {}
  virtual void unlocked() {}
  // The commit is installed: before unlocked().
  virtual void installed() {}
  // Whether a commit is over only when it is published: others see it by that. If not, it is over when it is
  // installed.
  virtual bool waits_for_publish() const = 0;

  // --- end ---
  // The transaction is over: `outcome` is its commit's, or the error that it met. True: locks are still held,
  // are released in the background, and the generation is ended after that. False: the caller ends it.
  virtual bool give_up(std::uint64_t generation, const Status& outcome, bool wrote) = 0;

 private:
  Duties duties_;
};

}  // namespace namdb::protocol
