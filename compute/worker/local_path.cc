#include "compute/worker/local_path.h"

#include <utility>

#include "compute/cluster/tool_hello.h"
#include "proto/control.pb.h"

namespace namdb::compute {
namespace {

// No compute server has it: the peer is a tool, which is gone again as soon as it has its welcome.
const txn::ComputeId kNobody{};

bool parse(std::string_view bytes, control::Welcome& welcome) {
  return welcome.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

Status same_server(const std::string& address, const std::string& socket, std::string_view remote_bytes,
                   std::string_view local_bytes) {
  control::Welcome remote;
  control::Welcome local;
  if (!parse(remote_bytes, remote) || !parse(local_bytes, local))
    return Status(ErrorCode::protocol_violation, "memory server sent a welcome that cannot be read");
  if (remote.epoch() == local.epoch()) return Status();
  if (remote.server_id() == local.server_id() && remote.database_id() == local.database_id()) {
    return Status(ErrorCode::memory_server_restarted,
                  "the memory servers at " + socket + " and at " + address +
                      " are not the same one, or it has restarted just now");
  }
  return Status(
      ErrorCode::configuration,
      socket + " is the socket of another memory server than " + address + ": of server " +
          std::to_string(local.server_id()) +
          (local.server_id() == remote.server_id() ? " of another database" : ""),
      "give the socket of memory server " + std::to_string(remote.server_id()) + ": its --listen-local");
}

}  // namespace

fabric::LocalPath local_path(std::string address, std::string socket, std::string name) {
  fabric::LocalPath path{
      address, socket, [name = std::move(name)] { return txn::tool_hello(kNobody, name); }, {}};
  path.same_server = [address = std::move(address), socket = std::move(socket)](
                         std::string_view remote_welcome, std::string_view local_welcome) {
    return same_server(address, socket, remote_welcome, local_welcome);
  };
  return path;
}

}  // namespace namdb::compute
