// nam-memoryd: the memory server as a daemon. The composition root: only here are the concrete executor,
// transports and memory named.
#include <malloc.h>
#include <spdlog/spdlog.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>

#include "common/base/crash_handler.h"
#include "common/config/daemon_flags.h"
#include "common/config/daemon_log.h"
#include "common/config/data_folder.h"
#include "common/fabric/cluster_key.h"
#include "common/fabric/local_path.h"
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
#include "common/service/service_manager.h"
#include "memory/log/file_disk.h"
#include "memory/metrics/server_watch.h"
#include "memory/opening/checkpoints.h"
#include "memory/opening/durable_database.h"
#include "memory/opening/host_opening.h"
#include "memory/placement/place_record.h"
#include "memory/placement/region_host.h"
#include "memory/placement/vacancy.h"
#include "memory/process/database_folder.h"
#include "memory/process/flags.h"
#include "memory/process/region_memory.h"
#include "memory/process/restore.h"
#include "memory/server/server.h"

namespace namdb::memory {
namespace {

// How long peers get to receive the last replies.
constexpr std::uint64_t kFarewell_ns = 20 * kMillisecond_ns;
// Of the log on disk: parts of its bound, and their greatest length.
constexpr std::uint64_t kLogSegments = 8;
constexpr std::uint64_t kMaxLogSegment_bytes = 64U << 20;
// Between two attempts to reach memory server 0.
constexpr std::uint64_t kAskAgain_ns = 200 * kMillisecond_ns;
// A line of progress promises the service manager another within that time.
constexpr std::uint64_t kOpeningPatience_ns = 60 * kSecond_ns;

int refuse(const Status& status) {
  spdlog::error("{}{}", status.message(), status.hint().empty() ? "" : " (" + status.hint() + ")");
  return config::exit_code_of(status.code());
}

// Those that the process was started with.
struct CommandLine {
  int argc;
  char** argv;
};

// The parts that last as long as the process.
struct Process {
  reactor::Reactor* reactor;
  const fabric::Transport* transport;
  Flags* flags;
  CommandLine command_line;
  FileDisk* disk;
  PlaceKeeper* keeper;           // null at level `memory`
  std::uint64_t* away_since_ns;  // when the region that has come was paused where it was; 0: it was not
};

// The database in DIR/data. Nothing of it is there at level `memory`.
struct Durable {
  std::unique_ptr<DatabaseFolder> folder;
  FileDisk* disk = nullptr;
  PlaceKeeper* keeper = nullptr;
  std::unique_ptr<DurableDatabase> database;
  std::unique_ptr<RegionHost> host;  // while it serves
  CheckpointOptions pace;
  std::unique_ptr<Checkpoints> checkpoints;  // while it serves
  Status failure;                            // of the disk
  bool met = false;                          // the others of several memory servers: it listens
};

// Called when a write or a sync has failed: nothing more becomes durable.
std::function<void(const Status&)> end_at_failure(Durable* durable, MemoryServer* server) {
  return [durable, server](const Status& failure) {
    // The log has ended, for it goes on elsewhere.
    if (!server->parts().departed.empty()) return;
    if (durable->failure.ok()) durable->failure = failure;
    server->request_shutdown();
  };
}

// Until a signal that ends the process. `reload`: at each SIGHUP.
reactor::Task<void> await_signal(reactor::Signals* signals, MemoryServer* server,
                                 std::function<void()> reload = {}) {
  Result<int> signal = co_await signals->next();
  while (signal.ok() && *signal == SIGHUP) {
    reload();
    signal = co_await signals->next();
  }
  if (!signal.ok()) co_return;  // cancelled: the end has another reason
  spdlog::info("{}: stopping", signal.value() == SIGTERM ? "SIGTERM" : "SIGINT");
  server->request_shutdown();
}

reactor::Task<void> await_end(reactor::Signals* signals, bool* stopping, std::function<void()> stop = {}) {
  *stopping = (co_await signals->next()).ok();
  if (*stopping && stop) stop();
}

Result<std::uint64_t> random_word() {
  std::uint64_t word = 0;
  while (word == 0) {
    if (::getrandom(&word, sizeof word, 0) != static_cast<ssize_t>(sizeof word))
      return Status(ErrorCode::configuration, "the system has no randomness");
  }
  return word;
}

LogOptions log_options(const Flags& flags) {
  LogOptions options;
  options.max_bytes = flags.log_bytes;
  options.segment_bytes = std::min(std::bit_floor(flags.log_bytes / kLogSegments), kMaxLogSegment_bytes);
  options.reserve_bytes = std::min(options.reserve_bytes, options.segment_bytes / 2);
  return options;
}

// A new folder of another server than 0 gets server 0's database. Waits for server 0, until a signal comes.
reactor::Task<Result<std::uint64_t>> ask_for_database(reactor::Reactor* reactor,
                                                      const fabric::Transport* transport,
                                                      const Flags* flags) {
  reactor::Signals signals(*reactor, {SIGTERM, SIGINT});
  reactor::Gate gate;
  bool stopping = false;
  reactor->spawn(gate, await_end(&signals, &stopping));
  const std::unique_ptr<fabric::ClientFabric> fabric = transport->make_client();
  const std::string& address = flags->options.memory_servers.front();
  LinkOptions options;
  options.server_id = flags->options.server_id;
  options.server_count = flags->options.server_count;
  Result<std::uint64_t> id = opening_ends();
  std::string told;
  while (!stopping) {
    id = co_await ask_database_id(fabric.get(), &reactor->random(), address, options);
    if (id.ok() || id.status().code() == ErrorCode::configuration) break;
    if (id.status().message() != told) {
      spdlog::warn("waiting for memory server 0 at {}: {}", address, id.status().message());
      service::tell_status("Waiting for memory server 0 at " + address);
    }
    told = id.status().message();
    co_await reactor->sleep_for(kAskAgain_ns);
    id = opening_ends();
  }
  co_await signals.cancel();
  co_await gate.close();
  co_return id;
}

Result<std::uint64_t> new_database_id(reactor::Reactor& reactor, const fabric::Transport& transport,
                                      const Flags& flags, const std::filesystem::path& path) {
  if (DatabaseFolder::exists(path) || flags.options.server_id == 0) return random_word();
  return reactor.run_until(ask_for_database(&reactor, &transport, &flags));
}

// The folder of the database, which fits the level of durability; null at level `memory`.
Result<std::unique_ptr<DatabaseFolder>> open_folder(reactor::Reactor& reactor,
                                                    const fabric::Transport& transport, const Flags& flags) {
  const std::filesystem::path path = std::filesystem::path(flags.data) / "data";
  if (flags.options.durability == Durability::memory) {
    if (!DatabaseFolder::exists(path)) return std::unique_ptr<DatabaseFolder>();
    return Status(ErrorCode::configuration,
                  path.string() + " has a database whose durability is flushed, not memory",
                  "start with --durability flushed, or with another --data");
  }
  if (!flags.restore.empty()) {
    const Status restored = restore_database(flags.restore, path);
    if (!restored.ok()) return restored;
    spdlog::info("restored {} from {}", path.string(), flags.restore);
  }
  const auto new_id = new_database_id(reactor, transport, flags, path);
  if (!new_id.ok()) return new_id.status();
  DatabaseFolder::Wanted wanted;
  wanted.new_database_id = *new_id;
  wanted.server_id = flags.options.server_id;
  wanted.version = flags.options.version;
  return DatabaseFolder::open(path, wanted);
}

// One of several memory servers answers the others before it has opened.
reactor::Task<Status> listen_to_others(MemoryServer* server, fabric::ServerFabric* fabric,
                                       const fabric::Transport* transport, const Flags* flags,
                                       Durable* durable) {
  // Once workers may come, its creation must not begin anew.
  Status status = durable->folder->is_new() ? durable->folder->created() : Status();
  if (!status.ok()) co_return status;
  server->meet(*fabric, transport->make_client);
  durable->met = true;
  spdlog::info("waiting for the other memory servers, to open together");
  co_return co_await fabric->listen(flags->listen);
}

// Creates or opens the database.
reactor::Task<Status> open_database(reactor::Reactor* reactor, MemoryServer* server,
                                    fabric::ServerFabric* fabric, const fabric::Transport* transport,
                                    const Flags* flags, Durable* durable) {
  reactor::Signals signals(*reactor, {SIGTERM, SIGINT});
  reactor::Gate gate;
  reactor->spawn(gate, await_signal(&signals, server));
  DurableOptions options;
  options.database_id = durable->folder->identity().database_id;
  options.log = log_options(*flags);
  options.log.on_failure = end_at_failure(durable, server);
  options.force_lost_log = flags->force_lost_log;
  options.force_unfit_entries = flags->force_unfit_entries;
  options.stopping = [server] { return server->parts().shutdown; };
  options.progress = [](const std::string& line) {
    spdlog::info("opening, {}", line);
    service::tell_progress("Opens the database: " + line, kOpeningPatience_ns);
  };
  options.meet = [server, fabric, transport, flags, durable] {
    return listen_to_others(server, fabric, transport, flags, durable);
  };
  const std::string folder = durable->folder->log().parent_path().string();
  DurableDatabase::Opening opening =
      durable->folder->is_new()
          ? DurableDatabase::create(*reactor, *durable->disk, folder, *server, std::move(options))
          : DurableDatabase::open(*reactor, *durable->disk, folder, *server, std::move(options));
  auto database = co_await std::move(opening);
  co_await signals.cancel();
  co_await gate.close();
  if (!database.ok()) co_return database.status();
  durable->database = std::move(*database);
  Status status = durable->failure;
  if (status.ok() && durable->folder->is_new()) status = durable->folder->created();
  if (!status.ok()) co_await durable->database->close();
  co_return status;
}

// Behind an opening that failed. `met`: others could reach the server.
reactor::Task<void> leave_others(MemoryServer* server, fabric::ServerFabric* fabric, bool met) {
  if (met) co_await server->stop();
  co_await fabric->close();
}

void tell_what_opened(const Durable& durable) {
  const Opened& opened = durable.database->opened();
  spdlog::info("durability is flushed: {}", opened.text());
  if (opened.damaged_chunks != 0) {
    spdlog::warn("{} chunks of the newest checkpoint are damaged: the one before served, and nothing is lost",
                 opened.damaged_chunks);
  }
  for (const std::string& line : opened.lost) spdlog::error("lost: {}", line);
}

// With the port that the system chose where 0 was asked for.
std::string listening_address(const fabric::ServerFabric& fabric, const std::string& asked) {
  const auto* both = dynamic_cast<const fabric::LocalPathServer*>(&fabric);
  if (both != nullptr) return listening_address(both->remote(), asked);
  const auto* tcp = dynamic_cast<const fabric::tcp::TcpServerFabric*>(&fabric);
  if (tcp != nullptr) return tcp->address();
  const auto* verbs = dynamic_cast<const fabric::verbs::VerbsServerFabric*>(&fabric);
  return verbs != nullptr ? verbs->address() : asked;
}

void start_checkpoints(MemoryServer* server, Durable* durable) {
  DurableDatabase& database = *durable->database;
  CheckpointOptions options = durable->pace;
  options.folder =
      std::filesystem::absolute(durable->folder->log().parent_path()).lexically_normal().string();
  options.on_failure = end_at_failure(durable, server);
  durable->checkpoints = std::make_unique<Checkpoints>(
      server->parts(), database.log(), database.checkpoints(), database.sweep_log(), std::move(options));
  durable->checkpoints->start();
  durable->host = std::make_unique<RegionHost>(server->parts(), *durable->disk, database.log(),
                                               *durable->keeper, end_at_failure(durable, server));
  durable->host->start();
}

// Settings that can change while it serves, from the configuration as it is now.
void reload_settings(const CommandLine& command_line, Checkpoints* checkpoints) {
  const Result<Flags> flags = reread_flags(command_line.argc, command_line.argv);
  if (!flags.ok()) {
    spdlog::error("SIGHUP: settings stay as they were: {}", flags.status().message());
    return;
  }
  config::DaemonLog::set_level(flags->service.log_level);
  if (checkpoints != nullptr)
    checkpoints->set_pace(flags->checkpoint_interval_ns, flags->checkpoint_rate_bytes);
  spdlog::info("SIGHUP: log-level, checkpoint-seconds and checkpoint-rate are read again");
}

// Behind what is damaged.
reactor::Task<void> pass_damage(Checkpoints* checkpoints) {
  control::CheckpointReply reply;
  const CheckpointService::Gone nobody = [] { return false; };
  const Status status = co_await checkpoints->make(0, CheckpointService::Pace::fast, nobody, &reply);
  if (status.ok()) spdlog::info("a checkpoint lies behind the damage");
}

void tell_how_long_away(const Process& process) {
  if (*process.away_since_ns == 0) return;
  const std::uint64_t duration_ns = process.reactor->now_ns() - std::exchange(*process.away_since_ns, 0);
  spdlog::info("the region has come here; it was away for {:.3f} s", static_cast<double>(duration_ns) / 1e9);
}

reactor::Task<Status> serve(reactor::Reactor* reactor, MemoryServer* server, fabric::ServerFabric* fabric,
                            const Process* process, Durable* durable, metrics::DaemonWatch* watch) {
  const Flags* const flags = process->flags;
  const CommandLine command_line = process->command_line;
  server->start(*fabric, process->transport->make_client);
  reactor::Gate damage;
  if (durable->database) {
    start_checkpoints(server, durable);
    const Opened& opened = durable->database->opened();
    if (!opened.lost.empty() || opened.damaged_chunks != 0)
      reactor->spawn(damage, pass_damage(durable->checkpoints.get()));
  }
  Status status;
  if (!durable->met) status = co_await fabric->listen(flags->listen);
  if (status.ok()) {
    reactor::Signals signals(*reactor, {SIGTERM, SIGINT, SIGHUP});
    reactor::Gate gate;
    const auto reload = [command_line, durable] {
      reload_settings(command_line, durable->checkpoints.get());
    };
    reactor->spawn(gate, await_signal(&signals, server, reload));
    spdlog::info("ready at {} ({})", listening_address(*fabric, flags->listen), fabric->name());
    tell_how_long_away(*process);
    if (!watch->address().empty()) spdlog::info("metrics at http://{}/metrics", watch->address());
    service::tell_ready("Serves compute servers");
    watch->start();
    co_await server->shutdown_requested();
    // Otherwise the process goes on without its region.
    if (server->parts().departed.empty()) service::tell_stopping();
    co_await watch->close();
    co_await reactor->sleep_for(kFarewell_ns);
    co_await signals.cancel();
    co_await gate.close();
  }
  co_await server->stop();
  if (durable->host) co_await durable->host->close();
  if (durable->checkpoints) co_await durable->checkpoints->close();
  co_await damage.close();
  co_await fabric->close();
  if (durable->database) co_await durable->database->close();
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

std::unique_ptr<fabric::ServerFabric> make_fabric(reactor::Reactor& reactor,
                                                  const fabric::Transport& transport,
                                                  const fabric::ServerRegion& region, fabric::Service& server,
                                                  const std::string& listen_local) {
  auto fabric = transport.make_server(region, server);
  if (listen_local.empty()) return fabric;
  return std::make_unique<fabric::LocalPathServer>(
      std::move(fabric), fabric::shm::local_server(reactor, region, server), listen_local);
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
      service::tell_status("Waiting for the address to listen at: " + status.message());
    }
    told = status.message();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

int stopped_early() {
  spdlog::info("stopped while the database opened");
  return 0;
}

int disk_failed(const Status& failure) {
  spdlog::error("{}, and this memory server ends", failure.message());
  return config::kExitFailure;
}

std::atomic<bool> without_memory{false};

// On the thread that allocates the region, while others run.
void end_without_memory(const Status& why) {
  spdlog::error("{}, and this memory server ends", why.message());
  without_memory = true;
  ::kill(::getpid(), SIGTERM);
}

// The process has the region, and serves it. nullopt: it has given the region up; otherwise the exit code.
std::optional<int> host_region(const Process& process) {
  reactor::Reactor& reactor = *process.reactor;
  Flags& flags = *process.flags;
  const fabric::Transport& transport = *process.transport;
  Result<std::unique_ptr<DatabaseFolder>> database_folder = open_folder(reactor, transport, flags);
  if (!database_folder.ok() && database_folder.status().code() == ErrorCode::admin_shutdown)
    return stopped_early();
  if (!database_folder.ok()) return refuse(database_folder.status());

  const bool opens_data = *database_folder && !(*database_folder)->is_new();
  const Result<std::unique_ptr<RegionMemory>> memory = RegionMemory::create(
      flags.region_bytes, flags.region_limit_bytes, flags.huge_pages, [] { return memory_limits(); },
      opens_data ? Missing(end_without_memory) : nullptr);
  if (!memory.ok()) return refuse(memory.status());
  RegionMemory& region = **memory;
  if (!region.warning().empty()) spdlog::warn("{}", region.warning());
  spdlog::info("region of {} MiB on {} pages, limit {} MiB", region.bytes().size() >> 20,
               region.huge_pages() ? "2 MiB" : "ordinary", region.limit_bytes() >> 20);
  if (flags.options.durability == Durability::memory)
    spdlog::info("durability is memory: what is committed is lost when this process ends");

  flags.options.huge_pages = region.huge_pages();
  flags.options.notice = [](const std::string& line) { spdlog::warn("{}", line); };
  Result<std::unique_ptr<MemoryServer>> server =
      MemoryServer::create(reactor, region.bytes(), flags.options, growth_of(region));
  if (!server.ok()) return refuse(server.status());
  const fabric::ServerRegion area{region.bytes().data(), region.bytes().size(), region.limit_bytes(),
                                  region.descriptor()};
  if (!flags.listen_local.empty())
    spdlog::info("compute servers on this machine may map the region: {}", flags.listen_local);
  const std::unique_ptr<fabric::ServerFabric> fabric =
      make_fabric(reactor, transport, area, **server, flags.listen_local);
  const auto watch =
      metrics::DaemonWatch::create(reactor, watched(**server, *fabric), flags.service.metrics_listen);
  if (!watch.ok()) {
    reactor.run_until(leave_others(server->get(), fabric.get(), false));
    return refuse(watch.status());
  }
  Durable durable;
  durable.folder = std::move(*database_folder);
  durable.disk = process.disk;
  durable.keeper = process.keeper;
  durable.pace.interval_ns = flags.checkpoint_interval_ns;
  durable.pace.rate_bytes = flags.checkpoint_rate_bytes;
  if (durable.folder) {
    durable.keeper->know_database(durable.folder->identity().database_id);
    (*server)->links().learn_places(durable.keeper->record().configuration);
    const Status status =
        reactor.run_until(open_database(&reactor, server->get(), fabric.get(), &transport, &flags, &durable));
    if (!status.ok()) reactor.run_until(leave_others(server->get(), fabric.get(), durable.met));
    if (!durable.failure.ok()) return disk_failed(durable.failure);
    if (!status.ok() && status.code() == ErrorCode::admin_shutdown) return stopped_early();
    if (!status.ok()) return refuse(status);
    tell_what_opened(durable);
  }

  const Status status =
      reactor.run_until(serve(&reactor, server->get(), fabric.get(), &process, &durable, watch->get()));
  if (!durable.failure.ok()) return disk_failed(durable.failure);
  if (!status.ok()) return refuse(status);
  if (without_memory) return config::kExitFailure;
  if (durable.keeper != nullptr && durable.keeper->record().state == PlaceState::departed)
    return std::nullopt;
  spdlog::info("stopped");
  return 0;
}

std::string vacancy_text(const PlaceRecord& record) {
  const std::string name = "memory server " + std::to_string(record.server_id);
  if (record.state != PlaceState::departed) return "waits for the region of " + name;
  return "the region of " + name + " is at " + record.configuration.place(record.server_id).address;
}

// The region is elsewhere. Until one has come, or a signal or a tool ends the process.
reactor::Task<Status> stay_vacant(const Process* process, Vacancy* vacancy, metrics::DaemonWatch* watch) {
  reactor::Signals signals(*process->reactor, {SIGTERM, SIGINT});
  reactor::Gate gate;
  bool stopping = false;
  bool listens = false;
  const auto stop = [vacancy] { vacancy->stop(); };
  process->reactor->spawn(gate, await_end(&signals, &stopping, stop));
  const auto listening = [process, watch, &listens] {
    const std::string text = vacancy_text(process->keeper->record());
    spdlog::info("ready at {}: {}", process->flags->listen, text);
    service::tell_ready(text);
    watch->start();
    listens = true;
  };
  const Status status = co_await vacancy->run(process->flags->listen, listening);
  if (listens) co_await watch->close();
  co_await signals.cancel();
  co_await gate.close();
  co_return status;
}

// nullopt: a region has come, and the folder has an identity; otherwise the exit code.
std::optional<int> host_nothing(const Process& process) {
  const Flags& flags = *process.flags;
  const Result<std::unique_ptr<RegionMemory>> memory =
      RegionMemory::create(RegionMemory::kUnit_bytes, RegionMemory::kUnit_bytes, HugePages::never);
  if (!memory.ok()) return refuse(memory.status());
  const fabric::ServerRegion area{(*memory)->bytes().data(), (*memory)->bytes().size(),
                                  (*memory)->limit_bytes(), (*memory)->descriptor()};
  ArrivalOptions options;
  options.server_id = flags.options.server_id;
  options.server_count = flags.options.server_count;
  options.notice = [](const std::string& line) { spdlog::info("{}", line); };
  const Vacancy::MakeServer make_server = [&process, &flags, &area](fabric::Service& service) {
    return make_fabric(*process.reactor, *process.transport, area, service, flags.listen_local);
  };
  Vacancy vacancy(*process.reactor, process.transport->make_client(), make_server, *process.disk,
                  *process.keeper, std::move(options));
  PlaceKeeper* const keeper = process.keeper;
  const auto watch =
      metrics::DaemonWatch::create(*process.reactor,
                                   {.add_metrics = [](metrics::MetricPage&) {},
                                    .status = [keeper] { return vacancy_text(keeper->record()); },
                                    .is_well = [] { return true; }},
                                   flags.service.metrics_listen);
  if (!watch.ok()) return refuse(watch.status());
  const Status status = process.reactor->run_until(stay_vacant(&process, &vacancy, watch->get()));
  if (!status.ok() && status.code() == kDiskFailed) return disk_failed(status);
  if (!status.ok()) return refuse(status);
  *process.away_since_ns = vacancy.paused_ns();
  if (process.keeper->record().state == PlaceState::here) return std::nullopt;
  spdlog::info("stopped");
  return 0;
}

// Of a region that has come.
Status adopt_folder(const Flags& flags, const PlaceRecord& record) {
  const std::filesystem::path path = std::filesystem::path(flags.data) / "data";
  if (record.state != PlaceState::here || record.database_id == 0 || DatabaseFolder::exists(path))
    return Status();
  FolderIdentity identity;
  identity.database_id = record.database_id;
  identity.server_id = record.server_id;
  identity.written_by = flags.options.version;
  return DatabaseFolder::adopt(path, std::move(identity));
}

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
  Result<std::unique_ptr<PlaceKeeper>> keeper = std::unique_ptr<PlaceKeeper>();
  if (flags.options.durability == Durability::flushed) {
    const bool waits = flags.join && !DatabaseFolder::exists(data);
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
  const Process process{reactor->get(), *transport,    &flags,        command_line,
                        &disk,          keeper->get(), &away_since_ns};
  while (true) {
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
