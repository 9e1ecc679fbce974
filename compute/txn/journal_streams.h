// The journal streams of an execution slot: the places of its entries on each memory server that has a ring
// of it (common/layout/journal.h).
//
// A commit takes *credit* for its entries when it begins, at all their hosts at once or at none, and their
// *places* when it logs. So a stream has no gaps: a commit that aborts before that gives its credit back and
// leaves nothing. And a commit that holds credit never waits for a place: in any order of their places, the
// entries of all holders fit behind the entries that are still needed, with the pad at a lap's end.
//
// A place may be freed once its counter, and those of all places before it, are finished. It is free once its
// host says so (common/calls/journal_calls.h): the host has read it then.
//
// Nothing here suspends. A place belongs to a WRITE that is posted before this worker runs anything else:
// then entries land in the stream's order, since a channel keeps the order of WRITEs.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "common/layout/global_address.h"
#include "common/layout/journal.h"
#include "common/reactor/pooled_allocator.h"

namespace namdb::txn {

// So many bytes of the stream on that host; a multiple of 64.
struct HostBytes {
  layout::ServerId host = 0;
  std::uint64_t bytes = 0;
};

// The end of an entry in the stream on that host.
struct JournalEnd {
  layout::ServerId host = 0;
  std::uint64_t position = 0;
};

// Where an entry goes.
struct JournalPlace {
  layout::StreamPlace entry;
  layout::GlobalAddress address;
  // Not 0: a pad of that length must be WRITTEN before the entry.
  std::uint32_t pad_bytes = 0;
  layout::StreamPlace pad;
  layout::GlobalAddress pad_address;
};

// The stream on one host.
class JournalStream {
 public:
  // `position`: where the stream goes on. `ring_bytes` is a multiple of 64.
  JournalStream(layout::StreamPlace position, layout::GlobalAddress ring, std::uint64_t ring_bytes);

  // The longest entry that an empty ring always has room for.
  std::uint64_t longest_bytes() const { return ring_bytes_ / 2; }
  bool has_credit(std::uint64_t bytes) const;
  void take_credit(std::uint64_t bytes);
  void give_back(std::uint64_t credit_bytes);
  // Uses up that credit, which covers the entry's length.
  JournalPlace place(std::uint32_t counter, std::uint64_t credit_bytes, std::uint32_t length_bytes);
  // All counters up to there are finished.
  void finish_through(std::uint32_t counter);
  // The host says that every place before that one may be taken again. False if the position is impossible.
  bool free_to(std::uint64_t position);

  // Where the next entry or pad goes.
  std::uint64_t end() const { return next_.position; }
  // Every entry before it is finished.
  std::uint64_t finished() const { return finished_; }
  // Bytes that the host could free.
  std::uint64_t freeable_bytes() const { return finished_ > freed_ ? finished_ - freed_ : 0; }
  // Taken or promised.
  std::uint64_t used_bytes() const { return next_.position - freed_ + credit_bytes_; }
  std::uint64_t ring_bytes() const { return ring_bytes_; }

 private:
  struct Taken {
    std::uint32_t counter;
    std::uint64_t end;
  };
  layout::GlobalAddress address(std::uint64_t position) const { return ring_ + position % ring_bytes_; }
  std::uint64_t rest_of_lap_bytes() const { return ring_bytes_ - next_.position % ring_bytes_; }

  layout::StreamPlace next_;
  layout::GlobalAddress ring_;
  std::uint64_t ring_bytes_;
  std::uint64_t credit_bytes_ = 0;          // given out
  std::uint64_t largest_credit_bytes_ = 0;  // at most, of the credits that are out
  std::uint64_t freed_;
  std::uint64_t finished_;
  reactor::PooledDeque<Taken> taken_;  // behind `finished_`
};

class JournalStreams {
 public:
  // A ring of the slot on the host of `position`.
  void open(layout::StreamPlace position, layout::GlobalAddress ring, std::uint64_t ring_bytes);
  bool has(layout::ServerId host) const { return streams_.contains(host); }
  const JournalStream& at(layout::ServerId host) const { return streams_.at(host); }
  const std::map<layout::ServerId, JournalStream>& all() const { return streams_; }

  // False, and nothing is taken, where a host has no room now. Each part is at most its stream's
  // longest_bytes(), and is of another host.
  bool take_credit(std::span<const HostBytes> parts);
  void give_back(std::span<const HostBytes> parts);
  // The place of the commit's entry on the part's host; uses up the part's credit.
  JournalPlace place(std::uint32_t counter, HostBytes part, std::uint32_t length_bytes);
  void finish_through(std::uint32_t counter);
  bool free_to(layout::ServerId host, std::uint64_t position) { return streams_.at(host).free_to(position); }

 private:
  std::map<layout::ServerId, JournalStream> streams_;
};

}  // namespace namdb::txn
