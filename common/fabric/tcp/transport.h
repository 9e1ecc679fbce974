// The tcp transport as an entry of the registry.
#pragma once

#include "common/fabric/registry.h"
#include "common/fabric/tcp/client.h"

namespace namdb::reactor {
class Reactor;
}

namespace namdb::fabric::tcp {

// Its fabrics live on the reactor. The server is a TcpServerFabric, which knows the port that it got.
Transport transport(reactor::Reactor& reactor, const TcpOptions& options);

}  // namespace namdb::fabric::tcp
