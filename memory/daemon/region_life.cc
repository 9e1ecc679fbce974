#include "memory/daemon/region_life.h"

#include <spdlog/spdlog.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "common/config/daemon_flags.h"
#include "common/config/daemon_log.h"
#include "common/fabric/local_path.h"
#include "common/fabric/tcp/server.h"
#include "common/fabric/verbs/server.h"
#include "common/placement/configuration.h"
#include "common/service/service_manager.h"
#include "memory/daemon/region_folder.h"
#include "memory/daemon/region_parts.h"
#include "memory/daemon/store_look.h"
#include "memory/daemon/warm_region.h"
#include "memory/metrics/server_watch.h"
#include "memory/opening/checkpoints.h"
#include "memory/opening/durable_database.h"
#include "memory/placement/copies.h"
#include "memory/placement/region_host.h"
#include "memory/process/database_folder.h"
#include "memory/process/region_memory.h"
#include "memory/server/server.h"

namespace namdb::memory {
namespace {

// How long peers get to receive the last replies.
constexpr std::uint64_t kFarewell_ns = 20 * kMillisecond_ns;
// A line of progress promises the service manager another within that time.
constexpr std::uint64_t kOpeningPatience_ns = 60 * kSecond_ns;
// The database in DIR/data. Nothing of it is there at level `memory`.
struct Durable {
  std::unique_ptr<DatabaseFolder> folder;
  FileDisk* disk = nullptr;
  PlaceKeeper* keeper = nullptr;
  std::unique_ptr<DurableDatabase> database;
  std::unique_ptr<RegionHost> host;  // while it serves
  CheckpointOptions pace;
  std::unique_ptr<Checkpoints> checkpoints;      // while it serves
  placement::ConfigurationStore::Stored stored;  // with a configuration store
  std::unique_ptr<Copies> copies;                // while it serves, with a store
  bool deposed = false;                          // a copy had taken over
  Status failure;                                // of the disk
  bool met = false;                              // the others of several memory servers: it listens
  bool signalled = false;                        // the process is to end, whatever becomes of the region
  // Without a store: the region, although this host has not given it up.
  std::optional<placement::Place> elsewhere;
};

// Others have taken this host for dead, and the region is another's by a later word.
void end_if_elsewhere(Durable* durable, MemoryServer* server) {
  server->links().on_elsewhere([durable, server](const placement::Place& place) {
    ServerState& parts = server->parts();
    if (!parts.departed.empty()) return;
    parts.departed =
        "the region of memory server " + std::to_string(parts.options.server_id) + " is at " + place.address;
    parts.notice(parts.departed +
                 " now, although this memory server has not given it up; it ends its service");
    durable->elsewhere = place;
    server->request_shutdown();
  });
}

// The process goes on as another host of the region, unless a signal came, which is delivered only once. As
// host_region() returns.
std::optional<int> without_region(const Durable& durable) {
  if (!durable.signalled) return std::nullopt;
  spdlog::info("stopped");
  return 0;
}

// The folder is never opened again. As host_region() returns.
std::optional<int> leave_region(reactor::Reactor& reactor, const Durable& durable) {
  PlaceRecord record = durable.keeper->record();
  record.state = PlaceState::departed;
  record.claim = 0;
  record.configuration.set(record.server_id, *durable.elsewhere);
  const Status status = reactor.run_until(durable.keeper->store(std::move(record)));
  if (!status.ok()) return disk_failed(status);
  return without_region(durable);
}

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
reactor::Task<void> await_signal(reactor::Signals* signals, MemoryServer* server, Durable* durable,
                                 std::function<void()> reload = {}) {
  Result<int> signal = co_await signals->next();
  while (signal.ok() && *signal == SIGHUP) {
    reload();
    signal = co_await signals->next();
  }
  if (!signal.ok()) co_return;  // cancelled: the end has another reason
  spdlog::info("{}: stopping", signal.value() == SIGTERM ? "SIGTERM" : "SIGINT");
  durable->signalled = true;
  server->request_shutdown();
}

reactor::Task<Status> start_copies(MemoryServer* server, const Process* process, DurableDatabase* database,
                                   Durable* durable) {
  CopiesOptions options;
  options.address = process->flags->store.address;
  options.on_failure = end_at_failure(durable, server);
  durable->copies =
      std::make_unique<Copies>(server->parts(), *durable->disk, database->log(), database->checkpoints(),
                               *durable->keeper, *process->store, durable->stored, std::move(options));
  co_return co_await durable->copies->start();
}

// By the store this host is not the primary.
bool is_elsewhere(const Process& process, const Durable& durable) {
  return durable.stored.revision != 0 &&
         durable.stored.configuration.place(process.flags->options.server_id).address !=
             process.flags->store.address;
}

// One of several memory servers answers the others before it has opened. They act on what its log says, so
// copies have that before.
reactor::Task<Status> listen_to_others(MemoryServer* server, fabric::ServerFabric* fabric,
                                       const Process* process, DurableDatabase* database, Durable* durable) {
  // Once workers may come, its creation must not begin anew.
  Status status = durable->folder->is_new() ? durable->folder->created() : Status();
  if (!status.ok()) co_return status;
  if (process->store != nullptr) {
    auto stored = co_await claim_opening_region(process, durable->folder->identity().database_id,
                                                database->checkpoints().generation(),
                                                [server] { return server->parts().shutdown; });
    if (!stored.ok()) co_return stored.status();
    durable->stored = std::move(*stored);
    if (is_elsewhere(*process, *durable)) co_return opening_ends();
    server->links().learn_places(durable->stored.configuration);
  }
  const Flags* const flags = process->flags;
  server->meet(*fabric, process->transport->make_client);
  durable->met = true;
  if (process->store != nullptr) status = co_await start_copies(server, process, database, durable);
  if (!status.ok()) co_return status;
  spdlog::info("waiting for the other memory servers, to open together");
  status = co_await fabric->listen(flags->listen);
  // The others may look for it where it was, or know that it has gone from here.
  if (status.ok()) server->links().keep_all();
  co_return status;
}

reactor::Task<void> end_copies(Durable* durable) {
  if (durable->copies == nullptr) co_return;
  co_await durable->copies->close();
  durable->deposed = durable->copies->deposed();
  durable->copies.reset();  // it watches the log, which goes next
}

// Creates or opens the database.
reactor::Task<Status> open_database(const Process* process, MemoryServer* server,
                                    fabric::ServerFabric* fabric, WarmRegion* warm, Durable* durable) {
  reactor::Reactor* const reactor = process->reactor;
  const Flags* const flags = process->flags;
  reactor::Signals signals(*reactor, {SIGTERM, SIGINT});
  reactor::Gate gate;
  reactor->spawn(gate, await_signal(&signals, server, durable));
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
  options.meet = [server, fabric, process, durable](DurableDatabase& database) {
    return listen_to_others(server, fabric, process, &database, durable);
  };
  options.part = [durable] { return end_copies(durable); };
  const std::string folder = durable->folder->log().parent_path().string();
  DurableDatabase::Opening opening =
      durable->folder->is_new()
          ? DurableDatabase::create(*reactor, *durable->disk, folder, *server, std::move(options))
      : warm != nullptr
          ? warm->database().open(std::move(options))
          : DurableDatabase::open(*reactor, *durable->disk, folder, *server, std::move(options));
  auto database = co_await std::move(opening);
  co_await signals.cancel();
  co_await gate.close();
  if (!database.ok()) co_return database.status();
  durable->database = std::move(*database);
  Status status = durable->failure;
  if (status.ok() && durable->folder->is_new()) status = durable->folder->created();
  if (!status.ok()) {
    co_await end_copies(durable);
    co_await durable->database->close();
  }
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
  Status status;
  if (durable->database) {
    if (process->store != nullptr && !durable->copies)
      status = co_await start_copies(server, process, durable->database.get(), durable);
    start_checkpoints(server, durable);
    const Opened& opened = durable->database->opened();
    if (!opened.lost.empty() || opened.damaged_chunks != 0)
      reactor->spawn(damage, pass_damage(durable->checkpoints.get()));
  }
  if (status.ok() && !durable->met) status = co_await fabric->listen(flags->listen);
  if (status.ok()) {
    reactor::Signals signals(*reactor, {SIGTERM, SIGINT, SIGHUP});
    reactor::Gate gate;
    const auto reload = [command_line, durable] {
      reload_settings(command_line, durable->checkpoints.get());
    };
    reactor->spawn(gate, await_signal(&signals, server, durable, reload));
    spdlog::info("ready at {} ({})", listening_address(*fabric, flags->listen), fabric->name());
    tell_how_long_away(*process);
    if (!watch->address().empty()) spdlog::info("metrics at http://{}/metrics", watch->address());
    service::tell_ready("Serves compute servers");
    watch->start();
    co_await server->shutdown_requested();
    // Otherwise the process goes on without its region.
    if (server->parts().departed.empty()) service::tell_stopping();
    co_await watch->close();
    // A region that has gone is waited for elsewhere.
    if (server->parts().departed.empty()) co_await reactor->sleep_for(kFarewell_ns);
    co_await signals.cancel();
    co_await gate.close();
  }
  if (durable->copies) durable->copies->stop_soon();
  co_await server->stop();
  if (durable->host) co_await durable->host->close();
  if (durable->checkpoints) co_await durable->checkpoints->close();
  if (durable->copies) co_await durable->copies->close();
  co_await damage.close();
  co_await fabric->close();
  if (durable->database) co_await durable->database->close();
  co_return status;
}

int stopped_early() {
  spdlog::info("stopped while the database opened");
  return 0;
}

}  // namespace

std::optional<int> host_region(const Process& process) {
  reactor::Reactor& reactor = *process.reactor;
  Flags& flags = *process.flags;
  const fabric::Transport& transport = *process.transport;
  Result<std::unique_ptr<DatabaseFolder>> database_folder = open_folder(reactor, transport, flags);
  if (!database_folder.ok() && database_folder.status().code() == ErrorCode::admin_shutdown)
    return stopped_early();
  if (!database_folder.ok()) return refuse(database_folder.status());

  const std::unique_ptr<WarmRegion> warm = std::move(*process.warm);
  const bool opens_data = *database_folder && !(*database_folder)->is_new();
  Result<RegionParts> made =
      warm != nullptr ? RegionParts()
                      : make_region(reactor, flags, opens_data ? Missing(end_without_memory) : nullptr);
  if (!made.ok()) return refuse(made.status());
  RegionParts& parts = warm != nullptr ? warm->parts() : *made;
  RegionMemory& region = *parts.memory;
  MemoryServer* const server = parts.server.get();
  if (flags.options.durability == Durability::memory)
    spdlog::info("durability is memory: all commits are lost when this process ends");

  const fabric::ServerRegion area{region.bytes().data(), region.bytes().size(), region.limit_bytes(),
                                  region.descriptor()};
  if (!flags.listen_local.empty())
    spdlog::info("compute servers on this machine may map the region: {}", flags.listen_local);
  const std::unique_ptr<fabric::ServerFabric> fabric =
      make_fabric(reactor, transport, area, *server, flags.listen_local);
  Durable durable;
  metrics::DaemonWatch::Subject subject = watched(*server, *fabric);
  subject.add_metrics = [add_server = subject.add_metrics, &durable, &flags](metrics::MetricPage& page) {
    add_server(page);
    if (durable.copies == nullptr) return;
    page.gauge("namdb_memory_copies_wanted", "Copies that the region is to have, beside its primary.",
               metrics::amount(std::uint64_t{flags.store.copies} - 1));
    page.gauge("namdb_memory_copies_in_sync", "Copies of the region that may take it over.",
               metrics::amount(durable.copies->in_sync()));
    page.gauge("namdb_memory_copy_lag_bytes",
               "Bytes of the log that a copy lacks: of the one that lacks most, or of this copy.",
               metrics::amount(durable.copies->lag_bytes()));
  };
  const auto watch = metrics::DaemonWatch::create(reactor, std::move(subject), flags.service.metrics_listen);
  if (!watch.ok()) {
    reactor.run_until(leave_others(server, fabric.get(), false));
    return refuse(watch.status());
  }
  durable.folder = std::move(*database_folder);
  durable.disk = process.disk;
  durable.keeper = process.keeper;
  durable.pace.interval_ns = flags.checkpoint_interval_ns;
  durable.pace.rate_bytes = flags.checkpoint_rate_bytes;
  server->parts().has_store = process.store != nullptr;
  if (durable.folder) {
    durable.keeper->know_database(durable.folder->identity().database_id);
    server->links().learn_places(durable.keeper->record().configuration);
    if (process.store == nullptr) end_if_elsewhere(&durable, server);
    const Status status =
        reactor.run_until(open_database(&process, server, fabric.get(), warm.get(), &durable));
    if (!status.ok()) reactor.run_until(leave_others(server, fabric.get(), durable.met));
    if (!durable.failure.ok()) return disk_failed(durable.failure);
    if (!status.ok() && durable.elsewhere) return leave_region(reactor, durable);
    // A copy has taken over meanwhile, or before.
    if (!status.ok() && durable.deposed) return without_region(durable);
    if (!status.ok() && is_elsewhere(process, durable)) {
      const Status failed = become_copy(process, durable.stored);
      return failed.ok() ? without_region(durable) : std::optional<int>(refuse(failed));
    }
    if (!status.ok() && status.code() == ErrorCode::admin_shutdown) return stopped_early();
    if (!status.ok() && warm != nullptr && !durable.met) {
      spdlog::error("what was kept of the copy in memory is of no use, and it opens from its folder: {}",
                    status.message());
      return without_region(durable);
    }
    if (!status.ok()) return refuse(status);
    tell_what_opened(durable);
  }
  if (process.store != nullptr && !durable.copies) {
    auto stored = claim_opened_region(process, durable.folder->identity().database_id,
                                      durable.database->checkpoints().generation());
    Status failed = stored.status();
    if (failed.ok()) durable.stored = std::move(*stored);
    const bool elsewhere = is_elsewhere(process, durable);
    if (elsewhere) failed = become_copy(process, durable.stored);
    if (elsewhere || !failed.ok()) {
      reactor.run_until(leave_others(server, fabric.get(), durable.met));
      reactor.run_until(durable.database->close());
      if (failed.ok()) return without_region(durable);
      return failed.code() == ErrorCode::admin_shutdown ? stopped_early() : refuse(failed);
    }
    server->links().learn_places(durable.stored.configuration);
  }

  const Status status =
      reactor.run_until(serve(&reactor, server, fabric.get(), &process, &durable, watch->get()));
  if (!durable.failure.ok()) return disk_failed(durable.failure);
  if (!status.ok()) return refuse(status);
  if (ended_without_memory()) return config::kExitFailure;
  if (durable.elsewhere) return leave_region(reactor, durable);
  if (durable.keeper != nullptr && durable.keeper->record().state != PlaceState::here)
    return without_region(durable);
  spdlog::info("stopped");
  return 0;
}

}  // namespace namdb::memory
