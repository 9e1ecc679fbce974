// A memory server's control plane as a tool uses it: connect, one call, one reply. Blocks the calling thread,
// which owns the reactor. A tool holds no slot and runs no transaction.
#pragma once

#include <google/protobuf/message_lite.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/fabric/fabric.h"
#include "common/fabric/registry.h"
#include "common/reactor/reactor.h"
#include "proto/control.pb.h"

namespace namdb::namctl {

// A call to one of several memory servers that are called at once, and may take long.
struct LongCall {
  std::string address;
  // Set when it has ended; `reply` where the status is ok.
  bool ended = false;
  Status status;
  std::string reply;
  // The newest answer to STATUS meanwhile.
  control::StatusReply progress;
};

// How memory servers are reached.
struct FabricAccess {
  std::filesystem::path key;  // empty: servers on this machine's loopback may do without
  std::string fabric;         // empty: HOST:PORT is tcp, unless it says verbs
  std::string encryption;     // off, required, or as nam-memoryd's default
};

// The transports that a tool speaks, on a reactor of its own.
class ControlPlane {
 public:
  // Errors: configuration.
  static Result<std::unique_ptr<ControlPlane>> create(const FabricAccess& access);
  ~ControlPlane();

  // Connects to the memory server at `address` (unix:PATH or HOST:PORT), makes the call, and disconnects.
  // Errors are the transport's, the server's own, and connection_failure when it does not answer in time.
  Status call(const std::string& address, std::uint16_t method, const google::protobuf::MessageLite& request,
              google::protobuf::MessageLite& reply);
  // The same with bytes that are not messages.
  Result<std::string> call_bytes(const std::string& address, std::uint16_t method, std::string request);
  // Makes the same call at all these servers, and returns when all have ended. Calls `watch` now and then
  // meanwhile.
  void call_all(std::vector<LongCall>& calls, std::uint16_t method,
                const google::protobuf::MessageLite& request, const std::function<void()>& watch);

 private:
  ControlPlane() = default;
  std::unique_ptr<reactor::Reactor> reactor_;
  fabric::TransportRegistry transports_;
};

}  // namespace namdb::namctl
