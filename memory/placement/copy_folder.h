// The folder of a copy: a log that is another host's, block by block, and its checkpoints, file by file. At
// each moment, once it is whole, it opens like the folder of a process that was killed.
//
// A generation of checkpoints comes beside the ones that are there: chunks first, and when all are durable
// its manifest, under its name in one step. The two newest are kept, and the log from where redo of
// either begins.
//
// One executor's thread. One call at a time, except write(), which goes on beside those about checkpoints.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "memory/log/disk.h"
#include "memory/log/log.h"
#include "memory/log/manifest.h"

namespace namdb::memory {

class CopyFolder {
 public:
  // `folder` is there, and has, or gets, `log` and `checkpoint`. The disk outlives this.
  CopyFolder(reactor::Executor& executor, Disk& disk, std::string folder)
      : executor_(executor), disk_(disk), folder_(std::move(folder)) {}
  CopyFolder(const CopyFolder&) = delete;
  CopyFolder& operator=(const CopyFolder&) = delete;

  // Takes over the folder of a former process. Errors: the disk's; any other: the folder is of no use, call
  // clear().
  reactor::Task<Status> open(LogOwner owner);
  // Removes all.
  reactor::Task<Status> clear();
  // Before destruction, and before the folder is opened as a region's.
  reactor::Task<void> close();
  // Instead of close(): where the log goes on; nullopt: it has failed.
  reactor::Task<std::optional<LogEnd>> end_log();

  // Null: there is none yet.
  Log* log() { return log_.get(); }
  const Log* log() const { return log_.get(); }
  // Error disk_full, disk_failed.
  reactor::Task<Status> begin_log(LogIdentity identity, std::uint64_t segment_bytes, LogTail begin);
  // Whole blocks, one behind the other, durable when it returns. Error corrupt_data: they do not follow.
  reactor::Task<Status> write(std::span<const char> blocks);

  // The newest that is whole here; 0: none.
  std::uint64_t generation() const { return kept_.empty() ? 0 : kept_.back().generation; }
  // The log position from which a restart needs the log.
  LogPosition redo_from() const { return kept_.empty() ? 0 : kept_.back().redo_from; }
  bool has_chunk(const ChunkRef& chunk) const;
  // The whole file of a chunk. Error corrupt_data: it is another one, or has the name of one that is kept.
  reactor::Task<Status> put_chunk(std::uint64_t log_id, ChunkRef chunk, const PageBuffer* file);
  // All its chunks were put. The log has all that it needs.
  reactor::Task<Status> put_generation(Manifest manifest, const PageBuffer* file);
  // Gives back the part of the log that no generation needs any more.
  reactor::Task<Status> trim_log();

 private:
  std::string log_folder() const { return folder_ + "/log"; }
  std::string checkpoint_folder() const { return folder_ + "/checkpoint"; }
  LogOptions log_options(std::uint64_t segment_bytes) const;
  reactor::Task<Status> open_log(LogOwner owner);
  reactor::Task<Status> open_checkpoints();
  reactor::Task<Status> remove_unnamed();
  bool is_named(const std::string& name) const;

  reactor::Executor& executor_;
  Disk& disk_;
  std::string folder_;
  std::unique_ptr<Log> log_;
  std::vector<Manifest> kept_;  // at most two, the older first
  std::vector<ChunkRef> put_;   // durable, and not named by them yet
};

}  // namespace namdb::memory
