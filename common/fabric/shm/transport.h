// The shared-memory transport as an entry of the registry.
#pragma once

#include <memory>

#include "common/fabric/registry.h"
#include "common/reactor/reactor.h"

namespace namdb::fabric::shm {

// Its fabrics live on the reactor.
Transport transport(reactor::Reactor& reactor);

// The local part of a local path (common/fabric/local_path.h). The client allocates from that pool, which
// outlives it. The server asks a peer that is to be fenced to go before it kills the process: the same fence
// only closes the connections of the other transport.
std::unique_ptr<ClientFabric> local_client(reactor::Reactor& reactor, LocalPool& pool);
std::unique_ptr<ServerFabric> local_server(reactor::Reactor& reactor, const ServerRegion& region,
                                           Service& service);

}  // namespace namdb::fabric::shm
