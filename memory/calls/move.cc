// MOVE (common/placement/move_calls.h), at a host that has its region already.
#include "common/placement/move_calls.h"
#include "memory/calls/departure_call.h"
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

Status move(const Call& call) {
  if (Status status = check_mover(call); !status.ok()) return status;
  if (!placement::decode_move(call.request)) return malformed(call.method);
  placement::MoveReply reply;
  reply.state = placement::MoveState::here;
  reply.server_id = call.caller.server.options.server_id;
  call.reply = encode(reply);
  return Status();
}

}  // namespace namdb::memory::handlers
