// The commit of one transaction, stage by stage, each confirmed before the next. The protocols' decisions in
// it are declared in concurrency_control.h; under snapshot isolation:
//
//   lock     a fresh counter c; CAS every header word from exactly the version that was read and is visible
//            in the snapshot to ⟨slot, c, locked⟩, and every bucket chain's lock word likewise; behind each
//            CAS, in the same batch, a READ of the words that it guards and that may have changed since the
//            lookup: a record's ring words, a chain's buckets. The body is not read again: the CAS found the
//            stamp of the certified body that the lookup has, and a stamp means one body.
//   room     where a part of the journal may not fit its ring: a room for its items (commit_journal.h), as
//            long as they are, now that the chains' new buckets are known. It is given back when the commit
//            is published.
//   indexes  where the commit changes secondary indexes, their entries (index_writes.h); most are sent
//            with the locks
//   validate what the protocol asks: nothing under snapshot isolation
//   log      a self-certifying journal entry on each memory server that the commit writes to: ring slots,
//            displaced stamps, images of all new versions there (commit_journal.h). Their places in the
//            slot's journals are taken here, on credit that was taken with the counter. From the completion
//            of all of them on nothing may abort the commit.
//            A commit that may be answered once it is logged in memory, in a database that is `flushed`,
//            ends here: the rest goes on in the background (compute/txn/deferred_commits.h).
//   install  a record: displaced version into its ring slot (image, then ring word), the changed parts of the
//            body, and last the unlocked header word. A chain: new records, new buckets, changed buckets, and
//            last the lock word. Where the commit writes to one memory server alone, and waits for no disk,
//            the WRITEs of install are posted behind the entry, in the same batch: a channel's WRITEs take
//            effect in posting order, and those that a lost channel drops are its last ones. Where install is
//            two-sided a host installs its entry by its name, from its journal; if log is, too, and the same
//            holds, both are one call.
//   publish  the slot's word in the timestamp vector; behind install in the same batch where all of it goes
//            to the one channel that publishes, else once install completed on all servers. Where the
//            vector does not decide which versions are visible, the commit does not wait for it: publishing
//            only frees the journal. With passive acknowledgement it then does not wait for the install,
//            either (compute/txn/passive_installs.h).
//
// Any failure before log: release exactly the locks that were taken, publish past c only after that is
// confirmed, abort. A lost channel: aborted before log was posted, unknown_outcome from then on; memory
// server 0 decides what becomes of it, and the transaction asks that server (commit_outcomes.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "compute/cluster/batch_set.h"
#include "compute/commit/chain_locks.h"
#include "compute/commit/commit_journal.h"
#include "compute/index/index_writes.h"
#include "compute/txn/access.h"
#include "compute/txn/commit_outcomes.h"
#include "compute/txn/execution_slot.h"
#include "compute/txn/passive_installs.h"
#include "compute/txn/row_buffers.h"
#include "compute/txn/row_parts.h"
#include "compute/txn/transaction_state.h"

namespace namdb::protocol {

class Commit final : private JournalContents {
 public:
  explicit Commit(TransactionState& transaction);
  reactor::Task<Status> run();
  // Once run() has begun to log.
  txn::CommitId id() const;

 private:
  // A record that is written in place.
  struct RecordLock {
    Access* access;
    layout::HeaderWord expected;
    // The old word (8 bytes), the ring words READ behind the CAS, room for the displaced version's image.
    txn::RowBuffer buffer;
    bool posted = false;  // by this commit
    bool taken = false;
    std::uint32_t ring_slot = 0;
    std::uint32_t image_bytes = 0;

    std::size_t buffer_bytes() const {
      const layout::RecordLayout& layout = access->table->record;
      return 8 + layout.ring_headers_bytes() + layout.body_bytes();
    }
    std::byte* ring_word(std::uint32_t slot) const { return buffer.data() + 8 + 8 * slot; }
    bool ring_moved(std::uint32_t slot) const {
      return layout::HeaderWord(layout::load_word(ring_word(slot))).moved();
    }
    std::span<std::byte> displaced_image() const {
      const layout::RecordLayout& layout = access->table->record;
      return {buffer.data() + 8 + layout.ring_headers_bytes(), layout.body_bytes()};
    }
    std::span<const std::byte> displaced_body() const { return access->lookup.body(); }
  };

