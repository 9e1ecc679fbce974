#include "memory/daemon/vacant_life.h"

#include <spdlog/spdlog.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "common/config/daemon_flags.h"
#include "common/metrics/daemon_watch.h"
#include "common/service/service_manager.h"
#include "memory/daemon/region_parts.h"
#include "memory/daemon/warm_region.h"
#include "memory/placement/vacancy.h"
#include "memory/process/database_folder.h"
#include "memory/process/region_memory.h"

namespace namdb::memory {
namespace {

std::string vacancy_text(const PlaceRecord& record) {
  const std::string name = "memory server " + std::to_string(record.server_id);
  const std::string& address = record.configuration.place(record.server_id).address;
  const bool copies = record.state == PlaceState::joins || record.state == PlaceState::follows;
  if (copies)
    return "has a copy of the region of " + name + (address.empty() ? "" : ", which is at " + address);
  if (record.state != PlaceState::departed) return "waits for the region of " + name;
  return "the region of " + name + " is at " + address;
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

Result<std::unique_ptr<CopyImage>> make_image(const Process& process) {
  Flags& flags = *process.flags;
  const PlaceRecord& record = process.keeper->record();
  flags.options.server_id = record.server_id;
  const auto memory = std::make_shared<WarmMemory>();
  auto parts = make_region(*process.reactor, flags, [memory](const Status& why) {
    memory->is_missing = true;
    if (memory->is_needed) end_without_memory(why);
  });
  if (!parts.ok()) return parts.status();
  return std::unique_ptr<CopyImage>(std::make_unique<WarmRegion>(std::move(*parts), memory, *process.reactor,
                                                                 *process.disk, process.keeper->folder(),
                                                                 record.database_id));
}

// The image is one that make_image() made.
std::unique_ptr<WarmRegion> warm_region(std::unique_ptr<CopyImage> image) {
  return std::unique_ptr<WarmRegion>(static_cast<WarmRegion*>(image.release()));
}

}  // namespace

std::optional<int> host_nothing(const Process& process) {
  const Flags& flags = *process.flags;
  // A region that was to be opened, and has gone elsewhere.
  process.warm->reset();
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
  std::optional<Following> following;
  if (process.store != nullptr) {
    following.emplace();
    following->store = process.store;
    following->waits = !flags.store.server_named;
    following->options.server_id = flags.options.server_id;
    following->options.server_count = flags.options.server_count;
    following->options.address = flags.store.address;
    following->options.notice = options.notice;
    if (flags.store.copy_applies) following->options.make_image = [&process] { return make_image(process); };
  }
  Vacancy vacancy(*process.reactor, process.transport->make_client(), make_server, *process.disk,
                  *process.keeper, std::move(options), std::move(following));
  PlaceKeeper* const keeper = process.keeper;
  const auto watch = metrics::DaemonWatch::create(
      *process.reactor,
      {.add_metrics =
           [&vacancy](metrics::MetricPage& page) {
             const Follower* const follower = vacancy.follower();
             if (follower == nullptr) return;
             page.gauge("namdb_memory_copy_in_sync", "1 while this copy may take the region over.",
                        follower->in_sync() ? 1 : 0);
             page.gauge("namdb_memory_copy_lag_bytes",
                        "Bytes of the log that a copy lacks: of the one that lacks "
                        "most, or of this copy.",
                        metrics::amount(follower->lag_bytes()));
             page.gauge("namdb_memory_copy_unapplied_bytes",
                        "Bytes of this copy's log that its region in memory lacks: a take-over applies them.",
                        metrics::amount(follower->unapplied_bytes()));
           },
       .status = [keeper] { return vacancy_text(keeper->record()); },
       .is_well = [] { return true; }},
      flags.service.metrics_listen);
  if (!watch.ok()) return refuse(watch.status());
  const Status status = process.reactor->run_until(stay_vacant(&process, &vacancy, watch->get()));
  if (!status.ok() && status.code() == kDiskFailed) return disk_failed(status);
  if (!status.ok()) return refuse(status);
  *process.away_since_ns = vacancy.paused_ns();
  process.flags->options.server_id = process.keeper->record().server_id;
  if (!vacancy.stopped() && process.keeper->record().state == PlaceState::here) {
    std::unique_ptr<WarmRegion> warm = warm_region(vacancy.take_image());
    if (warm != nullptr && warm->need_memory()) *process.warm = std::move(warm);
    return std::nullopt;
  }
  if (ended_without_memory()) return config::kExitFailure;
  spdlog::info("stopped");
  return 0;
}

Status adopt_folder(const Flags& flags, const PlaceRecord& record) {
  const std::filesystem::path path = std::filesystem::path(flags.data) / "data";
  const bool whole = DatabaseFolder::exists(path) && !DatabaseFolder::is_unfinished(path);
  if (record.state != PlaceState::here || record.database_id == 0 || whole) return Status();
  FolderIdentity identity;
  identity.database_id = record.database_id;
  identity.server_id = record.server_id;
  identity.written_by = flags.options.version;
  return DatabaseFolder::adopt(path, std::move(identity));
}

}  // namespace namdb::memory
