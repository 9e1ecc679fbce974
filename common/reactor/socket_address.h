// Addresses of stream sockets, as flags and configuration files write them: `unix:PATH`, or `HOST:PORT` with
// a name, an IPv4 address or a bracketed IPv6 address; PORT 0 lets the system choose when it is listened on.
#pragma once

#include <sys/socket.h>

#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"

namespace namdb::reactor {

class SocketAddress {
 public:
  // All addresses that the text stands for, to be tried in order. Names are resolved here and now, which may
  // block: at start-up and when connecting, not on hot paths. Errors: configuration for a malformed address;
  // connection_failure for a name that is not known at present.
  static Result<std::vector<SocketAddress>> resolve(std::string_view text, bool to_listen);
  // An IPv4 or IPv6 address.
  static SocketAddress of(const sockaddr& address);
  // The address that the socket is bound to, or connected with. Errors: connection_failure.
  static Result<SocketAddress> local_of(int descriptor);
  static Result<SocketAddress> peer_of(int descriptor);

  const sockaddr* data() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t size() const { return length_; }
  int family() const { return storage_.ss_family; }
  // unix:PATH or HOST:PORT with numbers; "unix" for a socket without a path.
  std::string to_string() const;
  bool is_unix() const { return family() == AF_UNIX; }
  // Reached from this machine only: a unix socket or a loopback address.
  bool is_local() const;
  // The path of a unix socket.
  std::string path() const;

 private:
  sockaddr_storage storage_{};
  socklen_t length_ = 0;
};

}  // namespace namdb::reactor
