// The checkpoints of a memory server on disk: chunks of bytes by key (an extent of the region, say), and a
// manifest for each generation. A manifest names the newest chunk of every key, the log position where redo
// begins, and a state. A generation writes the chunks that changed and names older ones for the rest. The
// bytes: manifest.h.
//
//   begin      nothing of an unfinished generation is in the way
//   put, drop  chunks, in any number, while the earlier generations stay as they are. They are synced many
//              at a time: the first sync makes the file system write its journal for all of them, and each
//              journal write delays the commits that wait for the log on the same disk
//   commit     the last chunks and the folder synced; manifest written, synced, renamed into its place,
//              folder synced. From the rename on the generation counts. The two newest are kept, and all
//              that neither names is removed.
//
// Before commit() the caller flushes the log up to all changes that the chunks hold. It cuts the log at
// oldest_redo(), not at the newest generation's start: if a chunk of the newest generation is damaged, the
// older generation's chunk serves, with a longer redo. A chunk that both generations name has no second copy.
//
// One executor's thread; one generation at a time. After kDiskFull a generation is abandoned and the disk has
// room as before; after any other error the process is to end, as after those of the log.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/reactor/task.h"
#include "memory/log/disk.h"
#include "memory/log/manifest.h"

namespace namdb::memory {

class CheckpointStore {
 public:
  // Reads the manifests that are in the folder, which is made. A damaged one counts as not there, as long as
  // there is another. Changes nothing else. Errors: corrupt_data when all manifests are damaged;
  // configuration when they are another log's or of a newer format; kDiskFailed.
  static reactor::Task<Result<std::unique_ptr<CheckpointStore>>> open(Disk& disk, std::string folder,
                                                                      LogIdentity identity);

  // Null when there is none.
  const Manifest* newest() const { return kept_.empty() ? nullptr : &kept_.back(); }
  struct Chunk {
    std::optional<std::vector<std::byte>> bytes;
    LogPosition redo_from = 0;
    bool older = false;  // the newest generation's is damaged
  };
  // The chunk of the newest generation; if that is damaged, of the generation before it, whose `redo_from`
  // then counts. No bytes if the older generation has no such chunk: its content came later and is in the
  // log. Error corrupt_data if neither generation has the chunk whole. The key is in the newest generation.
  reactor::Task<Result<Chunk>> read(std::uint64_t key);
  // The log is needed from here on.
  LogPosition oldest_redo() const { return memory::oldest_redo(kept_); }

  // The host has the region under that number now, and new generations bear it (manifest.h).
  void set_place(std::uint64_t number) { place_number_ = number; }

  // --- a new generation ---
  void begin();
  reactor::Task<Status> put(std::uint64_t key, std::span<const std::byte> bytes);
  // The new generation has no such chunk.
  void drop(std::uint64_t key) { chunks_.erase(key); }
  reactor::Task<Status> commit(LogPosition redo_from, std::vector<std::byte> state);
  // Removes what was put since begin().
  reactor::Task<Status> abandon();

  // The number of the last generation that any process began.
  std::uint64_t generation() const { return generation_; }

 private:
  CheckpointStore(Disk& disk, std::string folder, LogIdentity identity)
      : disk_(disk), folder_(std::move(folder)), identity_(identity) {}
  // The file, written and not synced.
  reactor::Task<Result<std::unique_ptr<DiskFile>>> write_file(std::string path, const PageBuffer* bytes);
  reactor::Task<Status> sync_chunks();
  reactor::Task<Status> remove_unnamed();

  Disk& disk_;
  std::string folder_;
  LogIdentity identity_;
  std::vector<Manifest> kept_;  // at most two, the older first
  std::uint64_t generation_ = 0;
  std::uint64_t place_number_ = 0;
  bool begun_ = false;
  std::map<std::uint64_t, ChunkRef> chunks_;           // of the generation that was begun
  std::vector<std::unique_ptr<DiskFile>> not_synced_;  // of its chunks
};

// One manifest or chunk from its file: for the store, and for the verification.
reactor::Task<Result<Manifest>> load_manifest(Disk& disk, std::string path);
reactor::Task<Result<std::vector<std::byte>>> load_chunk(Disk& disk, std::string folder, std::uint64_t log_id,
                                                         ChunkRef ref);

}  // namespace namdb::memory
