// The commit of one transaction under snapshot isolation, stage by stage, each confirmed before the next:
//
//   lock     a fresh counter c; CAS every header word from exactly the version that was read and is visible
//   in
//            the snapshot to ⟨slot, c, locked⟩, and every bucket chain's lock word likewise; behind each CAS,
//            in the same batch, a READ of what it guards. Header and ring words of an earlier READ may be of
//            different times, so the free ring slot and the buckets' free entries are chosen from this one.
//   log      one self-certifying journal entry: ring slots, displaced stamps, all new images. From its
//            completion on nothing may abort the commit.
//   install  a record: displaced body into its ring slot (payload, then ring word), new body, and last the
//            unlocked header word. A chain: new records, new buckets, changed buckets, and last the lock
//            word.
//   publish  the slot's word in the timestamp vector; behind install in the same batch where all of it goes
//            to the one channel that publishes, else once install completed on all servers.
//
// Any failure before log: release exactly the locks that were taken, publish past c only after that is
// confirmed, abort. A lost channel: aborted before log was posted, unknown_outcome from then on; repair frees
// the locks.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "compute/protocol/snapshot_isolation/access.h"
#include "compute/protocol/snapshot_isolation/chain_locks.h"
#include "compute/txn/batch_set.h"
#include "compute/txn/execution_slot.h"

namespace namdb::protocol {

class SnapshotTransaction;

class SnapshotCommit {
 public:
  explicit SnapshotCommit(SnapshotTransaction& transaction);
  reactor::Task<Status> run();

 private:
  // A record that is written in place.
  struct RecordLock {
    Access* access;
    layout::HeaderWord expected;
    fabric::LocalBuffer fetched;  // the old word (8 bytes), then locked_bytes() READ behind the CAS
    bool taken = false;
    std::uint32_t ring_slot = 0;

    std::byte* record() const { return fetched.data() + 8; }
    std::span<const std::byte> displaced_body() const {
      return {record() + 8, access->table->record.body_bytes()};
    }
  };

  Status plan();
  std::uint64_t journal_bound_bytes() const;
  reactor::Task<Status> lock();
  Status examine_locks();
  reactor::Task<Status> wait_for_ring(RecordLock* record);
  void build_images();
  reactor::Task<Status> log();
  reactor::Task<Status> install();
  reactor::Task<Status> release(Status reason);
  void after_commit();
  layout::HeaderWord lock_word() const { return layout::HeaderWord(stamp_, false, true); }

  SnapshotTransaction& transaction_;
  txn::WorkerState& worker_;
  fabric::OperationCounters& counters_;
  txn::BatchSet batches_;
  std::shared_ptr<txn::ExecutionSlot> slot_;
  layout::Stamp stamp_;
  reactor::PooledVector<RecordLock> records_;
  ChainLocks chains_;
  layout::GlobalAddress journal_place_;
  fabric::LocalBuffer journal_;
  fabric::LocalBuffer publish_word_;
};

}  // namespace namdb::protocol
