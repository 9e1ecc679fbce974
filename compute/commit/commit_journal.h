// The journal of one commit: a part on each memory server that it writes to, its *hosts*, with the items of
// that host alone (common/layout/journal.h). All parts are written in one batch, in one round trip; each is
// written whole or in pieces where it is long.
//
//   begin        opens the slot's journals at the hosts where they are not open, takes credit at all of them,
//                and the commit's counter
//   borrow_rooms where a part is too long for its ring: room for its items on that host
//   log          all parts, sealed for their places in the slot's streams. Where the database is `flushed` a
//                FLUSH goes in the doorbell of the WRITEs. From its completion on nothing may abort the
//                commit.
//   add_entries, add_installs  the same without the wait: the WRITEs of the entries, and installs that name
//                them, for a call that does both
//   await_durable  where the database is `flushed`: all hosts have said that their part is on disk
//   finish       the commit is finished: rooms are given back
//   abort        nothing was logged: rooms and credit are given back
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/fabric/local_pool.h"
#include "common/layout/journal.h"
#include "common/reactor/pooled_allocator.h"
#include "common/reactor/stable_vector.h"
#include "compute/cluster/batch_set.h"
#include "compute/commit/room_items.h"
#include "compute/txn/execution_slot.h"
#include "compute/txn/row_parts.h"
#include "compute/txn/worker_state.h"

namespace namdb::protocol {

// Bytes of journal items by host, ascending.
class JournalBytes {
 public:
  void add(layout::ServerId host, std::uint64_t bytes);
  std::uint64_t of(layout::ServerId host) const;
  std::span<const txn::HostBytes> all() const { return hosts_; }

 private:
  reactor::PooledInlinedVector<txn::HostBytes, 2> hosts_;
};

// The changes of the commit, for its journal.
class JournalContents {
 public:
  // At most; at least, before anything is locked; exactly, once everything is locked.
  virtual JournalBytes journal_bound() const = 0;
  virtual JournalBytes journal_least() const = 0;
  virtual JournalBytes journal_bytes() const = 0;
  // Parts of the changes, in commit order; and the items of that host in a part.
  virtual RowParts journal_parts() const = 0;
  virtual void add_items(layout::ServerId host, const RowParts& part, layout::JournalItems& items) const = 0;

 protected:
  ~JournalContents() = default;
};

class CommitJournal {
 public:
  // All outlive this.
  CommitJournal(txn::WorkerState& worker, const JournalContents& contents, txn::BatchSet& batches,
                fabric::OperationCounters& counters)
      : worker_(worker), contents_(contents), batches_(batches), counters_(counters) {}

  // The commit's counter. Errors: limit_exceeded where a part is too long; those of OPEN_JOURNAL and of
  // ExecutionSlot::begin_commit.
  reactor::Task<Result<std::uint32_t>> begin(std::shared_ptr<txn::ExecutionSlot> slot);
  // Items of a part are too long for its ring.
  bool in_room() const;
  // Where it has parts; from begin() on.
  std::span<const layout::ServerId> hosts() const { return regions_; }
  reactor::Task<Status> borrow_rooms();
  // `lock`: in the lock words of records. An error means that the outcome is unknown.
  reactor::Task<Status> log(layout::Stamp stamp, layout::Stamp lock);
  // Where no part is in a room, and the database is not `flushed`: the same, but that the parts are in the
  // batches, which the caller runs before this worker runs anything else.
  void add_entries(layout::Stamp stamp, layout::Stamp lock);
  // Memory servers can install the entries by name.
  bool can_be_installed() const;
  // Adds the installs of all entries, once their places are known. can_be_installed().
  void add_installs() const;
  // Likewise. Before anything is installed.
  reactor::Task<Status> await_durable();
  // The ends of the entries in the streams of their hosts; once logged.
  reactor::PooledVector<txn::JournalEnd> ends() const;
  // The published prefix covers the counter.
  reactor::Task<void> finish();
  reactor::Task<void> abort(std::uint32_t counter);

 private:
  struct Part {
    layout::ServerId host = 0;
    bool in_room = false;
    std::uint64_t bound_bytes = 0;         // of the items
    layout::GlobalAddress room;            // once borrowed
    RoomItems::Pieces pieces;              // that are in the batches
    std::uint64_t written_bytes = 0;       // of the room, with these
    layout::JournalRoomChecksum checksum;  // of so many bytes
    fabric::LocalBuffer entry;             // and a pad behind it
    std::uint64_t entry_bytes = 0;         // at most
    std::uint64_t end = 0;                 // of the entry, in the stream
    layout::GlobalAddress address;         // of the entry, once it has its place
    std::uint32_t length_bytes = 0;        // likewise
  };
  std::uint32_t frame_bytes() const;
  Status check_size(std::uint64_t items_bytes) const;
  Status plan();
  reactor::Task<Status> write_room(Part* part);
  // To the batches: the pieces that are full, or all that is left.
  void add_pieces(Part& part, RoomItems& items, bool last);
  // The part's entry and the pad before it, to be posted before this worker runs anything else.
  void add_entry(Part& part, std::size_t index, layout::Stamp stamp, layout::Stamp lock);
  // Runs what is in the batches, and asks for the entries to be flushed.
  reactor::Task<Status> write_and_flush();
  void post_flushes();
  void add_write(layout::GlobalAddress to, const std::byte* from, std::uint32_t length_bytes);

  txn::WorkerState& worker_;
  const JournalContents& contents_;
  txn::BatchSet& batches_;
  fabric::OperationCounters& counters_;
  std::shared_ptr<txn::ExecutionSlot> slot_;
  reactor::PooledInlinedVector<Part, 1> parts_;                // by host
  reactor::PooledInlinedVector<layout::ServerId, 4> regions_;  // of the entries' heads
  reactor::PooledInlinedVector<txn::HostBytes, 2> credit_;     // by host
};

}  // namespace namdb::protocol
