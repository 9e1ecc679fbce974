// The checkpoints of a memory server that keeps a database on disk, as calls see them. memory/opening has
// the one that there is; a server of level `memory` has none.
#pragma once

#include <cstdint>
#include <functional>

#include "common/base/error.h"
#include "common/reactor/task.h"
#include "proto/control.pb.h"

namespace namdb::memory {

// On the executor's thread. Replies outlive the tasks that fill them.
class CheckpointService {
 public:
  // True once the caller of a waiting call is gone: the call then ends soon, with an error.
  using Gone = std::function<bool()>;

  virtual ~CheckpointService() = default;
  // Paced: at the rate that is set for checkpoints. Fast: as fast as the disk is.
  enum class Pace : std::uint8_t { paced, fast };
  // The steps of CHECKPOINT (proto/control.proto). make() resumes when a checkpoint has ended that began
  // after this call; its error is that checkpoint's. Until then a fast call hurries the one under way, too.
  virtual reactor::Task<Status> make(std::uint64_t hold_ns, Pace pace, Gone gone,
                                     control::CheckpointReply* reply) = 0;
  virtual Status hold(std::uint64_t hold, std::uint64_t hold_ns) = 0;
  virtual reactor::Task<Status> pause(std::uint64_t pause_ns, control::CheckpointReply* reply) = 0;
  virtual void resume(control::CheckpointReply* reply) = 0;
  // For STATUS.
  virtual void describe(control::DiskStatus& disk) const = 0;
};

}  // namespace namdb::memory
