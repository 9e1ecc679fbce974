// The list of transports that the suite runs on. Every second run is on checked channels.
#include <spdlog/spdlog.h>

#include <array>
#include <atomic>
#include <cstdlib>

#include "common/fabric/checking.h"
#include "common/fabric/conformance/fixture.h"
#include "common/fabric/conformance/sim_fixture.h"
#include "common/fabric/conformance/suite.h"
#include "common/fabric/conformance/threaded_fixture.h"
#include "common/fabric/decorated_fabric.h"
#include "common/fabric/local_path.h"
#include "common/fabric/shm/transport.h"
#include "common/fabric/tcp/server.h"
#include "common/fabric/tcp/transport.h"
#include "common/fabric/verbs/communicator.h"
#include "common/fabric/verbs/server.h"
#include "common/fabric/verbs/transport.h"

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

// As on a kernel that lacks what the reactor can do without, or where everything comes in small pieces.
reactor::ReactorOptions reactor_options(int run) {
  reactor::ReactorOptions options;
  if (run == 2) {
    options.use_multishot = false;
    options.use_deferred_taskrun = false;
    options.spin_ns = 0;
  }
  if (run >= 3) {
    options.receive_buffers = 2;
    options.receive_buffer_bytes = 100;
    options.queue_entries = 2;
  }
  return options;
}

std::unique_ptr<Fixture> make_shm_fixture(Service& service, int clients, int run) {
  return make_threaded_fixture(
      {run % 2 == 0 ? shm::transport : checked_shm,
       [](const std::string& directory) { return "unix:" + directory + "/memory.sock"; },
       [](const std::string& directory) { return "unix:" + directory + "/nobody.sock"; },
       {},
       reactor_options(run)},
      service, clients);
}

Transport plain_tcp(reactor::Reactor& reactor) {
  return tcp::transport(reactor, {});
}

Transport tcp_with_key(reactor::Reactor& reactor) {
  tcp::TcpOptions options;
  options.key.emplace().bytes.fill(7);
  return tcp::transport(reactor, options);
}

Transport encrypted_tcp(reactor::Reactor& reactor) {
  tcp::TcpOptions options;
  options.key.emplace().bytes.fill(7);
  options.encryption = tcp::Encryption::required;
  return tcp::transport(reactor, options);
}

Transport checked_tcp(reactor::Reactor& reactor) {
  return checked(plain_tcp(reactor));
}

std::unique_ptr<Fixture> make_tcp_fixture(Service& service, int clients, int run) {
  constexpr std::array kTransports = {plain_tcp, checked_tcp, tcp_with_key, plain_tcp, encrypted_tcp};
  spdlog::set_level(spdlog::level::err);  // every peer that a test wrongs is worth a line
  return make_threaded_fixture(
      {kTransports.at(static_cast<std::size_t>(run)), [](const std::string&) { return "127.0.0.1:0"; },
       [](const std::string&) { return "127.0.0.1:1"; },
       [](const ServerFabric& server) { return static_cast<const tcp::TcpServerFabric&>(server).address(); },
       reactor_options(run)},
      service, clients);
}

// One region over tcp and shm at once: every second client maps it.
std::unique_ptr<Fixture> make_local_path_fixture(Service& service, int clients, int run) {
  struct Shared {
    std::string address;
    std::string socket;
    std::atomic<int> made = 0;
  };
  auto shared = std::make_shared<Shared>();
  const auto transport = [shared, run](reactor::Reactor& reactor) {
    Transport mixed = run == 0 ? encrypted_tcp(reactor) : plain_tcp(reactor);
    mixed.make_server = [&reactor, shared, make_server = mixed.make_server](const ServerRegion& region,
                                                                            Service& served) {
      return std::make_unique<LocalPathServer>(make_server(region, served),
                                               shm::local_server(reactor, region, served), shared->socket);
    };
    mixed.make_client = [&reactor, shared,
                         make_client = mixed.make_client]() -> std::unique_ptr<ClientFabric> {
      auto client = make_client();
      if (shared->made++ % 2 != 0) return client;
      auto local = shm::local_client(reactor, client->pool());
      LocalPath path{shared->address, shared->socket, [] { return std::string(kOnlyAsks); }, {}};
      path.same_server = [](std::string_view, std::string_view) { return Status(); };
      return std::make_unique<LocalPathClient>(std::move(client), std::move(local), std::move(path));
    };
    return run % 2 == 0 ? mixed : checked(mixed);
  };
  spdlog::set_level(spdlog::level::err);
  return make_threaded_fixture({transport,
                                [shared](const std::string& directory) {
                                  shared->socket = "unix:" + directory + "/memory.sock";
                                  return std::string("127.0.0.1:0");
                                },
                                [](const std::string&) { return "127.0.0.1:1"; },
                                [shared](const ServerFabric& server) {
                                  const auto& both = static_cast<const LocalPathServer&>(server);
                                  shared->address =
                                      static_cast<const tcp::TcpServerFabric&>(both.remote()).address();
                                  return shared->address;
                                },
                                reactor_options(run)},
                               service, clients);
}

