#include "tools/nambench/transports.h"

#include "common/fabric/shm/transport.h"
#include "common/fabric/tcp/transport.h"

namespace namdb::nambench {

fabric::TransportRegistry transports(reactor::Reactor& reactor, const fabric::tcp::TcpOptions& tcp) {
  fabric::TransportRegistry registry;
  registry.add(fabric::shm::transport(reactor));
  registry.add(fabric::tcp::transport(reactor, tcp));
  return registry;
}

}  // namespace namdb::nambench
