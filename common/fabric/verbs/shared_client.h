// The client side of the verbs transport for a worker that shares queue pairs with others of its process: its
// channels hand what a turn brought to the communicator, and complete what comes back. On the worker's
// thread.
#pragma once

#include <memory>

#include "common/fabric/fabric.h"

namespace namdb::reactor {
class Reactor;
}

namespace namdb::fabric::verbs {

class Communicator;

// Destroying a channel blocks until the communicator has let go of its buffers: a round trip, at most a
// second.
std::unique_ptr<ClientFabric> make_shared_client_fabric(reactor::Reactor& reactor,
                                                        std::shared_ptr<Communicator> communicator);

}  // namespace namdb::fabric::verbs
