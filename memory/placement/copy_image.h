// The region of a copy in this process' memory, while the primary has it: checkpoint and log of the folder,
// as far as they have been applied (copy_applier.h). A daemon makes it, and opens it when the copy takes
// over.
//
// One executor's thread; one call at a time.
#pragma once

#include "common/base/error.h"
#include "common/reactor/task.h"
#include "memory/log/log_reader.h"

namespace namdb::memory {

class CopyImage {
 public:
  virtual ~CopyImage() = default;
  // Takes the newest checkpoint of the folder. Once.
  virtual reactor::Task<Status> load() = 0;
  // load() and derive() end soon, now and later, with an error. Nothing else comes behind it.
  virtual void stop() = 0;
  // The next record of the log, from applied() on.
  virtual Status apply(const LogRecord& record) = 0;
  virtual LogPosition applied() const = 0;
  // Now and then, once all has been applied that was in the folder's log when load() ended. True: there is
  // more to do, and it is called again before the next record.
  virtual Result<bool> forget_settled() = 0;
  // All of the log has been applied, which goes on there when the region opens.
  virtual void end_log(LogEnd end) = 0;
  // Behind that: makes as much from the records as it can while the region may not be opened yet.
  virtual reactor::Task<Status> derive() = 0;
};

}  // namespace namdb::memory
