// FOLLOW, COPY and LEAVE (common/placement/follow_calls.h), and LEASE (common/calls/hot_calls.h), at a host
// that has its region.
#include <utility>

#include "common/placement/follow_calls.h"
#include "memory/calls/copies_service.h"
#include "memory/calls/methods.h"
#include "memory/calls/waiting.h"

namespace namdb::memory::handlers {
namespace {

Result<CopiesService*> copies_for(const Call& call) {
  const ServerState& server = call.caller.server;
  if (!call.caller.peer().tool)
    return Status(ErrorCode::insufficient_privilege, "only tools and memory servers have to do with copies");
  if (server.copies_service != nullptr) return server.copies_service;
  if (server.has_store) return Status(ErrorCode::cannot_connect_now, "the memory server opens, or ends");
  return Status(ErrorCode::object_not_in_prerequisite_state,
                "this memory server was started without a configuration store, and has no copies",
                "start all memory servers with --configuration-store");
}

}  // namespace

reactor::Task<Status> follow(Call call) {
  auto copies = copies_for(call);
  if (!copies.ok()) co_return copies.status();
  auto request = placement::decode_follow(call.request);
  if (!request) co_return malformed(call.method);
  co_return co_await (*copies)->follow(call.caller.id, std::move(*request), &call.reply);
}

reactor::Task<Status> lease(Call call) {
  ServerState& server = call.caller.server;
  Status status;
  if (server.has_store && server.copies_service == nullptr) {
    status = Status(ErrorCode::cannot_connect_now, "the memory server opens, or ends");
  } else if (server.has_store) {
    const Caller caller = call.caller;
    CopiesService::Gone gone = [caller] { return caller_is_gone(caller); };
    status = co_await server.copies_service->lease(std::move(gone));
  }
  co_return status;
}

Status copy(const Call& call) {
  if (!call.caller.peer().tool)
    return Status(ErrorCode::insufficient_privilege, "only tools give orders about copies");
  return Status(
      ErrorCode::object_not_in_prerequisite_state,
      "this host has the region of memory server " + std::to_string(call.caller.server.options.server_id));
}

reactor::Task<Status> leave(Call call) {
  auto copies = copies_for(call);
  if (!copies.ok()) co_return copies.status();
  auto request = placement::decode_leave(call.request);
  if (!request) co_return malformed(call.method);
  const Caller caller = call.caller;
  CopiesService::Gone gone = [caller] { return caller_is_gone(caller); };
  co_return co_await (*copies)->leave(std::move(*request), std::move(gone));
}

}  // namespace namdb::memory::handlers
