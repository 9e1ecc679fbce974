// The client side of the verbs transport: a channel is a reliable connection to a memory server's device.
// What a turn's coroutines post to one server leaves with one doorbell. One device context, completion queue
// and receive queue for each device that servers are reached by. Needs a Reactor.
#pragma once

#include <memory>

#include "common/fabric/fabric.h"
#include "common/fabric/verbs/options.h"

namespace namdb::reactor {
class Reactor;
}

namespace namdb::fabric::verbs {

std::unique_ptr<ClientFabric> make_verbs_client_fabric(reactor::Reactor& reactor, VerbsOptions options);

}  // namespace namdb::fabric::verbs
