// The shared-memory transport as an entry of the registry.
#pragma once

#include "common/fabric/registry.h"
#include "common/reactor/reactor.h"

namespace namdb::fabric::shm {

// Its fabrics live on the reactor.
Transport transport(reactor::Reactor& reactor);

}  // namespace namdb::fabric::shm
