// Checkpoints of a running memory server: a task that makes one when it is time
// (memory/checkpoint/sweeper.h), and gives back the log behind it.
//
//   when                                                         pace
//   a call asks for one (CHECKPOINT); one under way is not spread  rate_bytes a second
//   a fast call asks for one; one under way hurries, too           as fast as the disk is
//   a quarter of the log's bound was written since the last began  spread, rate_bytes a second at most
//   interval_ns since the last began, and the log has grown        spread, rate_bytes a second at most
//   the log is three quarters full                                 as fast as the disk is
//
// A quarter: the log is cut where redo of the *older* generation begins, so just before the cut it has all of
// two intervals and of a sweep. For the same reason a full log may take two checkpoints.
//
// Spread: no call waits for such a checkpoint, so it takes four fifths of the time until the next one is due.
// At each moment it has done the share that the clock and the log ask for. Its writes then take little of a
// disk that commits wait for, too.
//
// One at a time. A call waits for the end of one that began after the call; calls that wait together share
// it.
//
// Holds: a backup copies files while the server runs. Until its hold ends no checkpoint begins, so that
// chunks and log stay as they are. A hold is for a bounded time and is renewed; when the log gets short of
// room, all holds end.
//
// Errors: a full disk abandons the checkpoint. It is reported once (Options::notice), and the next try comes
// after retry_ns; until then the log keeps all its records. Any other error is final, like an error of the
// log: on_failure is called, no further checkpoint is made, and the process is to end.
//
// A record that stays half-installed throughout a checkpoint holds back the position where redo begins, and
// so the end of the log that can be reclaimed. STATUS names the record, and so does a line for people, at
// most one in stuck_notice_ns (Options::notice).
//
// One executor's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "memory/checkpoint/sweeper.h"
#include "memory/log/checkpoint_store.h"
#include "memory/log/log.h"
#include "memory/opening/disk_chunk_store.h"
#include "memory/state/checkpoint_service.h"
#include "memory/state/server_state.h"

namespace namdb::memory {

struct CheckpointOptions {
  std::uint64_t interval_ns = 300 * kSecond_ns;  // 0: none by time
  std::uint64_t rate_bytes = 128U << 20;         // of chunks, a second; 0: as fast as the disk is
  std::uint64_t retry_ns = 10 * kSecond_ns;      // after one that was abandoned
  std::uint64_t stuck_notice_ns = 600 * kSecond_ns;
  std::string folder;  // of the database, for people
  // Called once, within a task, after an error that is final. May be empty.
  std::function<void(const Status&)> on_failure;
};

class Checkpoints final : public CheckpointService {
 public:
  // All outlive this. The log has the server's journals, and `sweep_log` is that log.
  Checkpoints(ServerState& server, Log& log, CheckpointStore& store, SweepLog& sweep_log,
              CheckpointOptions options);
  ~Checkpoints() override;
  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;

  // Once, when the server has opened: calls are answered, and checkpoints are made.
  void start();
  // From now on, one that is under way included.
  void set_pace(std::uint64_t interval_ns, std::uint64_t rate_bytes);
  // A checkpoint that is under way is abandoned; calls that wait end. Behind MemoryServer::stop(), before
  // the log's close().
  reactor::Task<void> close();

  reactor::Task<Status> make(std::uint64_t hold_ns, Pace pace, Gone gone,
                             control::CheckpointReply* reply) override;
  Status hold(std::uint64_t hold, std::uint64_t hold_ns) override;
  reactor::Task<Status> pause(std::uint64_t pause_ns, control::CheckpointReply* reply) override;
  void resume(control::CheckpointReply* reply) override;
  void describe(control::DiskStatus& disk) const override;

  // Finished by this process.
  std::uint64_t finished() const { return finished_; }

 private:
  void describe_checkpoint(control::CheckpointStatus& checkpoint) const;
  // Bytes that were written to the log since the last checkpoint began, by any process.
  std::uint64_t written_since_bytes() const;
  bool short_of_room() const;
  // True if another checkpoint would give back more of the log.
  bool gives_back() const;
  bool held() const;
  bool due();
  // The share of a checkpoint's extents that is to be done by now; 1 or more: no pace.
  double wanted_share() const;
  // The pace does not count now.
  bool hurried() const { return asked_fast_ > answered_ || short_of_room(); }
  // The next time, in ns of the executor's clock, at which a checkpoint may be due by itself.
  std::uint64_t next_look_ns() const;
  reactor::Task<void> run();
  reactor::Task<void> make_one();
  // After an error.
  void abandoned(const Status& status);
  // After a checkpoint with records that were half-installed throughout.
  void tell_stuck();

  ServerState& server_;
  reactor::Executor& executor_;
  Log& log_;
  CheckpointStore& store_;
  CheckpointOptions options_;
  DiskChunkStore chunks_;
  Sweeper sweeper_;

  // The last one that did not fail.
  LogPosition begun_position_ = 0;
  std::uint64_t begun_ns_ = 0;
  std::uint64_t begun_written_bytes_ = 0;
  std::uint64_t earlier_bytes_ = 0;  // in the log when the process started; 0 once one was made
  std::uint64_t ended_ns_ = 0;
  std::uint64_t duration_ns_ = 0;
  std::uint64_t written_bytes_ = 0;
  std::uint64_t finished_ = 0;
  std::uint64_t kept_extents_ = 0;  // SweepProgress
  std::vector<StuckRecord> stuck_;
  std::uint64_t told_stuck_ns_ = 0;  // 0: not yet

  bool running_ = false;
  std::uint64_t started_ns_ = 0;             // of it
  std::uint64_t started_written_bytes_ = 0;  // of the log's counter, then
  std::uint64_t retry_ns_ = 0;               // none by itself before that
  bool told_full_ = false;                   // since the last that was made
  Status error_;                             // why the last was abandoned

  // Calls are numbered; a checkpoint answers those that came before it began.
  std::uint64_t asked_ = 0;
  std::uint64_t asked_fast_ = 0;  // the last of them that has no time
  std::uint64_t answered_ = 0;
  // Holds by the call's number: of waiting calls for how long, of answered calls until when.
  std::map<std::uint64_t, std::uint64_t> wanted_holds_;
  std::map<std::uint64_t, std::uint64_t> holds_;

  bool failed_ = false;
  reactor::Event look_;
  reactor::Event ended_;
  reactor::Gate gate_;
};

}  // namespace namdb::memory
