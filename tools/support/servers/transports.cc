#include "tools/support/servers/transports.h"

#include "common/fabric/shm/transport.h"
#include "common/fabric/tcp/transport.h"
#include "common/fabric/verbs/transport.h"

namespace namdb::support {

fabric::TransportRegistry transports(reactor::Reactor& reactor, const fabric::tcp::TcpOptions& tcp,
                                     const fabric::verbs::VerbsOptions& verbs) {
  fabric::TransportRegistry registry;
  registry.add(fabric::shm::transport(reactor));
  registry.add(fabric::tcp::transport(reactor, tcp));
  registry.add(fabric::verbs::transport(reactor, verbs));
  return registry;
}

}  // namespace namdb::support
