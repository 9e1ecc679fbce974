// The opening of a database that lies on the disks of several memory servers, as calls see it; memory/opening
// has the one that there is. Null in a server that opens alone, or keeps nothing on disk.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/error.h"
#include "common/calls/decider_calls.h"
#include "common/reactor/task.h"
#include "memory/journals/stream.h"
#include "proto/control.pb.h"

namespace namdb::memory {

// On the executor's thread. Requests and replies outlive the tasks.
class OpeningService {
 public:
  virtual ~OpeningService() = default;

  // The three calls of a round (proto/control.proto).
  virtual reactor::Task<Status> gather(const control::GatherRequest* request,
                                       control::GatherReply* reply) = 0;
  virtual reactor::Task<Status> derive(const control::DeriveRequest* request,
                                       control::DeriveReply* reply) = 0;
  virtual reactor::Task<Status> serve(const control::ServeRequest* request) = 0;

  // --- journals that the log has from before this process, while it opens (memory/deciding/decide.h) ---
  // The slot has one that has not ended.
  virtual bool restored(std::uint32_t slot) const = 0;
  // Each for such a slot. A look tells what outlives this host: copies in sync have it.
  virtual reactor::Task<Result<calls::LookReply>> look(std::uint32_t slot) = 0;
  // Records the verdicts durably; the parts of commits are redone. Error corrupt_data where the opposite is
  // recorded, or a part of a commit is not there.
  virtual reactor::Task<Status> record(std::uint32_t slot, std::vector<std::uint32_t> counters,
                                       Verdict verdict) = 0;
  // All are decided. The journal ends.
  virtual reactor::Task<Status> close(std::uint32_t slot, std::uint32_t final_counter) = 0;
};

}  // namespace namdb::memory
