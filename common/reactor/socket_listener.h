// Listening sockets: TCP and unix. The contract is stream.h's; everything belongs to the reactor's thread,
// and the reactor outlives it.
#pragma once

#include <cstdint>
#include <functional>
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
  // How long listen() tries an address that is in use. The kernel closes the sockets of a process that has
  // ended a moment after it is gone, since a ring of requests still holds them.
  std::uint64_t patience_ns = 1'000'000'000;
  // Called once, before the first of further tries.
  std::function<void()> waits;
};

// A listening socket, for sessions (accept) and for transports (accept_descriptor).
class SocketListener final : public StreamListener {
 public:
  // Binds and listens. A unix socket that a dead process left behind is replaced. Blocks the thread for up to
  // patience_ns while the address is in use. Errors: configuration, for an address that is malformed, still
  // in use by another process, or not allowed; connection_failure for a name that is not known.
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
