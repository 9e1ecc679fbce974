// The client side of the tcp transport: a channel is a connection. Operations are sent with the turn that
// posted them, all channels' and coroutines' together in one send per connection, and complete in posting
// order; READs' data goes from the receive buffer straight to where it belongs. Needs a Reactor.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "common/fabric/cluster_key.h"
#include "common/fabric/fabric.h"

namespace namdb::reactor {
class Reactor;
}

namespace namdb::fabric::tcp {

struct TcpOptions {
  // Proven to and demanded from every peer. Without one, a server listens on loopback addresses only.
  std::optional<ClusterKey> key;
  // Of a server: the time that a peer has to prove the key, or without a key to say hello.
  std::uint64_t authentication_timeout_ns = kSecond_ns;
  // From the connection's start to the welcome.
  std::uint64_t handshake_timeout_ns = 10 * kSecond_ns;
};

std::unique_ptr<ClientFabric> make_tcp_client_fabric(reactor::Reactor& reactor, TcpOptions options);

}  // namespace namdb::fabric::tcp
