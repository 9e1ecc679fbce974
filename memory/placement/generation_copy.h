// Copies a generation of checkpoints from a primary, file by file, while the log is followed. The manifest
// comes first and has the lengths and checksums of the other files, which never change. If a file is gone at
// the primary, a newer generation has replaced this one, and the copy of this one ends.
//
// The manifest gets its name here only once the log here has reached the end that the primary's log had when
// all of the generation was durable there.
//
// One executor's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "common/base/error.h"
#include "common/placement/move_calls.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "memory/log/disk.h"
#include "memory/log/manifest.h"
#include "memory/placement/copy_folder.h"

namespace namdb::memory {

class GenerationCopy {
 public:
  // A call to the primary.
  using Call = std::function<reactor::Task<Result<std::string>>(std::uint16_t method, std::string request)>;

  // All outlive this.
  GenerationCopy(reactor::Executor& executor, CopyFolder& folder, std::uint32_t piece_bytes, Call call)
      : executor_(executor),
        folder_(folder),
        piece_bytes_(piece_bytes),
        call_(std::move(call)),
        changed_(executor) {}
  GenerationCopy(const GenerationCopy&) = delete;
  GenerationCopy& operator=(const GenerationCopy&) = delete;

  // Gets the newest manifest: where its redo begins. Error: none was got.
  reactor::Task<Result<LogPosition>> look();
  // A newer manifest is known, and its generation is not copied yet.
  bool known() const { return manifest_.has_value(); }
  // Copies the newest one, or the one that look() has found, in a task of its own. `ended` is called in it.
  void start(std::function<void(const Status&)> ended);
  bool running() const { return running_; }
  // Resumes when none runs.
  reactor::Task<void> stop();
  // Behind stop(), before destruction.
  reactor::Task<void> close() { co_await gate_.close(); }
  // There is more of the log.
  void log_has_grown() { changed_.notify_all(); }
  // The bytes of files that were copied.
  std::uint64_t copied_bytes() const { return copied_bytes_; }
  std::uint64_t total_bytes() const { return total_bytes_; }

 private:
  reactor::Task<void> run(std::function<void(const Status&)> ended);
  reactor::Task<Status> copy();
  reactor::Task<Result<placement::FilesReply>> files(std::string after);
  reactor::Task<Status> read(std::string name, std::uint64_t length, PageBuffer* file);

  reactor::Executor& executor_;
  CopyFolder& folder_;
  std::uint32_t piece_bytes_;
  Call call_;
  std::optional<Manifest> manifest_;
  PageBuffer manifest_file_;
  std::uint64_t copied_bytes_ = 0;
  std::uint64_t total_bytes_ = 0;
  bool running_ = false;
  bool stopping_ = false;
  reactor::Event changed_;
  reactor::Gate gate_;
};

}  // namespace namdb::memory
