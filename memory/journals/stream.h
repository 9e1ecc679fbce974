// A slot's stream on this host, as the host keeps it: the ring in the region, which only the slot's owner
// WRITEs, and in private memory the positions up to which the stream is known. Everything here is decided
// over copies of the ring's bytes and does not suspend; journals.h moves the bytes into the log.
//
//      freed          durable        certified
//        |  kept entries |                |
//   -----+===============+================+-------------------> positions
//        '------------ at most the ring's length ------------'
//
//   certified  every entry and pad before it was found complete, in order. Nothing behind it has been seen.
//   durable    every entry before it is in the log on disk. Without a log: certified.
//   freed      every entry before it is durable and decided; the owner may write its place again.
//
// An entry is *decided* when its commit is finished, which `through` says (common/layout/journal.h), or when
// a verdict for it is recorded. Counters are not in the order of positions, so an entry is kept until all
// before it are free.
//
// The owner is not trusted. The cursor stays within a ring's length behind `freed`, an entry is read into
// private memory once and judged there, and less is kept of it than its place is long. So reading and memory
// are bounded, whatever stands in the ring.
#pragma once

#include <absl/container/inlined_vector.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/fabric/fabric.h"
#include "common/layout/journal.h"
#include "common/reactor/pooled_allocator.h"
#include "memory/region/region.h"

namespace namdb::memory {

// Numbers of extents. Those of most commits need no memory of their own.
using ExtentNumbers = absl::InlinedVector<std::uint32_t, 4>;

// An entry that was found complete and is not free. Positions are those of the stream.
struct KeptEntry {
  layout::Stamp stamp;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t log_begin = 0;  // of its record in the log; both 0 without a log
  std::uint64_t log_end = 0;
  std::uint32_t configuration = 0;
  layout::RegionIds regions;  // of the whole commit
  std::uint64_t room = 0;     // offset of its room, 0: none
  ExtentNumbers extents;      // in which it changes records
};

// Recorded for a commit of a slot whose owner is gone.
enum class Verdict : std::uint8_t { voided, committed };

// An entry with its bytes, into which its spans point: those of its room behind its own.
struct EntryCopy {
  std::vector<std::byte> bytes;
  layout::JournalEntry entry;
};

class JournalStream {
 public:
  // `ring` is zero and belongs to the stream until it is destroyed. Ring and rooms are added to
  // `charged_bytes`, which outlives the stream as the region does.
  JournalStream(Region& region, const Block& ring, layout::StreamPlace begin, fabric::PeerId owner,
                std::string compute_id, std::uint64_t& charged_bytes);
  JournalStream(const JournalStream&) = delete;
  JournalStream& operator=(const JournalStream&) = delete;
  ~JournalStream();

  std::uint32_t slot() const { return slot_; }
  const Block& ring() const { return ring_; }
  fabric::PeerId owner() const { return owner_; }
  const std::string& compute_id() const { return compute_id_; }
  // The owner's channel is destroyed and drained.
  bool abandoned() const { return abandoned_; }
  void abandon() { abandoned_ = true; }
  // The slot's journal has ended here: tasks that hold the stream give it up.
  bool closed() const { return closed_; }
  void close() { closed_ = true; }

  std::uint64_t certified() const { return certified_; }
  std::uint64_t durable() const;
  std::uint64_t freed() const;
  std::uint32_t through() const { return through_; }
  const reactor::PooledDeque<KeptEntry>& entries() const { return entries_; }
  // The end of what the ring can hold now; no honest owner names a position behind it.
  std::uint64_t limit() const { return freed() + ring_.bytes; }
  // Why no entry is accepted any more; ok as long as one may be.
  const Status& broken() const { return broken_; }

