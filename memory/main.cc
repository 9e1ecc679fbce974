// nam-memoryd: the memory server as a daemon. The composition root: only here are the concrete executor,
// transports and memory named.
#include <spdlog/spdlog.h>
#include <sys/random.h>
#include <systemd/sd-daemon.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>

#include "common/base/crash_handler.h"
#include "common/config/daemon_flags.h"
#include "common/config/daemon_log.h"
#include "common/config/data_folder.h"
#include "common/fabric/cluster_key.h"
#include "common/fabric/registry.h"
#include "common/fabric/shm/transport.h"
#include "common/fabric/tcp/client.h"
#include "common/fabric/tcp/server.h"
#include "common/fabric/tcp/transport.h"
#include "common/fabric/verbs/server.h"
#include "common/fabric/verbs/transport.h"
#include "common/reactor/reactor.h"
#include "common/reactor/signals.h"
#include "common/reactor/socket_address.h"
#include "memory/process/flags.h"
#include "memory/process/region_memory.h"
#include "memory/server/server.h"

namespace namdb::memory {
namespace {

// How long peers get to receive the last replies.
constexpr std::uint64_t kFarewell_ns = 20 * kMillisecond_ns;

int refuse(const Status& status) {
  spdlog::error("{}{}", status.message(), status.hint().empty() ? "" : " (" + status.hint() + ")");
  return config::exit_code_of(status.code());
}

reactor::Task<void> await_signal(reactor::Signals* signals, MemoryServer* server) {
  const Result<int> signal = co_await signals->next();
  if (!signal.ok()) co_return;  // cancelled: the end has another reason
  spdlog::info("{}: stopping", signal.value() == SIGTERM ? "SIGTERM" : "SIGINT");
  server->request_shutdown();
}

// With the port that the system chose where 0 was asked for.
std::string listening_address(const fabric::ServerFabric& fabric, const std::string& asked) {
  const auto* tcp = dynamic_cast<const fabric::tcp::TcpServerFabric*>(&fabric);
  if (tcp != nullptr) return tcp->address();
  const auto* verbs = dynamic_cast<const fabric::verbs::VerbsServerFabric*>(&fabric);
  return verbs != nullptr ? verbs->address() : asked;
}

reactor::Task<Status> serve(reactor::Reactor* reactor, MemoryServer* server, fabric::ServerFabric* fabric,
                            const fabric::Transport* transport, std::string address) {
  server->start(*fabric, transport->make_client);
  Status status = co_await fabric->listen(address);
  if (status.ok()) {
    reactor::Signals signals(*reactor, {SIGTERM, SIGINT});
    reactor::Gate gate;
    reactor->spawn(gate, await_signal(&signals, server));
    spdlog::info("ready at {} ({})", listening_address(*fabric, address), fabric->name());
    sd_notify(0, "READY=1\nSTATUS=Serves compute servers");
    co_await server->shutdown_requested();
    sd_notify(0, "STOPPING=1");
    co_await reactor->sleep_for(kFarewell_ns);
    co_await signals.cancel();
    co_await gate.close();
  }
  co_await server->stop();
  co_await fabric->close();
  co_return status;
}

RegionGrowth growth_of(RegionMemory& region) {
  return {region.limit_bytes(), [&region](std::uint64_t length_bytes) {
            Result<std::uint64_t> longer = region.grow(length_bytes);
            if (longer.ok()) {
              spdlog::info("the region has grown to {} MiB, limit {} MiB", *longer >> 20,
                           region.limit_bytes() >> 20);
            }
            return longer;
          }};
}

// A name may be known only when the network is: waits as long as that takes. Signals end the process.
void await_name(const std::string& address) {
  std::string told;
  while (true) {
    const Status status = reactor::SocketAddress::resolve(address, true).status();
    // listen() says what else is wrong.
    if (status.ok() || status.code() != ErrorCode::connection_failure) return;
    if (status.message() != told) {
      spdlog::warn("waiting for the address to listen at: {}", status.message());
      sd_notifyf(0, "STATUS=Waiting for the address to listen at: %s", status.message().c_str());
    }
    told = status.message();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

int run(Flags flags) {
  const Result<std::unique_ptr<config::DataFolder>> folder =
      config::DataFolder::open(flags.data, "nam-memoryd");
  if (!folder.ok()) return refuse(folder.status());
  fabric::tcp::TcpOptions tcp_options;
  fabric::verbs::VerbsOptions verbs_options;
  verbs_options.device = {flags.rdma.device, flags.rdma.port, flags.rdma.gid_index};
  verbs_options.traffic_class = flags.rdma.traffic_class;
  verbs_options.acknowledge_timeout = flags.rdma.acknowledge_timeout;
  verbs_options.retries = flags.rdma.retries;
  using fabric::verbs::RegionKeyKind;
  verbs_options.region_keys = flags.rdma_region_keys == "windows"         ? RegionKeyKind::windows
                              : flags.rdma_region_keys == "registrations" ? RegionKeyKind::registrations
                                                                          : RegionKeyKind::automatic;
  if (!flags.cluster_key.empty() && flags.fabric != "shm") {
    Result<fabric::ClusterKey> key = fabric::read_cluster_key(flags.cluster_key);
    if (!key.ok()) return refuse(key.status());
    tcp_options.key = *key;
    verbs_options.key = *key;
  }
  await_name(flags.listen);
  reactor::ReactorOptions reactor_options;
  if (::getrandom(&reactor_options.seed, sizeof reactor_options.seed, 0) !=
      static_cast<ssize_t>(sizeof reactor_options.seed)) {
    return refuse(Status(ErrorCode::configuration, "the system has no randomness"));
  }
  Result<std::unique_ptr<reactor::Reactor>> reactor = reactor::Reactor::create(reactor_options);
  if (!reactor.ok()) return refuse(reactor.status());

  const Result<std::unique_ptr<RegionMemory>> memory =
      RegionMemory::create(flags.region_bytes, flags.region_limit_bytes, flags.huge_pages);
  if (!memory.ok()) return refuse(memory.status());
  RegionMemory& region = **memory;
  if (!region.warning().empty()) spdlog::warn("{}", region.warning());
  spdlog::info("region of {} MiB on {} pages, limit {} MiB", region.bytes().size() >> 20,
               region.huge_pages() ? "2 MiB" : "ordinary", region.limit_bytes() >> 20);
  spdlog::info("durability is memory: what is committed is lost when this process ends");

  flags.options.huge_pages = region.huge_pages();
  flags.options.notice = [](const std::string& line) { spdlog::warn("{}", line); };
  Result<std::unique_ptr<MemoryServer>> server =
      MemoryServer::create(**reactor, region.bytes(), flags.options, growth_of(region));
  if (!server.ok()) return refuse(server.status());

  fabric::TransportRegistry transports;
  transports.add(fabric::shm::transport(**reactor));
  transports.add(fabric::tcp::transport(**reactor, tcp_options));
  transports.add(fabric::verbs::transport(**reactor, verbs_options));
  const Result<const fabric::Transport*> transport = transports.find(flags.fabric);
  if (!transport.ok()) return refuse(transport.status());
  const fabric::ServerRegion area{region.bytes().data(), region.bytes().size(), region.limit_bytes(),
                                  region.descriptor()};
  const std::unique_ptr<fabric::ServerFabric> fabric = transport.value()->make_server(area, **server);
  const Status status = (*reactor)->run_until(
      serve(reactor->get(), server->get(), fabric.get(), transport.value(), flags.listen));
  if (!status.ok()) return refuse(status);
  spdlog::info("stopped");
  return 0;
}

}  // namespace
}  // namespace namdb::memory

int main(int argc, char** argv) {
  namdb::install_crash_handler(argv[0]);
  int exit_code = 0;
  std::optional<namdb::memory::Flags> flags = namdb::memory::parse_flags(argc, argv, exit_code);
  if (!flags) return exit_code;
  const namdb::config::DaemonLog log("nam-memoryd", flags->log_level);
  return namdb::memory::run(std::move(*flags));
}
