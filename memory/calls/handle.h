// What the handlers of calls share: reading requests, which are outside input, and writing replies.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/error.h"

namespace namdb::memory::calls {

template <typename Message>
bool parse(std::string_view bytes, Message& message) {
  return message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

inline Status malformed(std::uint16_t method) {
  return Status(ErrorCode::protocol_violation,
                "the request of call " + std::to_string(method) + " cannot be read");
}

inline Status unknown_method(std::uint16_t method) {
  return Status(ErrorCode::protocol_violation,
                "there is no call " + std::to_string(method) + " on this memory server");
}

// Parses, calls `handler(request, reply)`, and serialises the reply of a success.
template <typename Request, typename Reply, typename Handler>
Status handle(std::uint16_t method, std::string_view bytes, std::string& out, Handler handler) {
  Request request;
  if (!parse(bytes, request)) return malformed(method);
  Reply reply;
  Status status = handler(request, reply);
  if (status.ok()) reply.SerializeToString(&out);
  return status;
}

}  // namespace namdb::memory::calls
