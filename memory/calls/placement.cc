// CONFIGURATION, FILES, READ_FILE, HAND_OVER and MOVE (common/placement/move_calls.h), at a host that has its
// region.
#include "common/placement/configuration.h"
#include "common/placement/move_calls.h"
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {
namespace {

Status check_tool(const Call& call) {
  if (call.caller.peer().tool) return Status();
  return Status(ErrorCode::insufficient_privilege, "only tools and memory servers move regions");
}

Result<DepartureService*> departure_for(const Call& call) {
  if (Status status = check_tool(call); !status.ok()) return status;
  if (call.caller.server.departure != nullptr) return call.caller.server.departure;
  if (call.caller.server.options.durability == Durability::flushed)
    return Status(ErrorCode::cannot_connect_now, "the memory server opens, or ends");
  return Status(ErrorCode::object_not_in_prerequisite_state, "this memory server keeps no data on disk",
                "its database was created with --durability memory");
}

}  // namespace

Status configuration(const Call& call) {
  if (Status status = check_tool(call); !status.ok()) return status;
  Links& links = call.caller.server.links;
  if (!call.request.empty()) {
    const auto known = placement::Configuration::decode(call.request);
    if (!known) return malformed(call.method);
    links.learn_places(*known);
  }
  call.reply = links.configuration().encode();
  return Status();
}

reactor::Task<Status> files(Call call) {
  const auto service = departure_for(call);
  if (!service.ok()) co_return service.status();
  auto request = placement::decode_files(call.request);
  if (!request) co_return malformed(call.method);
  co_return co_await service.value()->files(std::move(*request), &call.reply);
}

reactor::Task<Status> read_file(Call call) {
  const auto service = departure_for(call);
  if (!service.ok()) co_return service.status();
  auto request = placement::decode_read_file(call.request);
  if (!request) co_return malformed(call.method);
  co_return co_await service.value()->read_file(std::move(*request), &call.reply);
}

reactor::Task<Status> hand_over(Call call) {
  const auto service = departure_for(call);
  if (!service.ok()) co_return service.status();
  auto request = placement::decode_hand_over(call.request);
  if (!request) co_return malformed(call.method);
  co_return co_await service.value()->hand_over(std::move(*request));
}

Status move(const Call& call) {
  if (Status status = check_tool(call); !status.ok()) return status;
  if (!placement::decode_move(call.request)) return malformed(call.method);
  placement::MoveReply reply;
  reply.state = placement::MoveState::here;
  reply.server_id = call.caller.server.options.server_id;
  call.reply = encode(reply);
  return Status();
}

}  // namespace namdb::memory::handlers
