// A database in memory whose folder still fills: a copy (memory/placement/copy_applier.h) gets its log from
// another host, block by block, and has to open the database within a moment when that host is lost. The
// newest checkpoint becomes the region's records, and then each record of the log behind it is applied as in
// an opening. So opening has to make the derived state, and little else.
//
//   load     the newest checkpoint of the folder. Pauses as long as it works, for the sake of others
//   apply    each record from applied() on, in the order of the log
//   open     as DurableDatabase::open: the rest of the log, if there is any, and all that comes behind it
//
// DurableDatabase::open makes the same of the folder, though it may begin with a later checkpoint: redo gives
// the same from each. After an error of load() or apply() neither the object nor its server can be used any
// more: the caller begins anew with others.
//
// One executor's thread; one call at a time.
#pragma once

#include <memory>
#include <string>

#include "memory/log/log_reader.h"
#include "memory/opening/durable_database.h"

namespace namdb::memory {

class DatabaseOpening;

class PreparedDatabase {
 public:
  // Of a server that has not started. Disk and server outlive this. Of the options the database's id counts,
  // and `stopping`, until open().
  PreparedDatabase(reactor::Executor& executor, Disk& disk, std::string folder, MemoryServer& server,
                   DurableOptions options);
  PreparedDatabase(const PreparedDatabase&) = delete;
  PreparedDatabase& operator=(const PreparedDatabase&) = delete;
  ~PreparedDatabase();

  // Errors: those of DurableDatabase::open; or a file has gone, since a newer generation took its place.
  reactor::Task<Status> load();
  Status apply(const LogRecord& record);
  // The next record begins there, or is the first one behind.
  LogPosition applied() const;
  // Now and then, behind all of the log that the loaded checkpoint was copied with: bounds the memory.
  // True: there is more to do, before the next record.
  Result<bool> forget_settled();
  // All of the log has been applied, and no task writes it any more: open() does not read it again.
  void end_log(LogEnd end);
  // Behind that, on the only memory server: makes what is derived, before the region may be opened. On one of
  // several it comes later. After an error the object has no use any more.
  reactor::Task<Status> derive();
  // No process writes to the folder any more. Once, as the last call.
  DurableDatabase::Opening open(DurableOptions options);

 private:
  std::unique_ptr<DatabaseOpening> opening_;
};

}  // namespace namdb::memory