// Where RDMA is, the machine that runs the suite says so: an address of a device of its own, which the
// clients reach from another one or by loopback.
const char* verbs_address() {
  return std::getenv("NAMDB_TEST_VERBS_ADDRESS");
}

verbs::VerbsOptions verbs_options() {
  verbs::VerbsOptions options;
  options.key.emplace().bytes.fill(7);
  return options;
}

Transport plain_verbs(reactor::Reactor& reactor) {
  return verbs::transport(reactor, verbs_options());
}

// Calls by datagrams, on a path that loses some and doubles others.
Transport lossy_verbs(reactor::Reactor& reactor) {
  verbs::VerbsOptions options = verbs_options();
  options.calls = verbs::CallKind::datagrams;
  options.lose_every_datagram = 5;
  options.region_keys = verbs::RegionKeyKind::registrations;
  return checked(verbs::transport(reactor, options));
}

// Send queues and receive buffers that everything has to wait for.
Transport small_verbs(reactor::Reactor& reactor) {
  verbs::VerbsOptions options = verbs_options();
  options.send_queue_depth = 4;
  options.client_receive_buffers = 8;
  options.server_receive_buffers = 8;
  return verbs::transport(reactor, options);
}

std::unique_ptr<Fixture> on_device(std::function<Transport(reactor::Reactor&)> transport, Service& service,
                                   int clients, int run) {
  spdlog::set_level(spdlog::level::err);  // every peer that a test wrongs is worth a line
  const std::string host = verbs_address();
  return make_threaded_fixture({std::move(transport), [host](const std::string&) { return host + ":0"; },
                                [host](const std::string&) { return host + ":1"; },
                                [](const ServerFabric& server) {
                                  return static_cast<const verbs::VerbsServerFabric&>(server).address();
                                },
                                reactor_options(run), Fixture::kRegion_bytes},
                               service, clients);
}

std::unique_ptr<Fixture> make_verbs_fixture(Service& service, int clients, int run) {
  constexpr std::array kTransports = {plain_verbs, lossy_verbs, small_verbs};
  return on_device(kTransports.at(static_cast<std::size_t>(run)), service, clients, run);
}

// The clients as workers of one compute server, which share a queue pair.
std::unique_ptr<Fixture> make_shared_verbs_fixture(Service& service, int clients, int run) {
  verbs::VerbsOptions options = verbs_options();
  if (run == 1) options.send_queue_depth = 4;
  auto communicator = verbs::Communicator::start(options);
  NAMDB_CHECK(communicator.ok());
  options.communicator = std::move(*communicator);
  const auto transport = [options, run](reactor::Reactor& reactor) {
    return run == 1 ? checked(verbs::transport(reactor, options)) : verbs::transport(reactor, options);
  };
  return on_device(transport, service, clients, 2 * run);
}

}  // namespace

const std::vector<FixtureFactory>& fixture_factories() {
  // Alone, since the machine is slow and the others are tested everywhere.
  static const std::vector<FixtureFactory> verbs = {{"verbs", 3, make_verbs_fixture}};
  static const std::vector<FixtureFactory> shared_verbs = {
      {"verbs with shared queue pairs", 2, make_shared_verbs_fixture}};
  if (verbs_address() != nullptr) {
    return std::getenv("NAMDB_TEST_VERBS_SHARED") == nullptr ? verbs : shared_verbs;
  }
  static const std::vector<FixtureFactory> factories = {
      {"sim", 25, make_sim_fixture},
      {"shm", 4, make_shm_fixture},
      {"tcp", 5, make_tcp_fixture},
      {"tcp with a local path", 4, make_local_path_fixture},
  };
  return factories;
}

}  // namespace namdb::fabric::conformance