  // --- reading on ---
  // A look at the ring without a copy of the entry: false where certainly none stands at the cursor.
  bool may_have_next() const;
  // Passes pads. If a complete entry stands at the cursor: copies it to the end of `bytes`, where its spans
  // point. The items of one with a room are still to be read. The cursor stays in front of it until accept().
  std::optional<layout::JournalEntry> next(std::vector<std::byte>& bytes);
  // The same for the stream of an owner that is gone: passes what is incomplete, up to the limit. Two-sided
  // log stages are not ordered, so there may be entries behind a hole.
  std::optional<layout::JournalEntry> next_of_abandoned(std::vector<std::byte>& bytes);
  // The entry that next() found has a room, and keeps it from now on. False, and the stream is broken, where
  // that room was not lent, or another entry has it.
  bool take_room(const layout::JournalEntry& entry);
  // The entry is not complete, or does not go into the log: its room has no entry any more.
  void drop_room(const layout::JournalEntry& entry);
  // The cursor passes an entry that is not complete.
  void skip(const layout::JournalEntry& entry) { certified_ = entry.end(); }
  // The entry that next() found is kept, and its record is at these positions of the log. Learns its
  // `through`.
  void accept(layout::JournalEntry entry, std::uint64_t log_begin, std::uint64_t log_end,
              ExtentNumbers extents = {});
  // Nothing from the cursor on counts any more.
  void break_off(Status why) { broken_ = std::move(why); }

  // --- deciding and freeing ---
  void learn_through(std::uint32_t counter);
  // A verdict for the commit is recorded. The first one stays. The decider may name commits without an entry
  // here.
  void decide(std::uint32_t counter, Verdict verdict);
  // Verdicts by counter, until the stream ends.
  const std::map<std::uint32_t, Verdict>& verdicts() const { return verdicts_; }
  // Everything in the log before that position is durable.
  void log_is_durable(std::uint64_t log_position);
  bool decided(const KeptEntry& entry) const {
    return entry.stamp.counter <= through_ || verdicts_.contains(entry.stamp.counter);
  }
  // All entries before `position` are durable once the log is durable up to this end; 0: they are durable
  // now.
  std::uint64_t log_end_before(std::uint64_t position) const;
  // Where the record of the oldest undecided entry begins in the log; nullopt: all entries are decided.
  std::optional<std::uint64_t> oldest_undecided_log_begin() const;

  // --- rooms ---
  void add_room(const Block& room);
  // False if the owner has no such room, or an entry has it.
  bool give_back_room(std::uint64_t offset);
  // The bytes of a kept entry once more, certified anew, with those of its room behind them, as they were
  // logged. nullopt where the owner wrote over them meanwhile.
  std::optional<EntryCopy> read_again(const KeptEntry& entry) const;

  // Ring and rooms.
  std::uint64_t held_bytes() const;
  // Bytes of lent rooms by offset.
  std::map<std::uint64_t, std::uint64_t> rooms() const;

  // Of journals.h: a task moves the cursor; a FLUSH looks at the ring again and again.
  bool reading = false;
  bool awaited = false;

 private:
  struct Room {
    std::uint64_t bytes = 0;
    bool taken = false;  // by an entry
  };
  layout::StreamPlace place(std::uint64_t position) const { return {slot_, host_, position}; }
  std::uint64_t offset(std::uint64_t position) const { return ring_.offset + position % ring_.bytes; }
  std::uint64_t rest_of_lap(std::uint64_t position) const { return ring_.bytes - position % ring_.bytes; }
  std::optional<layout::JournalEntry> entry_at(std::uint64_t position, std::vector<std::byte>& bytes) const;
  void pass_pads();
  void free_front();
  void release(const Block& block);

  Region& region_;
  Block ring_;
  std::uint32_t slot_;
  layout::ServerId host_;
  fabric::PeerId owner_;
  std::string compute_id_;
  std::uint64_t& charged_bytes_;
  bool abandoned_ = false;
  bool closed_ = false;
  Status broken_;

  std::uint64_t certified_;
  std::uint32_t through_ = 0;
  std::uint64_t log_durable_ = 0;
  reactor::PooledDeque<KeptEntry> entries_;  // by position
  std::size_t durable_entries_ = 0;          // so many at the front
  std::map<std::uint64_t, Room> rooms_;      // by offset
  std::map<std::uint32_t, Verdict> verdicts_;
};

}  // namespace namdb::memory
