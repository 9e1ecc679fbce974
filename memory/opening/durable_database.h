// A memory server's database on disk, while the server runs: the log that everything is written to, and the
// checkpoints beside it. And its opening after a restart, behind which the server has all that was
// acknowledged (docs/internals/control-state.md).
//
//   create   an empty folder gets a log, the first control entry, and a first generation of checkpoints
//   open     1. the newest checkpoint: tables of its control state, blocks, chunks
//            2. the log behind it (log_replay.h)
//            3. the log goes on; the control state is the server's, and changes are logged from now on
//            4. what is derived: buckets, indexes, floors of timestamps (memory/recovery)
//
// One of several memory servers opens together with the others: between 3 and 4 it answers them, memory
// server 0 decides what the logs leave open, and all make what is derived (host_opening.h). A new database,
// too, is there once all its servers are.
//
// Opening reads the folder and appends to the log, and changes nothing else. The records that it appends
// change only the state that it found. So it may be cut off at any moment, and the next opening finds the
// same rows.
//
// If a chunk of the newest checkpoint is damaged, the chunk of the checkpoint before serves, and redo begins
// where that checkpoint says. Damage of the log is an error that names file and offset, the lost part, and
// the option that opens the database in spite of it (force_lost_log). So is an entry that the records
// contradict (force_unfit_entries).
//
// In a daemon, and in the simulator:
//
//   MemoryServer::create; DurableDatabase::create or open; MemoryServer::start; ServerFabric::listen
//   MemoryServer::stop; ServerFabric::close; DurableDatabase::close
//
// One of several has called MemoryServer::meet() before, and DurableOptions::meet has it listen while the
// database opens. After an error there: MemoryServer::stop, ServerFabric::close.
//
// One executor's thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "memory/journals/checkpoint_log.h"
#include "memory/journals/disk_log_sink.h"
#include "memory/log/checkpoint_store.h"
#include "memory/log/disk.h"
#include "memory/log/log.h"
#include "memory/opening/cluster_opening.h"
#include "memory/opening/disk_control_log.h"
#include "memory/opening/host_opening.h"
#include "memory/opening/opening_progress.h"
#include "memory/server/server.h"

namespace namdb::memory {

class DurableDatabase;

struct DurableOptions {
  std::uint64_t database_id = 0;  // never 0
  // on_failure is called when a write or a sync failed: the process is to end.
  LogOptions log;
  // Opens although a part of the log is lost. Opened::lost says which.
  bool force_lost_log = false;
  // Leaves out changes of the log that the records contradict. Opened::lost names them.
  bool force_unfit_entries = false;
  // Lines for people while the database opens, one a second at most. May be empty.
  std::function<void(const std::string& line)> progress;
  // Of one of several memory servers: the server answers the others from now on, and is to listen. Log and
  // checkpoints are there. Copies are to count from now on (memory/placement/copies.h): others act on what
  // the log says.
  std::function<reactor::Task<Status>(DurableDatabase& database)> meet;
  // After an error behind meet(), before log and checkpoints are gone. May be empty.
  std::function<reactor::Task<void>()> part;
  // Polled while the database opens; true: opening ends with admin_shutdown. May be empty.
  std::function<bool()> stopping;
};

// Figures of an opening.
struct Opened {
  bool created = false;  // the folder was empty
  std::uint64_t generation = 0;
  std::uint64_t checkpoint_bytes = 0;  // of chunks
  std::uint64_t damaged_chunks = 0;    // for which those of an earlier generation served
  std::uint64_t log_bytes = 0;         // of records, behind the checkpoint
  std::uint64_t entries = 0;           // journal entries among them
  std::uint64_t tables = 0;
  std::uint64_t indexes = 0;  // B+-trees
  std::uint64_t rows = 0;
  std::uint64_t duration_ns = 0;
  // With one of the forces, a line for people for each part that is lost; empty: all is there. A checkpoint
  // should be made soon: until then the next opening meets the same damage.
  std::vector<std::string> lost;

  control::OpeningStatus message() const;
  // "opened 3 tables with 1200 rows from a checkpoint of 12 MiB and 3 MiB of log in 0.4 s"
  std::string text() const;
};

// "3 MiB", rounded up.
std::string in_mebibytes(std::uint64_t bytes);

// The log as sweeps see it, control entries included.
class DatabaseSweepLog final : public SweepLog {
 public:
  // Both outlive this.
  DatabaseSweepLog(SweepLog& journals, const DiskControlLog& control)
      : journals_(journals), control_(control) {}
  std::uint64_t redo_start() override {
    return std::min(journals_.redo_start(), control_.oldest_under_way().value_or(~LogPosition{0}));
  }
  void mark_unfinished(ChangedExtents& changed) override { journals_.mark_unfinished(changed); }
  reactor::Task<Status> flush() override { return journals_.flush(); }
  reactor::Task<Status> reclaim(std::uint64_t oldest) override { return journals_.reclaim(oldest); }

 private:
  SweepLog& journals_;
  const DiskControlLog& control_;
};

class DurableDatabase {
 public:
  using Opening = reactor::Task<Result<std::unique_ptr<DurableDatabase>>>;

  // Of a server that has not started. `folder` has, or gets, `log` and `checkpoint`. Disk and server outlive
  // what comes of it. After an error the process is to end.
  //
  // Removes the remains of a creation that was cut off. Errors: kDiskFull, kDiskFailed, configuration.
  static Opening create(reactor::Executor& executor, Disk& disk, std::string folder, MemoryServer& server,
                        DurableOptions options);
  // Errors: corrupt_data, with what is lost and what to do; configuration (the options are not the
  // database's, another server's log, a newer format); out_of_memory (the region is smaller than it was);
  // kDiskFull, kDiskFailed; admin_shutdown.
  static Opening open(reactor::Executor& executor, Disk& disk, std::string folder, MemoryServer& server,
                      DurableOptions options);
  // Whether a creation has come to its end there. For disks without an identity file beside log and
  // checkpoint (memory/process/database_folder.h).
  static reactor::Task<Result<bool>> exists(Disk& disk, std::string folder);

  DurableDatabase(const DurableDatabase&) = delete;
  DurableDatabase& operator=(const DurableDatabase&) = delete;

  // --- for checkpoints ---
  Log& log() { return *log_; }
  CheckpointStore& checkpoints() { return *store_; }
  SweepLog& sweep_log() { return *sweep_log_; }

  const Log& log() const { return *log_; }
  const Opened& opened() const { return opened_; }
  // Ends the part of an opening together with others. May come again.
  reactor::Task<void> end_opening();
  // Waits for what is being written. Behind the end of all calls to the server.
  reactor::Task<void> close();

 private:
  friend class DatabaseOpening;
  DurableDatabase() = default;

  std::unique_ptr<Log> log_;
  std::unique_ptr<CheckpointStore> store_;
  std::unique_ptr<DiskLogSink> sink_;
  std::unique_ptr<DiskControlLog> control_log_;
  std::unique_ptr<CheckpointLog> checkpoint_log_;
  std::unique_ptr<DatabaseSweepLog> sweep_log_;
  // Of one of several memory servers; the second one on server 0 only.
  std::unique_ptr<HostOpening> host_opening_;
  std::unique_ptr<ClusterOpening> cluster_opening_;
  Opened opened_;
};

}  // namespace namdb::memory
