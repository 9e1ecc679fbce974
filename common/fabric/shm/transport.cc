#include "common/fabric/shm/transport.h"

#include "common/fabric/shm/client.h"
#include "common/fabric/shm/server.h"

namespace namdb::fabric::shm {

Transport transport(reactor::Reactor& reactor) {
  return {"shm", "unix:PATH", [](std::string_view address) { return address.starts_with("unix:"); },
          [&reactor] { return std::make_unique<ShmClientFabric>(reactor); },
          [&reactor](const ServerRegion& region, Service& service) {
            return std::make_unique<ShmServerFabric>(reactor, region, service);
          }};
}

}  // namespace namdb::fabric::shm
