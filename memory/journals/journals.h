// The journals of all slots on this host. Entries that compute servers log here go into the log on disk, and
// their places are freed.
//
//   ring of slot 20   --.                                     .--> FLUSH of slot 20 is answered
//   ring of slot 21   --+--> read_on: certify --> LogSink ----+--> FLUSH of slot 21
//   ring of slot 22   --'                    one flush        '-- (slot 22 did not ask yet)
//
// Rings are read on demand: by FLUSH, at a slot's end, and for the decider. No task polls an idle ring.
//
// Group commit (DeWitt et al., SIGMOD 1984) without a timer: one flush of the log is under way at a time. The
// FLUSHes that come meanwhile wait for it and share the next. Before each, the entries that are complete in
// any ring are taken along: their FLUSHes are about to come.
//
// FLUSH certifies entries by itself, since no order holds between it and the WRITEs (fabric.h, 5). While an
// entry is missing or incomplete it reads again after yields, then every kReread_ns, for kPatience_ns at
// most: the transport reports a dead peer only after its calls have ended. Then it answers what is durable so
// far. It ends at once when its peer is fenced. A stream that lacks an entry holds up no other.
//
// Without a LogSink (level `memory`) an entry counts as durable once it is complete in the ring.
//
// An entry that this host does not take (entry_check.h), or that has no room of its own, breaks its stream.
// That entry and all behind it count as never written, FLUSH says why, and the decider undoes them. A line
// for people names the owner.
//
// A stream ends with CLOSE_JOURNAL, by a decider's close(), or by settle() once its compute server has ended
// with all slots closed. Until then the stream of a lost channel stays: its entries are to be decided.
//
// Errors of the sink: where append() fails the entry stays in its ring, and the next FLUSH tries again. A
// flush() that fails is final, for all (log_sink.h). If the log has no room for entries that a departed owner
// left in its ring, the stream ends there: no client was told of these commits, and only decisions bring
// room.
//
// On the executor's thread. Streams are shared with the tasks that are at work on them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/calls/journal_calls.h"
#include "common/fabric/fabric.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "memory/journals/log_sink.h"
#include "memory/journals/stream.h"
#include "memory/options.h"
#include "memory/peers/peers.h"
#include "memory/region/changed_extents.h"
#include "memory/region/region.h"

namespace namdb::memory {

class EntryCheck;

class Journals {
 public:
  static constexpr std::uint64_t kReread_ns = 50 * kMicrosecond_ns;
  static constexpr std::uint64_t kPatience_ns = 10 * kMillisecond_ns;

  // All outlive this.
  Journals(reactor::Executor& executor, Region& region, const Options& options, const Peers& peers);
  Journals(const Journals&) = delete;
  Journals& operator=(const Journals&) = delete;

  // Before the first call; the sink outlives this. Without one the level is `memory`.
  void log_to(LogSink& sink) { sink_ = &sink; }
  bool logged() const { return sink_ != nullptr; }
  // Likewise. Without one all entries are taken.
  void check_entries(const EntryCheck& check) { check_ = &check; }
  // Waiting calls end.
  void stop();

  // --- the owner's calls (journal_calls.h) ---
  // Errors limit_exceeded, out_of_memory; undefined_object where another channel has that stream.
  reactor::Task<Result<calls::OpenJournalReply>> open(fabric::PeerId peer, std::uint32_t slot);
  // Errors undefined_object, protocol_violation, fenced; the sink's.
  reactor::Task<Result<calls::FlushReply>> flush(fabric::PeerId peer, calls::FlushRequest request);
  // Errors undefined_object; protocol_violation where an entry's counter is above `through`; the sink's.
  reactor::Task<Status> close(fabric::PeerId peer, std::uint32_t slot, std::uint32_t through);
  // Of a room: the option's, and what the log can hold. Always the same once log_to() was called.
  std::uint64_t max_room_bytes() const;
  // Room in the region for the items of an entry that are too long for the ring; its offset. The room is free
  // again with the entry's place. Errors limit_exceeded, out_of_memory, undefined_object.
  Result<std::uint64_t> lend_room(fabric::PeerId peer, std::uint32_t slot, std::uint64_t length_bytes);
  // Gives back the room of an entry that was never written. Error undefined_object: there is no such room.
  Status give_back_room(fabric::PeerId peer, std::uint32_t slot, std::uint64_t offset);
  // The owner's two-sided stage has written to the region.
  void stage_ended() { arrived_.notify_all(); }

  // --- the ends of peers ---
  // The peer's channel is destroyed and drained.
  void disconnected(fabric::PeerId peer);
  // The owner has left the slot: its WRITEs have ended, and it posts no more. Its calls for the slot fail
  // now.
  void left(std::uint32_t slot);
  bool holds(const std::string& compute_id) const;
  // These compute servers have ended, and all their slots are closed.
  void settle(const std::set<std::string>& ended);

