// The list of transports that the suite runs on. Every second run is on checked channels.
#include <spdlog/spdlog.h>

#include "common/fabric/checking.h"
#include "common/fabric/conformance/fixture.h"
#include "common/fabric/conformance/sim_fixture.h"
#include "common/fabric/conformance/threaded_fixture.h"
#include "common/fabric/decorated_fabric.h"
#include "common/fabric/shm/transport.h"
#include "common/fabric/tcp/client.h"
#include "common/fabric/tcp/server.h"

namespace namdb::fabric::conformance {
namespace {

// The same transport with checked channels: the suite itself uses it rightly, and the decorator changes
// nothing.
Transport checked(Transport transport) {
  transport.make_client = [make_client = transport.make_client] {
    return std::make_unique<DecoratedFabric>(
        make_client(), [buffers = std::make_shared<BuffersInFlight>()](std::unique_ptr<Channel> channel) {
          return std::make_unique<CheckingChannel>(std::move(channel), buffers, CheckingOptions());
        });
  };
  return transport;
}

Transport checked_shm(reactor::Reactor& reactor) {
  return checked(shm::transport(reactor));
}

std::unique_ptr<Fixture> make_shm_fixture(Service& service, int clients, int run) {
  return make_threaded_fixture(
      {run % 2 == 0 ? shm::transport : checked_shm,
       [](const std::string& directory) { return "unix:" + directory + "/memory.sock"; },
       [](const std::string& directory) { return "unix:" + directory + "/nobody.sock"; },
       {}},
      service, clients);
}

Transport tcp_transport(reactor::Reactor& reactor) {
  return {"tcp", "HOST:PORT", [](std::string_view address) { return address.find(':') != address.npos; },
          [&reactor] { return tcp::make_tcp_client_fabric(reactor, {}); },
          [&reactor](const ServerRegion& region, Service& service) {
            const std::span<std::byte> bytes(region.base, region.length_bytes);
            return std::make_unique<tcp::TcpServerFabric>(reactor, bytes, service, tcp::TcpOptions());
          }};
}

Transport checked_tcp(reactor::Reactor& reactor) {
  return checked(tcp_transport(reactor));
}

std::unique_ptr<Fixture> make_tcp_fixture(Service& service, int clients, int run) {
  spdlog::set_level(spdlog::level::err);  // every peer that a test wrongs is worth a line
  return make_threaded_fixture(
      {run % 2 == 0 ? tcp_transport : checked_tcp, [](const std::string&) { return "127.0.0.1:0"; },
       [](const std::string&) { return "127.0.0.1:1"; },
       [](const ServerFabric& server) { return static_cast<const tcp::TcpServerFabric&>(server).address(); }},
      service, clients);
}

}  // namespace

const std::vector<FixtureFactory>& fixture_factories() {
  static const std::vector<FixtureFactory> factories = {
      {"sim", 25, make_sim_fixture},
      {"shm", 2, make_shm_fixture},
      {"tcp", 2, make_tcp_fixture},
  };
  return factories;
}

}  // namespace namdb::fabric::conformance
