// nam-memoryd: the memory server as a daemon. The composition root: it makes the executor, the transports and
// the disk, and lives with the folder's region (daemon/region_life.h) or without it (daemon/vacant_life.h).
#include <malloc.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "common/base/crash_handler.h"
#include "common/config/daemon_log.h"
#include "common/config/data_folder.h"
#include "common/fabric/cluster_key.h"
#include "common/fabric/registry.h"
#include "common/fabric/shm/transport.h"
#include "common/fabric/tcp/client.h"
#include "common/fabric/tcp/transport.h"
#include "common/fabric/verbs/transport.h"
#include "common/placement/store/open_store.h"
#include "common/reactor/reactor.h"
#include "common/reactor/socket_address.h"
#include "common/service/service_manager.h"
#include "memory/daemon/process.h"
#include "memory/daemon/region_life.h"
#include "memory/daemon/store_look.h"
#include "memory/daemon/vacant_life.h"
#include "memory/daemon/warm_region.h"
#include "memory/log/file_disk.h"
#include "memory/placement/place_record.h"
#include "memory/process/database_folder.h"
#include "memory/process/flags.h"

namespace namdb::memory {
namespace {

// A name may be known only when the network is: waits as long as that takes. Signals end the process.
void await_name(const std::string& address) {
  std::string told;
  while (true) {
    const Status status = reactor::SocketAddress::resolve(address, true).status();
    // listen() says what else is wrong.
    if (status.ok() || status.code() != ErrorCode::connection_failure) return;
    if (status.message() != told) {
      spdlog::warn("waiting for the address to listen at: {}", status.message());
      service::tell_status("Waiting for the address to listen at: " + status.message());
    }
    told = status.message();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

struct CloseStore {
  reactor::Reactor* reactor;
  placement::ConfigurationStore* store;  // null: there is none

  CloseStore(reactor::Reactor* with, placement::ConfigurationStore* closed) : reactor(with), store(closed) {}
  CloseStore(const CloseStore&) = delete;
  CloseStore& operator=(const CloseStore&) = delete;
  ~CloseStore() {
    if (store != nullptr) reactor->run_until(store->close());
  }
};

int run(Flags flags, const CommandLine& command_line) {
  const Result<std::unique_ptr<config::DataFolder>> folder =
      config::DataFolder::open(flags.data, "nam-memoryd");
  if (!folder.ok()) return refuse(folder.status());
  fabric::tcp::TcpOptions tcp_options;
  tcp_options.encryption = fabric::tcp::encryption_of(flags.fabric_encryption);
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
  // Kept until it serves.
  sigset_t hang_up;
  ::sigemptyset(&hang_up);
  ::sigaddset(&hang_up, SIGHUP);
  ::pthread_sigmask(SIG_BLOCK, &hang_up, nullptr);
  await_name(flags.listen);
  reactor::ReactorOptions reactor_options;
  const Result<std::uint64_t> seed = random_word();
  if (!seed.ok()) return refuse(seed.status());
  reactor_options.seed = *seed;
  Result<std::unique_ptr<reactor::Reactor>> reactor = reactor::Reactor::create(reactor_options);
  if (!reactor.ok()) return refuse(reactor.status());

  fabric::TransportRegistry transports;
  transports.add(fabric::shm::transport(**reactor));
  transports.add(fabric::tcp::transport(**reactor, tcp_options));
  transports.add(fabric::verbs::transport(**reactor, verbs_options));
  const Result<const fabric::Transport*> transport = transports.find(flags.fabric);
  if (!transport.ok()) return refuse(transport.status());
  FileDisk disk(**reactor);
  const std::filesystem::path data = std::filesystem::path(flags.data) / "data";
  Result<std::unique_ptr<placement::ConfigurationStore>> store =
      std::unique_ptr<placement::ConfigurationStore>();
  if (flags.store.has_store()) store = placement::open_store(**reactor, flags.store.options());
  if (!store.ok()) return refuse(store.status());
  const CloseStore close_store{reactor->get(), store->get()};
  Result<std::unique_ptr<PlaceKeeper>> keeper = std::unique_ptr<PlaceKeeper>();
  if (flags.options.durability == Durability::flushed) {
    const bool waits = flags.join && !DatabaseFolder::exists(data);
    if (flags.store.has_store() && !flags.store.server_named) {
      // It was told later.
      const auto found = (*reactor)->run_until(PlaceKeeper::load(disk, data.string()));
      if (!found.ok()) return refuse(found.status());
      if (*found) flags.options.server_id = (*found)->server_id;
    }
    keeper = (*reactor)->run_until(
        PlaceKeeper::open(disk, data.string(), flags.options.server_id, flags.options.server_count, waits));
  }
  if (!keeper.ok()) return refuse(keeper.status());
  if (flags.force_claim && *keeper && (*keeper)->record().state == PlaceState::whole) {
    const Status status = (*reactor)->run_until((*keeper)->take_by_force());
    if (!status.ok()) return refuse(status);
    spdlog::error(
        "the region that was at {} is taken although that host has not given it up; it must never start "
        "again",
        (*keeper)->record().from);
  }
  std::uint64_t away_since_ns = 0;
  std::unique_ptr<WarmRegion> warm;
  const Process process{reactor->get(), *transport,     &flags,       command_line, &disk,
                        keeper->get(),  &away_since_ns, store->get(), &warm};
  while (true) {
    if (const std::optional<int> code = look_at_store(process)) return *code;
    const bool vacant = process.keeper != nullptr && process.keeper->record().state != PlaceState::here;
    if (!vacant && process.keeper != nullptr) {
      const Status status = adopt_folder(flags, process.keeper->record());
      if (!status.ok()) return refuse(status);
    }
    const std::optional<int> code = vacant ? host_nothing(process) : host_region(process);
    if (code) return *code;
  }
}

}  // namespace
}  // namespace namdb::memory

int main(int argc, char** argv) {
  namdb::install_crash_handler(argv[0]);
  // Buffers stay in the heap: to map and unmap one waits for the thread that allocates the region's pages.
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 256 << 20);
  int exit_code = 0;
  std::optional<namdb::memory::Flags> flags = namdb::memory::parse_flags(argc, argv, exit_code);
  if (!flags) return exit_code;
  const namdb::config::DaemonLog log("nam-memoryd", flags->service.log_level, flags->service.log_format);
  return namdb::memory::run(std::move(*flags), {argc, argv});
}