  // --- for the decider, and for redo ---
  // Null for a slot without a stream here. Until the next suspension.
  const JournalStream* find(std::uint32_t slot) const;
  // All that is complete in the stream of an owner whose channel is destroyed is in the log, durably: the
  // whole truth of what this host has.
  reactor::Task<Status> read_rest(std::uint32_t slot);
  void learn_through(std::uint32_t slot, std::uint32_t counter);
  // A verdict for that commit is recorded: its place is free, once durable.
  void decide(std::uint32_t slot, std::uint32_t counter, Verdict verdict);
  // The decider has recorded verdicts for all entries, and the owner is gone. The slot's journal ends here.
  reactor::Task<Status> close_decided(std::uint32_t slot, std::uint32_t final_counter);
  // How a slot's journal ended here: all counters up to `through` were finished, or, by close_decided(),
  // decided. nullopt where it has not, or never was. For ever, 8 bytes each: the decider may ask again.
  struct Ended {
    std::uint32_t through = 0;
    bool decided = false;
  };
  std::optional<Ended> ended(std::uint32_t slot) const;
  // Notes a journal that ended before this process began.
  void restore_ended(std::uint32_t slot, Ended how) { ended_[slot] = how; }
  // The ends of all ended journals, by slot.
  const std::map<std::uint32_t, Ended>& all_ended() const { return ended_; }
  // Appends a record and makes it durable, with what else there is to flush. Without a sink: nothing.
  reactor::Task<Status> record(RecordKind kind, std::span<const std::byte> bytes);
  // The record lies in the log before every entry that is read from now on, and is durable with the next of
  // them. Does not suspend. Without a sink: nothing.
  void note(RecordKind kind, std::vector<std::byte> bytes);
  // All that was noted is durable.
  reactor::Task<Status> flush_noted();
  // The log position of the oldest entry that is not known to be decided: redo begins there at the latest.
  // ~0: there is no such entry.
  std::uint64_t redo_start() const;
  // Marks the extents of the records named by entries that are not known to be decided. An entry marks them
  // in Region::changed() when it goes into the log.
  void mark_undecided(ChangedExtents& changed) const;

  // Memory of the region: rings and rooms; and those whose owners are gone.
  std::uint64_t bytes() const { return charged_bytes_; }
  std::uint64_t abandoned_bytes() const;
  // The streams, by slot.
  const std::map<std::uint32_t, std::shared_ptr<JournalStream>>& all() const { return streams_; }
  // Entries that this host did not take, by which streams broke.
  std::uint64_t refused() const { return refused_; }

 private:
  using StreamPointer = std::shared_ptr<JournalStream>;
  static Status no_stream(std::uint32_t slot);
  StreamPointer find_of(fabric::PeerId peer, std::uint32_t slot) const;
  bool gone(fabric::PeerId peer) const;
  std::size_t streams_of(fabric::PeerId peer) const;
  Status may_open(fabric::PeerId peer, std::uint32_t slot) const;
  // Appends what is complete from the cursor on, after the task that does so already.
  reactor::Task<Status> read_on(StreamPointer stream);
  reactor::Task<Status> append_entries(JournalStream* stream);
  // Behind the entry's bytes, where its items then point.
  reactor::Task<bool> copy_room(JournalStream* stream, layout::JournalEntry* entry,
                                std::vector<std::byte>* bytes);
  // False, and the stream is broken.
  bool takes(JournalStream* stream, const layout::JournalEntry& entry);
  // Tells of a stream that has just broken.
  void tell_broken(const JournalStream& stream);
  // The extents of the records that the entry names, each once.
  ExtentNumbers extents_of(const layout::JournalEntry& entry) const;
  // As read_on(). If the log has no room, tries once more after the log has written what it holds.
  reactor::Task<Status> read_and_make_room(StreamPointer stream);
  // Until everything before the position is certified, or patience ends.
  reactor::Task<Status> await_entries(StreamPointer stream, std::uint64_t position);
  reactor::Task<void> read_all();
  reactor::Task<Status> append_noted();
  // An entry is behind all that was noted.
  reactor::Task<Result<LogSink::Appended>> append(RecordKind kind, std::span<const std::byte> head,
                                                  std::span<const std::byte> bytes);
  reactor::Task<Status> make_durable(std::uint64_t log_position);
  // All entries of the stream are decided, by `through`: records that and ends the stream.
  reactor::Task<Status> end(StreamPointer stream, Ended how);

  reactor::Executor& executor_;
  Region& region_;
  const Options& options_;
  const Peers& peers_;
  LogSink* sink_ = nullptr;
  const EntryCheck* check_ = nullptr;
  std::uint64_t refused_ = 0;
  std::uint64_t charged_bytes_ = 0;
  std::map<std::uint32_t, StreamPointer> streams_;  // by slot
  std::map<std::uint32_t, Ended> ended_;            // by slot
  std::uint64_t appended_ = 0;                      // positions of the log
  std::uint64_t durable_ = 0;
  struct Noted {
    RecordKind kind;
    std::vector<std::byte> bytes;
  };
  std::deque<Noted> noted_;
  bool appending_noted_ = false;
  bool flushing_ = false;
  bool copying_room_ = false;
  bool stopping_ = false;
  Status failure_;          // of the sink's flush
  reactor::Event arrived_;  // the ring of some stream may have more
  reactor::Event read_;     // a reader of a stream has ended, or a stream has
  reactor::Event flushed_;
  reactor::Event noted_appended_;
  reactor::Event copied_;
};

}  // namespace namdb::memory
