// CHECKPOINT: checkpoints that a tool asks for, and what it needs to copy the database of a running server.
#include <algorithm>

#include "memory/calls/methods.h"
#include "memory/calls/waiting.h"
#include "memory/state/checkpoint_service.h"

namespace namdb::memory::handlers {
namespace {

// A pause keeps commits from completing.
constexpr std::uint64_t kMaxPause_ns = 5 * kSecond_ns;
// A hold keeps the log from being given back. Tools prolong it.
constexpr std::uint64_t kMaxHold_ns = 600 * kSecond_ns;

}  // namespace

reactor::Task<Status> checkpoint(Caller caller, const control::CheckpointRequest& request,
                                 control::CheckpointReply& reply) {
  if (!caller.peer().tool)
    co_return Status(ErrorCode::insufficient_privilege, "only tools may ask for a checkpoint");
  CheckpointService* const service = caller.server.checkpoints;
  if (service == nullptr) {
    co_return Status(ErrorCode::object_not_in_prerequisite_state, "this memory server keeps no data on disk",
                     "its database was created with --durability memory");
  }
  reply.set_server_id(caller.server.options.server_id);
  const std::uint64_t hold_ns = std::min(request.hold_ns(), kMaxHold_ns);
  const CheckpointService::Gone gone = [caller] { return caller_is_gone(caller); };
  switch (request.step()) {
    case control::CHECKPOINT_MAKE:
      co_return co_await service->make(
          hold_ns, request.fast() ? CheckpointService::Pace::fast : CheckpointService::Pace::paced, gone,
          &reply);
    case control::CHECKPOINT_HOLD:
      co_return service->hold(request.hold(), hold_ns);
    case control::CHECKPOINT_PAUSE:
      co_return co_await service->pause(std::min(request.pause_ns(), kMaxPause_ns), &reply);
    case control::CHECKPOINT_RESUME:
      service->resume(&reply);
      co_return Status();
    default:
      co_return malformed(control::CHECKPOINT);
  }
}

}  // namespace namdb::memory::handlers
