// A region that has, or may have, copies at other hosts, as calls see it; memory/placement has the one that
// there is. Null in a cluster without a configuration store, and until the server has opened.
#pragma once

#include <functional>
#include <string>

#include "common/base/error.h"
#include "common/fabric/fabric.h"
#include "common/placement/follow_calls.h"
#include "common/reactor/task.h"

namespace namdb::memory {

// On the executor's thread. Replies outlive the tasks that fill them. The calls:
// common/placement/follow_calls.h.
class CopiesService {
 public:
  // True once the caller of a waiting call is gone: the call then ends soon, with an error.
  using Gone = std::function<bool()>;

  virtual ~CopiesService() = default;
  virtual reactor::Task<Status> follow(fabric::PeerId peer, placement::FollowRequest request,
                                       std::string* reply) = 0;
  virtual reactor::Task<Status> lease(Gone gone) = 0;
  // Now: no other host serves the region, and copies in sync have all that the log had when it opened.
  virtual bool holds_lease() const = 0;
  virtual reactor::Task<Status> leave(placement::LeaveRequest request, Gone gone) = 0;
};

}  // namespace namdb::memory
