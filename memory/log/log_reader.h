// Reads a log back, in order, from a position on to its end, and finds out where that is. In one pass:
//
//   LogReader reader(disk, folder);
//   Status status = co_await reader.open(from, owner);
//   while (status.ok()) {
//     auto record = co_await reader.next();          // an error: damage
//     if (!record.ok() || !*record) break;
//     ...
//   }
//   auto log = co_await Log::resume(executor, disk, folder, reader.take_end(), options);
//
// When a process is killed, its last block may be written, never acknowledged, and lie in the disk's volatile
// cache; the name of its last segment, too. So open() makes all names and blocks durable before it reads any:
// no caller acts on a record, or appends to a segment, that a later loss of power takes away.
//
// The disk reads the next part of the log while the caller works on the records of this one.
//
// The first block that is not whole ends the log, if nothing whole is behind it (log_format.h). A damaged
// block at the very end therefore looks like one that was never finished. Everything else is damage and an
// error: corrupt_data, with the file, the offset, and what is lost; skip_damage() goes on behind it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/reactor/task.h"
#include "memory/log/block_records.h"
#include "memory/log/disk.h"
#include "memory/log/log_format.h"
#include "memory/log/read_ahead.h"

namespace namdb::memory {

struct LogSegment {
  std::uint64_t number = 0;
  std::optional<LogPosition> first_position;  // of its first block; none: it has no block, or that is damaged
  std::unique_ptr<DiskFile> file;
};

// Where a log goes on.
struct LogEnd {
  LogIdentity identity;
  std::uint64_t segment_bytes = 0;
  // Ascending, those that were not read included. Those behind `current` hold nothing yet.
  std::vector<LogSegment> segments;
  std::size_t current = 0;     // index of the segment where the next block goes
  std::uint64_t offset = 0;    // there; segment_bytes: it is full
  std::uint64_t sequence = 0;  // of the next block
  std::uint64_t previous = 0;  // checksum of the last
  LogPosition position = 0;
  std::deque<LogTail> tails;  // the last ones that were read, the end among them
};

struct LogDamage {
  std::string file;
  std::uint64_t offset = 0;
  std::string what;
  // The stream's bytes between these are lost. They are equal where only the order of blocks is wrong.
  LogPosition lost_from = 0;
  LogPosition lost_to = 0;
};

class LogReader {
 public:
  static constexpr std::uint64_t kWindow_bytes = 2U << 20;

  // The disk outlives the reader, which has a few windows of that length (read_ahead.h).
  LogReader(Disk& disk, std::string folder, std::uint64_t window_bytes = kWindow_bytes)
      : disk_(disk), folder_(std::move(folder)), ahead_(disk, window_bytes) {}

  // Once. `from`: 0, or the beginning of a record. Without an owner any log will do. Errors: corrupt_data,
  // configuration (no log, another owner's, a newer format), kDiskFailed.
  reactor::Task<Status> open(LogPosition from, std::optional<LogOwner> owner);
  // The next record that begins at `from` or behind; nullopt at the end of the log.
  reactor::Task<Result<std::optional<LogRecord>>> next();
  // Waits for what is being read ahead. Before the destruction of a reader that is left in the middle: no
  // read is under way before the first call of next(), nor after one that came to the end or to an error.
  reactor::Task<void> close() { return ahead_.settle(); }

  // After corrupt_data from next().
  const std::optional<LogDamage>& damage() const { return damage_; }
  // Goes on behind the damage.
  void skip_damage();

  const LogIdentity& identity() const { return identity_; }
  std::uint64_t segment_bytes() const { return segment_bytes_; }
  // After open(): an upper bound of the log's end.
  LogPosition last_position() const;
  std::uint64_t blocks() const { return blocks_; }
  // At the end of the log: an unfinished block stands there.
  bool torn() const { return torn_; }
  // Behind the last block that was read.
  LogPosition position() const { return records_.position(); }
  // Once next() has come to the end: moves the segments out.
  LogEnd take_end();

 private:
  struct Spot {
    std::size_t index = 0;  // of the segment
    std::uint64_t offset = 0;
  };
  struct Later {
    Spot spot;
    LogPosition position = 0;
  };
  std::string path_of(const LogSegment& segment) const;
  std::uint64_t place(const Spot& spot) const {
    return segments_[spot.index].number * segment_bytes_ + spot.offset;
  }
  reactor::Task<Status> open_segment(std::string name, std::uint64_t number, std::optional<LogOwner> owner);
  Status check_header(const std::string& path, std::uint64_t number, const SegmentHeader& header,
                      std::uint64_t file_bytes, const std::optional<LogOwner>& owner);
  reactor::Task<Status> find_first_position(LogSegment* segment);
  Status choose_start();
  std::uint64_t block_bytes(const Spot& spot, std::span<const std::byte> page) const {
    return block_bytes_at(identity_.log_id, place(spot), page, segment_bytes_ - spot.offset);
  }
  // The whole block at the spot, if there is one.
  reactor::Task<Result<std::optional<CertifiedBlock>>> block_at(Spot spot);
  reactor::Task<Result<std::optional<Later>>> find_later(Spot behind);
  // False at the end of the log.
  reactor::Task<Result<bool>> read_block();
  // Takes the block's payload; an error where it does not follow what was read.
  Status accept(const CertifiedBlock& block);
  Status damaged(const Spot& spot, std::string what, LogPosition lost_to, Spot resume);

  Disk& disk_;
  std::string folder_;
  LogIdentity identity_;
  std::uint64_t segment_bytes_ = 0;
  std::vector<LogSegment> segments_;
  LogPosition from_ = 0;

  ReadAhead ahead_;

  Spot spot_;  // of the next block
  BlockRecords records_;
  std::uint64_t blocks_ = 0;
  std::deque<LogTail> tails_;
  bool ended_ = false;
  bool torn_ = false;

  std::optional<LogDamage> damage_;
  Spot resume_;
};

}  // namespace namdb::memory