  // Records, and chains behind them. Where there are many, others have their turn between parts of them.
  std::size_t rows() const { return records_.size() + chains_.size(); }
  // Parts of the commit's rows: a commit into few chains takes no more rows in a turn than others do.
  // `turns`: so many times the rows.
  RowParts parts_of_rows(std::size_t turns = 1) const;
  Status plan(const RowParts& part);
  JournalBytes journal_bound() const override;
  JournalBytes journal_least() const override;
  JournalBytes journal_bytes() const override;
  RowParts journal_parts() const override { return parts_of_rows(); }
  void add_items(layout::ServerId host, const RowParts& part, layout::JournalItems& items) const override;
  void add_updates(JournalBytes& bytes) const;
  Status check_reachable() const;
  reactor::Task<Status> lock();
  void post_locks(const RowParts& part);
  // Where it locks and validates in one call: READs behind the CASes that are in the batches.
  void check_behind_locks();
  // After a failed operation: whether the commit writes to a lost server.
  bool needs_lost() const;
  void note_locks();
  Status check_locks();
  reactor::Task<Status> wait_for_ring(RecordLock* record);
  // The next part of them; false: there is none left.
  bool build_more_images();
  void build_images(const RowParts& part);
  void build_image(RecordLock& record, const Timestamps* timestamps);
  void install_body(const RecordLock& record);
  layout::ImageForm form() const {
    return worker_.commit_writes == txn::CommitWrites::whole ? layout::ImageForm::whole
                                                             : layout::ImageForm::shorter;
  }
  // Others of its session that were answered early become visible before it.
  reactor::Task<void> follow_deferred();
  bool may_defer() const;
  bool may_install_with_log() const;
  reactor::Task<Status> log();
  // Both in one batch, and the publish.
  reactor::Task<Status> log_and_install();
  Status unknown();
  // Memory servers install their entries by name.
  bool installs_by_name() const;
  // Sends the publish behind the install that is in the batches, if it may be. `piggybacked_` is up to where.
  void piggyback();
  // The batches completed: whether the publish was among them.
  bool has_published();
  reactor::Task<Status> publish();
  void add_installs(const RowParts& part);
  // True: the install is under way, and no task needs to wait for it.
  bool install_passively();
  // True: install and publish go on in the background.
  bool defer_install();
  txn::PassiveInstall passive_install();
  reactor::Task<Status> install();
  void after_install();
  reactor::Task<Status> release(Status reason);
  void after_commit();
  bool visible_by_publish() const { return worker_.cluster.protocol().visible_by_publish; }
  Locking* locking() const { return transaction_.control().locking(); }
  layout::HeaderWord lock_word() const { return layout::HeaderWord(lock_stamp_, false, true); }

  TransactionState& transaction_;
  txn::WorkerState& worker_;
  fabric::OperationCounters& counters_;
  txn::BatchSet batches_;
  std::shared_ptr<txn::ExecutionSlot> slot_;
  layout::Stamp stamp_;
  layout::Stamp lock_stamp_;  // in the lock words of records
  txn::RowBuffers buffers_;
  reactor::PooledInlinedVector<RecordLock, 4> records_;
  ChainLocks chains_;
  IndexWrites indexes_;
  CommitJournal journal_;
  txn::RowBuffer publish_word_;
  bool checked_ = false;           // what was read, behind the locks, all of which were taken at once
  std::uint32_t piggybacked_ = 0;  // the counter up to which the batches publish; 0: they do not
  RowParts built_{0};              // the images of the rows before its end are built
  bool passive_ = false;
  bool deferred_ = false;
  bool installs_added_ = false;  // all that is left to be installed is in the batches
};

}  // namespace namdb::protocol
