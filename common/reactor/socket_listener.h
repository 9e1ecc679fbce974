// Listening sockets: TCP and unix. The contract is stream.h's; everything belongs to the reactor's thread,
// and the reactor outlives it.
#pragma once

#include <memory>
#include <string>

#include "common/base/error.h"
#include "common/reactor/stream.h"

namespace namdb::reactor {

class Reactor;

struct ListenOptions {
  // Permissions of a unix socket: by default its owner only.
  unsigned unix_mode = 0700;
  int backlog = 512;
};

// A listening socket, for sessions (accept) and for transports (accept_descriptor).
class SocketListener final : public StreamListener {
 public:
  // Binds and listens. A unix socket that a dead process left behind is replaced. Errors: configuration, for
  // an address that is malformed, in use by somebody else, or not allowed; connection_failure for a name that
  // is not known.
  static Result<std::unique_ptr<SocketListener>> listen(Reactor& reactor, std::string address,
                                                        ListenOptions options = {});
  // Closes, and removes the unix socket.
  ~SocketListener() override;

  Task<Result<std::unique_ptr<ByteStream>>> accept() override;
  // The same without a stream around it: a connected, close-on-exec descriptor of the caller's.
  Task<Result<int>> accept_descriptor();
  void close() override;
  const std::string& address() const override { return address_; }
  bool is_local() const { return is_local_; }

 private:
  class Core;
  SocketListener(Reactor& reactor, Core* core, std::string address, std::string unix_path, bool is_local);

  Reactor& reactor_;
  Core* core_;
  std::string address_;
  std::string unix_path_;
  bool is_local_;
};

}  // namespace namdb::reactor
