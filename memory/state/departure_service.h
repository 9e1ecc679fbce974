// A region on disk that can move to another host, as calls see it; memory/placement has the one that there
// is. Null in a server that keeps nothing on disk, and until it has opened.
#pragma once

#include <string>

#include "common/base/error.h"
#include "common/placement/move_calls.h"
#include "common/reactor/task.h"

namespace namdb::memory {

// On the executor's thread. Replies outlive the tasks that fill them. The calls:
// common/placement/move_calls.h.
class DepartureService {
 public:
  virtual ~DepartureService() = default;
  virtual reactor::Task<Status> files(placement::FilesRequest request, std::string* reply) = 0;
  virtual reactor::Task<Status> read_file(placement::ReadFileRequest request, std::string* reply) = 0;
  // Never ok: it is the next life of the process that confirms (vacant_host.h).
  virtual reactor::Task<Status> hand_over(placement::HandOverRequest request) = 0;
};

}  // namespace namdb::memory
