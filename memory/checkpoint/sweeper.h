// The sweep writes a checkpoint of a region's records while transactions run. It stops no transaction, takes
// no lock, pins no version, and holds no table over a suspension.
//
// It goes over the extents in which records changed since the last sweep began (ChangedExtents), and over
// those that entries named then which were not finished. It reads place after place. There it finds
//   a body that certifies   and keeps it. An install follows the completion of its log everywhere, so every
//                           body in the region is of a committed transaction: nothing is ever undone.
//   an empty reserved place whose birth may be on the way: its last grant less one
//   a free place            its last grant: lives up to there are over
//   a reclaimed tombstone   likewise: it only waits until its memory may be used again
//   anything else           something is being installed. It is read again after a yield, up to 64 times;
//                           then its extent comes again, behind all others.
// The bodies are of different moments. Redo of the log, from redo_start() at the sweep's begin on, makes
// them one state: it applies what is newer than a body or a life, and nothing else, in any order. The
// manifest counts once the log has the entries of all bodies.
//
// An extent keeps its older chunk if one of its records stays half-installed throughout the sweep (a compute
// server died in the middle of an install, and the decider has not decided yet). Then redo begins where the
// older generation's does, and the log grows: progress() names the record.
//
// The manifest's state names all blocks as they were behind the last chunk: a section of a chunk whose block
// is not among them, or was taken anew, is void. Blocks that were taken later are in the log (GrantLog).
//
// Costs: no turn of the executor copies more than turn_bytes and a record. Pace: rate_bytes of chunks a
// second, and of the extents no more than wanted_share. Memory: one chunk. One executor's thread; one run()
// at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/layout/global_address.h"
#include "common/layout/record.h"
#include "common/layout/stamp.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "memory/checkpoint/chunk.h"
#include "memory/checkpoint/chunk_store.h"
#include "memory/region/region.h"
#include "memory/region/tables.h"
#include "proto/control.pb.h"

namespace namdb::memory {

struct SweepOptions {
  std::uint64_t rate_bytes = 0;  // of chunks, a second; 0: as fast as the disk is
  std::function<bool()> hurry;   // true: the pace does not count now. May be empty
  // The share of the extents that is to be done now: a sweep that has done more waits. May be empty: 1.
  std::function<double()> wanted_share;
  std::uint64_t turn_bytes = 128U << 10;          // about 0.1 ms
  std::uint64_t again_ns = 10 * kMillisecond_ns;  // before extents with half-installed records come again
  // Adds what else a restart needs. Called once a checkpoint, before the log is flushed. May be empty.
  std::function<void(control::CheckpointState&)> add_state;
};

// A record that was half-installed throughout a sweep.
struct StuckRecord {
  std::string table;
  layout::GlobalAddress address;
  layout::HeaderWord header;  // its lock's holder, where it is locked
};

struct SweepProgress {
  std::uint64_t extents = 0;  // to be read
  std::uint64_t done_extents = 0;
  std::uint64_t chunk_bytes = 0;  // written
  std::uint64_t bodies = 0;
  std::uint64_t rereads = 0;       // of half-installed records
  std::uint64_t kept_extents = 0;  // whose older chunk stays
  std::vector<StuckRecord> stuck;  // the first of each of these, of some of them
};

class Sweeper {
 public:
  // How often a torn body is read again, and how often its extent is swept again.
  static constexpr std::uint32_t kRereads = 64;
  static constexpr std::uint32_t kRounds = 8;
  // The most entries of progress().stuck.
  static constexpr std::size_t kStuckNamed = 8;

  // All outlive this.
  Sweeper(reactor::Executor& executor, Region& region, const Tables& tables, ChunkStore& store, SweepLog& log,
          SweepOptions options)
      : executor_(executor),
        region_(region),
        tables_(tables),
        store_(store),
        log_(log),
        options_(std::move(options)),
        woken_(executor) {}

  // Writes one checkpoint. After an error the generation is abandoned, and the next run() does its work.
  // Errors: the store's and the log's; admin_shutdown after stop().
  reactor::Task<Status> run();
  // A run() that is under way ends soon, and every later one at once.
  void stop() {
    stopping_ = true;
    woken_.notify_all();
  }
  // A run() that waits for its pace asks `hurry` again.
  void look_again() { woken_.notify_all(); }
  // Bytes of chunks a second; 0: as fast as the disk is. Also of a run() that is under way.
  void set_rate(std::uint64_t rate_bytes) {
    options_.rate_bytes = rate_bytes;
    woken_.notify_all();
  }
  // The progress of the run that is under way, or was last.
  const SweepProgress& progress() const { return progress_; }

 private:
  struct Cursor {
    std::uint32_t table = 0;
    std::uint64_t offset = 0;
    std::uint64_t end = 0;
    std::uint32_t rereads = 0;  // of the place there
  };
  enum class Step : std::uint8_t { done, more, torn };
  reactor::Task<Status> sweep(std::vector<std::uint64_t>* extents);
  // Sets `torn` and writes nothing if a record stayed half-installed throughout; progress() then names it.
  reactor::Task<Status> write_extent(std::uint64_t extent, bool* torn);
  // Adds places from the cursor on, for one turn.
  Step step(Cursor& cursor, ChunkWriter& chunk);
  // False if an install at the place is under way.
  bool add_place(const SlabAllocator::Place& place, const layout::RecordLayout& shape, ChunkWriter& chunk);
  bool hurried() const { return options_.hurry && options_.hurry(); }
  // The sweep has done more than wanted_share asks for now.
  bool ahead() const;
  // Until the next turn.
  reactor::Task<void> pause();
  // Until `when_ns` or stop(). A wait for the pace alone (`for_pace`) also ends once `hurry` says true.
  reactor::Task<void> wait_until(std::uint64_t when_ns, bool for_pace);
  void note_stuck(const Table& table, const SlabAllocator::Place& place);
  std::vector<std::byte> state() const;

  reactor::Executor& executor_;
  Region& region_;
  const Tables& tables_;
  ChunkStore& store_;
  SweepLog& log_;
  SweepOptions options_;
  SweepProgress progress_;
  std::vector<std::byte> record_;  // header word and body of one
  std::uint64_t turn_bytes_ = 0;   // since the last pause
  std::uint64_t next_turn_ns_ = 0;
  bool stopping_ = false;
  reactor::Event woken_;
};

}  // namespace namdb::memory
