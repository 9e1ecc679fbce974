// An execution slot: the right to commit under ⟨slot, counter⟩. Owns the slot's counters, its journals
// (slot_journals.h), and the publication of its word in the timestamp vector. One worker leases it; its
// coroutines share it.
//
// Counters are taken in ascending order, are never reused, and finish out of order. Only the contiguous
// prefix of finished ones is published, in ascending order, on the worker's channel to the memory server that
// has the slot's word (server 0, unless the timestamp vector is partitioned). A counter is finished when its
// commit's install completed on all servers, or its locks are confirmed released after an abort. It is ready
// when it is finished, or when all of its install was posted on that one channel: WRITEs there take effect in
// posting order. So each publish covers the contiguous prefix of ready counters, and may be sent behind an
// install, in the same batch.
//
// A journal entry's place may be used again once the published prefix covers its counter, and the host of the
// journal has been told so: install, unlock and publish are then complete. If a commit's items on a host are
// too long for the ring there they stand in a room, which that server lends the slot for them alone.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>

#include "common/fabric/fabric.h"
#include "common/layout/global_address.h"
#include "common/layout/stamp.h"
#include "common/reactor/executor.h"
#include "compute/cluster/cluster.h"
#include "compute/txn/slot_journals.h"

namespace namdb::txn {

// A hostile counter limit makes slots end after a few commits.
struct SlotOptions {
  std::uint32_t counters_per_slot = 0xffff'0000U;  // hostile: 3
  std::size_t slots = 1;                           // of a worker (slot_keeper.h)
};

class ExecutionSlot {
 public:
  ExecutionSlot(Cluster& cluster, SlotOptions options)
      : cluster_(cluster),
        options_(options),
        published_(cluster.executor()),
        journals_(cluster, completed_, published_) {}
  ExecutionSlot(const ExecutionSlot&) = delete;
  ~ExecutionSlot() = default;

  // Once: leased, and its word placed in the vector.
  reactor::Task<Status> lease();
  std::uint32_t slot() const { return slot_; }

  // True once the slot is near its end: lease another, and close() this one.
  bool exhausted() const { return next_counter_ - first_counter_ >= options_.counters_per_slot; }

  SlotJournals& journals() { return journals_; }
  const SlotJournals& journals() const { return journals_; }
  // A commit begins: credit in the journals for entries of up to these lengths, and a fresh counter. In this
  // order, without a pause between: so the oldest unfinished counter always has its credit, and the rings
  // never lock up. Waits until there is room in the rings. Each part is of one host, where the journal is
  // open, and fits its ring; they are the caller's until the commit ends. The counter then ends in one of
  // these ways: finish() or finish_unawaited(); finish_aborted(); piggyback_completed(), where piggyback()
  // published it; lose(). After a failed channel none of them has to follow. Errors: connection_failure;
  // disk_full where a host's log has no room; serialization_failure after E.
  reactor::Task<Result<std::uint32_t>> begin_commit(std::span<const HostBytes> journal_parts);
  // The same; nullopt, and nothing is taken, where it would wait.
  std::optional<std::uint32_t> begin_commit_now(std::span<const HostBytes> journal_parts);
  // Every counter up to there is finished.
  std::uint32_t through() const { return completed_; }

  // --- entries that are too long for the ring ---
  std::uint64_t max_room_bytes() const { return max_room_bytes_; }
  // On that host. Errors limit_exceeded, out_of_memory, connection_failure.
  reactor::Task<Result<layout::GlobalAddress>> borrow_room(layout::ServerId host, std::uint64_t length_bytes);
  // No entry names the room. That of an entry is free with the entry's place.
  reactor::Task<void> return_room(layout::GlobalAddress room);

  // --- publication ---
  // The memory server whose channel publishes.
  layout::ServerId publishing_server() const { return vector_word_.server(); }
  // The batch for that server has all of the counter's install, and is posted before this worker runs
  // anything else. Appends the publishing WRITE, unless an older counter is not ready: gives the counter up
  // to which it publishes, or 0; then finish() follows once the batch completed.
  std::uint32_t piggyback(std::uint32_t counter, fabric::Batch& batch, std::byte* registered_word);
  // The batch completed, which published up to there.
  void piggyback_completed(std::uint32_t published);
  // The counter's commit or abort is complete everywhere. Publishes what became contiguous, and waits until
  // the published prefix covers the counter.
  reactor::Task<Status> finish(std::uint32_t counter);

  // The same without waiting: true if the caller must call publish() now, or the journal fills up.
  bool finish_unawaited(std::uint32_t counter);
  // Publishes what is finished and not published.
  reactor::Task<void> publish();

  // The counter's locks are confirmed released; no entry was written under it. Does not suspend.
  // `journal_parts`: those that it began with.
  void finish_aborted(std::uint32_t counter, std::span<const HostBytes> journal_parts);
  // Aborted counters that no publish has passed yet.
  std::size_t aborted_count() const { return aborted_.size(); }
  // The connection is over: wakes all waiters with an error; the slot is lost, and memory server 0 closes it.
  void fail();
  // A channel failed, so that locks under this slot may be left: the same, unless the connection goes on.
  void channel_failed();
  // The same, and the outcome of the counter's commit is unknown here: this worker publishes neither this
  // commit nor a later one.
  void lose(std::uint32_t counter);
  // A counter was lost. Commits that wait to be published need another slot.
  bool has_lost() const { return lost_ != 0; }

  // A transaction holds locks under this slot, outside of a commit: it must not be closed.
  void add_holder() { ++holders_; }
  void drop_holder() {
    --holders_;
    published_.notify_all();
  }

  // Counters that are taken and not published, commits that wait for theirs, and transactions that hold
  // locks outside of a commit.
  std::uint32_t open() const { return next_counter_ - 1 - completed_ + holders_; }
  bool idle() const { return open() == 0; }
  // Waits until idle() or a channel failed.
  reactor::Task<void> wait_idle();
  // Waits for what is under way in the background; before destruction, without close().
  reactor::Task<void> drain() { return journals_.drain(); }
  // Gives the slot back, and drains it; needs idle().
  reactor::Task<Status> close();

 private:
  void note_ready(std::uint32_t counter);
  void advance();
  reactor::Task<Status> publish_prefix();
  void pass_aborted();
  reactor::Task<Result<std::uint32_t>> wait_for_room(std::span<const HostBytes> journal_parts);

  Cluster& cluster_;
  SlotOptions options_;
  std::uint32_t slot_ = 0;
  std::uint64_t vector_position_ = 0;
  layout::GlobalAddress vector_word_;
  std::uint32_t first_counter_ = 0;
  std::uint32_t next_counter_ = 1;
  std::uint32_t posted_ = 0;         // highest counter in a publish that was posted
  std::uint32_t completed_ = 0;      // highest counter in a publish that completed
  std::uint32_t prefix_ = 0;         // every counter up to here is ready
  std::set<std::uint32_t> ready_;    // ready, above the prefix
  std::set<std::uint32_t> aborted_;  // aborted, not passed yet
  std::uint32_t lost_ = 0;           // the first counter that was lost; 0: none
  std::uint32_t holders_ = 0;
  bool publishing_ = false;
  bool failed_ = false;
  reactor::Event published_;
  fabric::LocalBuffer publish_word_;
  SlotJournals journals_;
  std::uint64_t max_room_bytes_ = 0;
};

}  // namespace namdb::txn
