// Epoch-based reclamation of memory that remote WRITEs and CASes may target.
//
// Freed memory waits until the reuse epoch is raised, and then until every live worker has acknowledged the
// raised epoch: by then each worker has learned of it and its older transactions have ended. A worker may
// still have a cached address: the bytes found there must certify as the record that was cached. A worker
// that never answers is fenced by others, and then does not count. Durations play no part: they cannot bound
// a paused writer.
//
// The rule also covers tables and indexes that a worker's copy of the catalog still has. They left the
// catalog before they were freed. So a transaction that begins after the worker learned of the raised epoch
// has a snapshot that shows a newer catalog version, and the worker fetches that version before it writes
// anything.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace namdb::memory {

// A record, an array of main buckets that was outgrown, or with offset 0 the whole of a discarded table or
// index, which share their ids.
struct Freed {
  std::uint32_t table = 0;
  std::uint64_t offset = 0;
  bool outgrown = false;
};

class EpochReclaimer {
 public:
  void defer(Freed freed);
  // Raises the epoch if memory waits for that and the last raise is `interval_ns` ago.
  void tick(std::uint64_t now_ns, std::uint64_t interval_ns);
  // Memory that may be used again now, oldest first; at most `limit` pieces.
  std::vector<Freed> take(std::uint64_t acknowledged_epoch, std::size_t limit);

  // All memory that waits.
  std::vector<Freed> pending() const;
  std::uint64_t pending_count() const;
  // Tables, indexes or arrays of buckets are among it: extents will come back.
  bool has_extents() const;
  std::uint64_t epoch() const { return epoch_; }
  bool empty() const { return open_.freed.empty() && closed_.empty(); }

 private:
  struct Batch {
    std::uint64_t epoch = 0;
    std::deque<Freed> freed;
  };
  std::uint64_t epoch_ = 1;
  std::uint64_t raised_ns_ = 0;
  Batch open_;
  std::deque<Batch> closed_;
};

}  // namespace namdb::memory
