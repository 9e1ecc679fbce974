// The registry's entry of the verbs transport.
#pragma once

#include "common/fabric/registry.h"
#include "common/fabric/verbs/options.h"

namespace namdb::reactor {
class Reactor;
}

namespace namdb::fabric::verbs {

Transport transport(reactor::Reactor& reactor, const VerbsOptions& options);

}  // namespace namdb::fabric::verbs
