// A call as its handler gets it, and the two shapes of a handler's task: the bytes of the request and the
// reply, or the two protobuf messages that stand in them. Requests are outside input.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "common/fabric/fabric.h"
#include "common/reactor/task.h"
#include "memory/state/server_state.h"

namespace namdb::memory {

// A call's origin and destination.
struct Caller {
  ServerState& server;
  fabric::PeerId id;

  // Only until the first suspension: the peer may be gone after it.
  Peer& peer() const { return *server.peers.find(id); }
};

// The strings outlive the handler's task. `reply` is empty; after a failure it is not sent.
struct Call {
  Caller caller;
  std::uint16_t method;
  std::string_view request;
  std::string& reply;
};

using Handler = Status (*)(const Call& call);
// The call is passed by value, since the handler suspends.
using WaitingHandler = reactor::Task<Status> (*)(Call call);

inline Status malformed(std::uint16_t method) {
  return Status(ErrorCode::protocol_violation,
                "the request of call " + std::to_string(method) + " cannot be read");
}

template <typename Message>
bool parse(std::string_view bytes, Message& message) {
  return message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

// The handler of a call whose messages are protobuf: parses the request, calls `handle`, and serialises the
// reply of a success.
template <typename Request, typename Reply, Status (*handle)(Caller, const Request&, Reply&)>
Status with_messages(const Call& call) {
  Request request;
  if (!parse(call.request, request)) return malformed(call.method);
  Reply reply;
  Status status = handle(call.caller, request, reply);
  if (status.ok()) reply.SerializeToString(&call.reply);
  return status;
}

// The same where `handle` suspends; the messages live until it has ended.
template <typename Request, typename Reply, reactor::Task<Status> (*handle)(Caller, const Request&, Reply&)>
reactor::Task<Status> with_messages_waiting(Call call) {
  Request request;
  if (!parse(call.request, request)) co_return malformed(call.method);
  Reply reply;
  Status status = co_await handle(call.caller, request, reply);
  if (status.ok()) reply.SerializeToString(&call.reply);
  co_return status;
}

}  // namespace namdb::memory
