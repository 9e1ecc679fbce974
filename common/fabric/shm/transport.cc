#include "common/fabric/shm/transport.h"

#include "common/fabric/shm/client.h"
#include "common/fabric/shm/server.h"

namespace namdb::fabric::shm {

namespace {

constexpr std::uint64_t kFencePatience_ns = 1 * kSecond_ns;

}  // namespace

Transport transport(reactor::Reactor& reactor) {
  return {"shm", "unix:PATH", [](std::string_view address) { return address.starts_with("unix:"); },
          [&reactor] { return std::make_unique<ShmClientFabric>(reactor); },
          [&reactor](const ServerRegion& region, Service& service) {
            return std::make_unique<ShmServerFabric>(reactor, region, service, kFencePatience_ns);
          }};
}

std::unique_ptr<ClientFabric> local_client(reactor::Reactor& reactor, LocalPool& pool) {
  return std::make_unique<ShmClientFabric>(reactor, ShmClientFabric::kHandshakeTimeout_ns, &pool);
}

std::unique_ptr<ServerFabric> local_server(reactor::Reactor& reactor, const ServerRegion& region,
                                           Service& service) {
  return std::make_unique<ShmServerFabric>(reactor, region, service, kFencePatience_ns);
}

}  // namespace namdb::fabric::shm
