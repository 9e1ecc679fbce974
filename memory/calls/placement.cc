// CONFIGURATION, FILES, READ_FILE, HAND_OVER and MOVE (common/placement/move_calls.h), at a host that has its
// region.
#include <optional>
#include <utility>

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

template <typename Request>
struct AskedDeparture {
  DepartureService* service;
  Request request;
};

// The service and what is asked of it.
template <typename Request>
Result<AskedDeparture<Request>> ask_departure(const Call& call,
                                              std::optional<Request> (*decode)(std::string_view)) {
  const auto service = departure_for(call);
  if (!service.ok()) return service.status();
  std::optional<Request> request = decode(call.request);
  if (!request) return malformed(call.method);
  return AskedDeparture<Request>{service.value(), *std::move(request)};
}

}  // namespace

Status configuration(const Call& call) {
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
  auto asked = ask_departure(call, placement::decode_files);
  if (!asked.ok()) co_return asked.status();
  co_return co_await asked->service->files(std::move(asked->request), &call.reply);
}

reactor::Task<Status> read_file(Call call) {
  auto asked = ask_departure(call, placement::decode_read_file);
  if (!asked.ok()) co_return asked.status();
  co_return co_await asked->service->read_file(std::move(asked->request), &call.reply);
}

reactor::Task<Status> hand_over(Call call) {
  auto asked = ask_departure(call, placement::decode_hand_over);
  if (!asked.ok()) co_return asked.status();
  co_return co_await asked->service->hand_over(std::move(asked->request));
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
