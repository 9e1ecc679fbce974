// The client side of the tcp transport: a channel is a connection. Operations are sent with the turn that
// posted them, all channels' and coroutines' together in one send per connection, and complete in posting
// order; READs' data goes from the receive buffer straight to where it belongs. Needs a Reactor.
#pragma once

#include <memory>

#include "common/fabric/fabric.h"
#include "common/fabric/tcp/options.h"

namespace namdb::reactor {
class Reactor;
}

namespace namdb::fabric::tcp {

std::unique_ptr<ClientFabric> make_tcp_client_fabric(reactor::Reactor& reactor, TcpOptions options);

}  // namespace namdb::fabric::tcp
