// Keeps a copy's region in memory (copy_image.h) while the copy follows: the newest checkpoint once, and then
// the log as it comes, each record as redo of a restart applies it. So when the copy takes over, the end of
// the log alone is left to do.
//
// Without an image the folder opens as after a restart. After an error here, or if the applied end of the log
// differs from the primary's, the image is dropped, and a new one begins with the newest checkpoint.
//
// It shares the copy's thread with the follower, on whose answers commits wait. So it works for less than a
// millisecond at a time, except on a long record and while it makes or drops an image.
//
// One executor's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "memory/log/block_records.h"
#include "memory/log/disk.h"
#include "memory/log/log.h"
#include "memory/placement/copy_image.h"
#include "memory/placement/log_feed.h"

namespace namdb::memory {

class CopyApplier {
 public:
  // An empty one. Error: this process can have none.
  using MakeImage = std::function<Result<std::unique_ptr<CopyImage>>()>;
  // Between two attempts.
  static constexpr std::uint64_t kRetry_ns = 2 * kSecond_ns;

  // The bytes of the log between two calls of forget_settled().
  static constexpr std::uint64_t kSettle_bytes = 16U << 20;

  // `folder`: the copy's. The disk outlives this. `make` may be empty: nothing is applied then. `notice` gets
  // lines for people.
  CopyApplier(reactor::Executor& executor, Disk& disk, std::string folder, MakeImage make,
              std::function<void(const std::string&)> notice, std::uint64_t settle_bytes = kSettle_bytes);
  CopyApplier(const CopyApplier&) = delete;
  CopyApplier& operator=(const CopyApplier&) = delete;

  // The folder is whole, and that is its log, which stays until stop() has returned.
  void start(Log& log);
  // Resumes when nothing refers to the log any more. The image stays, if it is loaded. start() goes on.
  reactor::Task<void> stop();
  // The log is not written any more. Resumes when all of it has been applied, when the image is of no use, or
  // when give_up() was called.
  reactor::Task<void> finish();
  // From now on finish() waits for nothing.
  void give_up();
  // The image has all of that log, which is that of start().
  bool has_all(const Log& log) const;
  // Behind stop(): the log was cut off there, or there is none any more (0).
  void cut(LogPosition position);
  // Behind stop(): the image, with what of the log is in it; null where there is none.
  std::unique_ptr<CopyImage> take();
  // Before destruction.
  reactor::Task<void> close();

  // The log position up to which records are applied; 0: there is no image yet.
  LogPosition applied() const { return loaded_ ? image_->applied() : 0; }

 private:
  reactor::Task<void> run();
  // Until stop(), or an error, behind which the image has no use.
  reactor::Task<Status> work();
  reactor::Task<Status> load();
  reactor::Task<Status> apply(LogFeed::Blocks blocks);
  reactor::Task<Status> forget_settled();
  void drop();

  reactor::Executor& executor_;
  Disk& disk_;
  std::string folder_;
  MakeImage make_;
  std::function<void(const std::string&)> notice_;
  std::uint64_t settle_bytes_;

  std::unique_ptr<CopyImage> image_;
  bool loaded_ = false;
  LogPosition known_ = 0;         // the end of the log when the image was loaded
  LogPosition next_settled_ = 0;  // forget_settled() is due there
  std::optional<LogTail> tail_;   // behind the last block that was taken; none: from applied() on
  BlockRecords records_;
  Log* log_ = nullptr;
  std::unique_ptr<LogFeed> feed_;
  bool running_ = false;
  bool stopping_ = false;
  bool gives_up_ = false;
  bool at_end_ = false;  // all of the log that was there has been applied
  std::string told_;
  reactor::Event changed_;
  reactor::Gate gate_;
};

}  // namespace namdb::memory
