// The log of a memory server on disk: records are appended, made durable together, and read back after a
// restart (log_reader.h). The bytes: log_format.h.
//
// Group commit without a timer: one write is under way at a time. The records that come meanwhile go into
// the next, together, up to max_block_bytes. No sector that holds an acknowledged byte is ever written
// again.
//
// Room: a segment is made before its predecessor is begun. Its space is allocated and written once, so that a
// write never lacks room and never changes the file system's metadata. append() accepts no more than the
// existing segments can hold. If there is no room for another segment, on the disk or below max_bytes,
// append() fails with kDiskFull and everything else goes on. For that case reserve_bytes are kept for urgent
// records, and half of them for deciding records, which bring room. reclaim() gives room back, and segments
// are used again.
//
// Errors: a write or a sync that failed is never tried again (disk.h). The log has *failed* then: nothing
// more becomes durable, all calls say why, and on_failure is called once. The process is to end. All
// acknowledged records are there after its restart; others may be.
//
// Copies of the log at other hosts (memory/placement): each block goes to a watcher as soon as it is sealed,
// and flush() can be made to wait until other disks have it, too. A copy is a Log without append(): it takes
// those blocks as they are, each at its place.
//
// One executor's thread. Any number of coroutines may append and flush.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/reactor/executor.h"
#include "memory/log/disk.h"
#include "memory/log/log_format.h"
#include "memory/log/log_reader.h"

namespace namdb::memory {

struct LogOptions {
  // The segments' length in a new log; an old one keeps its own.
  std::uint64_t segment_bytes = 64U << 20;
  // The most bytes of all segments, future ones included; at least two segments.
  std::uint64_t max_bytes = 4ULL << 30;
  // The most bytes of one write.
  std::uint64_t max_block_bytes = 1U << 20;
  // Kept for urgent and deciding records, and half of it for deciding ones.
  std::uint64_t reserve_bytes = 1U << 20;
  // Called once, within a call or a task of the log, when it has failed. May be empty.
  std::function<void(const Status&)> on_failure;
};

struct LogCounters {
  std::uint64_t records = 0;
  std::uint64_t appended_bytes = 0;  // of records
  std::uint64_t writes = 0;          // durable writes of blocks
  std::uint64_t written_bytes = 0;   // in them
  std::uint64_t segments_made = 0;
  std::uint64_t segments_reused = 0;
};

class Log {
 public:
  // Deciding records are those behind which room comes back: however many urgent ones came before, there is
  // room for them.
  enum class Urgency : std::uint8_t { ordinary, urgent, deciding };
  struct Appended {
    LogPosition begin = 0;
    LogPosition end = 0;  // flush() up to here makes the record durable
  };

  // A new log in a folder that has none; the folder is made. Errors kDiskFull, kDiskFailed, configuration.
  static reactor::Task<Result<std::unique_ptr<Log>>> create(reactor::Executor& executor, Disk& disk,
                                                            std::string folder, LogIdentity identity,
                                                            LogOptions options);
  // Goes on where a LogReader has come to the end.
  static reactor::Task<Result<std::unique_ptr<Log>>> resume(reactor::Executor& executor, Disk& disk,
                                                            std::string folder, LogEnd end,
                                                            LogOptions options);
  // A new copy of a log in a folder that has none, which begins with the block behind `start`. That is the
  // first of its segment.
  static reactor::Task<Result<std::unique_ptr<Log>>> create_copy(reactor::Executor& executor, Disk& disk,
                                                                 std::string folder, LogIdentity identity,
                                                                 LogTail start, LogOptions options);
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  // Records of one caller that awaits each are in its order. Suspends only while a segment is made. The
  // bytes are copied. Errors: kDiskFull; limit_exceeded where the record never fits; the log's failure.
  reactor::Task<Result<Appended>> append(std::uint16_t kind, std::span<const std::byte> bytes,
                                         Urgency urgency = Urgency::ordinary) {
    return append(kind, bytes, {}, urgency);
  }
  // The same for a record that is two runs of bytes, one behind the other.
  reactor::Task<Result<Appended>> append(std::uint16_t kind, std::span<const std::byte> head,
                                         std::span<const std::byte> body, Urgency urgency);
  // Resumes when all up to there is durable, and confirmed, or the log has failed.
  reactor::Task<Status> flush(LogPosition upto);
  // Nothing before that position will be read again. One at a time.
  reactor::Task<Status> reclaim(LogPosition oldest);
  // The state of a log that makes nothing durable for a while.
  struct Pause {
    LogPosition position = 0;  // all before it is durable, and nothing behind
    std::uint64_t segment = 0;
    std::uint64_t offset = 0;  // in it, where the next block will begin
  };
  // Once this has resumed, no block is written until resume(), close() or `until_ns`. Records are accepted
  // meanwhile. One pause at a time; a second one takes its place. Error: the log's failure.
  reactor::Task<Result<Pause>> pause(std::uint64_t until_ns);
  void resume();
  // Without a break since pause() returned.
  bool paused() const { return executor_.now_ns() < paused_until_ns_; }
  // The durable end now.
  Pause end() const { return {durable_, current_.number, offset_}; }
  // The log goes on elsewhere: nothing more becomes durable here, and all who wait for that, or ask for it
  // later, get `why`. on_failure is not called. Error object_not_in_prerequisite_state, and nothing has
  // changed, unless the log is paused and its durable end is at that position.
  Status end_here(LogPosition position, Status why);

  // As end_here(), wherever it is, and paused or not.
  void end_now(Status why);

