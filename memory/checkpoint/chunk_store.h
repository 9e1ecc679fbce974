// The sweep's view of the disk: chunks by extent and generations of checkpoints, and the log beside them.
// A generation counts from commit() on; before that the earlier ones stay as they are. One executor's thread,
// one generation at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/base/error.h"
#include "common/reactor/task.h"
#include "memory/region/changed_extents.h"

namespace namdb::memory {

class ChunkStore {
 public:
  virtual ~ChunkStore() = default;
  // The new generation has the chunks of the newest one, except for changes by put() and drop().
  virtual void begin() = 0;
  // Durable with commit(). `bytes` stay until it returns.
  virtual reactor::Task<Status> put(std::uint64_t extent, std::span<const std::byte> bytes) = 0;
  virtual void drop(std::uint64_t extent) = 0;
  // Redo of the log begins at `redo_from`.
  virtual reactor::Task<Status> commit(std::uint64_t redo_from, std::vector<std::byte> state) = 0;
  // Removes what was put since begin().
  virtual reactor::Task<Status> abandon() = 0;
  // The position where redo of the newest generation begins; nullopt if there is no generation.
  virtual std::optional<std::uint64_t> newest_redo_from() const = 0;
  // The generations that are kept need no log from before this position.
  virtual std::uint64_t oldest_redo() const = 0;
};

class SweepLog {
 public:
  virtual ~SweepLog() = default;
  // The position of the oldest logged entry that is not known to be finished, installed or undone everywhere
  // in this region; the log's end if there is no such entry. Read as a sweep begins: an entry behind the
  // position may be installed after the sweep has read its record.
  virtual std::uint64_t redo_start() = 0;
  // Marks the extents named by logged entries that are not known to be finished. Called as a sweep begins:
  // the sweep may read their records before the install, so the next sweep has to read them again.
  virtual void mark_unfinished(ChangedExtents& changed) = 0;
  // On return the log has, durably, the entries of all bodies that stand in the region now.
  virtual reactor::Task<Status> flush() = 0;
  virtual reactor::Task<Status> reclaim(std::uint64_t oldest) = 0;
};

}  // namespace namdb::memory