  // --- copies ---
  struct SealedBlock {
    LogTail before;
    LogTail behind;
    std::span<const std::byte> bytes;  // until the watcher returns
  };
  // Called within the log's tasks with each block, before it is written here; of a copy, when it is.
  void watch_blocks(std::function<void(const SealedBlock&)> watcher) { block_watcher_ = std::move(watcher); }
  // flush() returns only when other disks have all up to there, too. Without a call there are none.
  void set_confirmed(LogPosition confirmed);
  LogPosition confirmed() const { return confirmed_; }
  // The tails behind the last sealed blocks, ascending; the log's own tail is the last of them.
  const std::deque<LogTail>& tails() const { return tails_; }
  const LogTail& tail() const { return tails_.back(); }
  // Of a copy: the next block, durable when it returns. The bytes are pages (PageBuffer). One at a time.
  // Error corrupt_data, and nothing has changed: it is not a whole block that follows; the log's failure.
  reactor::Task<Status> write_sealed(std::span<const std::byte> block);
  // Of a copy: everything behind `to`, one of tails(), is gone for ever when this returns. A crash meanwhile
  // leaves some of the last blocks removed. Error object_not_in_prerequisite_state: there is no such tail.
  reactor::Task<Status> cut(LogTail to);
  // Of a copy, behind close(): the end at which resume() can go on without a reader.
  LogEnd take_end();
  const LogIdentity& identity() const { return identity_; }
  std::uint64_t segment_bytes() const { return segment_bytes_; }
  // The last segment whose first block begins at or before that position; nullopt: the log does not reach
  // back so far. Of a segment without a block, the tail's position.
  struct SegmentStart {
    std::uint64_t segment = 0;
    LogPosition position = 0;
  };
  std::optional<SegmentStart> segment_with(LogPosition position) const;

  // Called within the log's tasks when it has written a block, or has found no room for a segment.
  void watch(std::function<void()> watcher) { watcher_ = std::move(watcher); }

  // Waits for the operations under way. Records without a flush() are not written. An append() that waits for
  // a segment ends with admin_shutdown, as all later ones; flush() is not called any more. Before
  // destruction.
  reactor::Task<void> close();

  // True if no next segment could be made. The current one still takes records, but the caller has to refuse
  // new work that will append. Tries again to make a segment at most once a second.
  bool full();
  // The same without a try.
  bool out_of_room() const { return !full_.ok(); }

  LogPosition appended() const { return appended_; }
  LogPosition durable() const { return durable_; }
  const Status& failure() const { return failure_; }
  // The bytes of all segments.
  std::uint64_t disk_bytes() const;
  // The bytes of the segments with records that were not given back, up to the end.
  std::uint64_t used_bytes() const { return finished_.size() * segment_bytes_ + offset_; }
  std::uint64_t max_bytes() const { return options_.max_bytes; }
  const LogCounters& counters() const { return counters_; }

 private:
  Log(reactor::Executor& executor, Disk& disk, std::string folder, LogEnd end, LogOptions options);

  // Bytes of room that a record of this urgency leaves to more urgent records.
  std::uint64_t kept_bytes(Urgency urgency) const;
  // The most bytes of segments that so many bytes of records take when they are written together.
  std::uint64_t most_bytes(std::uint64_t payload_bytes) const;
  // The most bytes of segments that all accepted records may still take, and so many bytes more.
  std::uint64_t promised_bytes(std::uint64_t more_bytes) const;
  std::uint64_t room_bytes() const;
  void start_making();
  reactor::Task<void> make_segments();
  reactor::Task<Result<LogSegment>> make_segment(std::uint64_t number);
  reactor::Task<Status> fill(DiskFile* file);
  void start_writing();
  reactor::Task<void> write_blocks();
  reactor::Task<Status> write_block();
  bool reached(LogPosition upto) const { return durable_ >= upto && confirmed_ >= upto; }
  void next_segment();
  void keep_tail(const LogTail& tail);
  DiskFile* file_of(std::uint64_t segment);
  // Where the record ends that a block leaves open.
  void pass_records(LogPosition upto);
  // Whether no record from that position on begins in the oldest segment.
  bool oldest_is_free(LogPosition oldest) const;
  void fail(const Status& cause);

  reactor::Executor& executor_;
  Disk& disk_;
  std::string folder_;
  LogOptions options_;
  LogIdentity identity_;
  std::uint64_t segment_bytes_;

  std::deque<LogSegment> finished_;
  LogSegment current_;
  std::uint64_t offset_;  // in it
  std::deque<LogSegment> ahead_;
  std::unique_ptr<DiskFile> spare_;

  std::uint64_t sequence_;
  std::uint64_t previous_;
  LogPosition durable_;
  LogPosition appended_;
  LogPosition wanted_;          // some flush() waits for it
  LogPosition record_end_ = 0;  // of the last record that has begun to be written
  std::vector<std::byte> pending_;
  std::vector<std::byte> taken_;  // what is being written, from taken_at_ on
  std::size_t taken_at_ = 0;
  PageBuffer block_;

  std::uint64_t wanted_room_bytes_ = 0;
  Status full_;  // why the last segment could not be made; ok: it was made
  std::uint64_t retry_ns_ = 0;
  bool making_ = false;
  bool writing_ = false;
  bool block_under_way_ = false;
  std::uint64_t paused_until_ns_ = 0;
  bool closing_ = false;
  Status failure_;
  std::function<void()> watcher_;
  std::function<void(const SealedBlock&)> block_watcher_;
  LogPosition confirmed_ = ~LogPosition{0};
  std::deque<LogTail> tails_;
  LogCounters counters_;
  reactor::Event changed_;
  reactor::Gate gate_;
};

}  // namespace namdb::memory
