#include "memory/daemon/store_look.h"

#include <spdlog/spdlog.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <utility>

#include "common/service/service_manager.h"
#include "memory/placement/claim.h"
#include "memory/process/database_folder.h"

namespace namdb::memory {
namespace {

using placement::ConfigurationStore;

void fill_claim(const Process& process, std::function<bool()> stopping, ClaimOptions* options) {
  options->server_id = process.flags->options.server_id;
  options->server_count = process.flags->options.server_count;
  options->address = process.flags->store.address;
  options->known = process.keeper->record().configuration.place(options->server_id);
  options->stopping = std::move(stopping);
  options->notice = [](const std::string& line) {
    spdlog::warn("{}", line);
    service::tell_status(line);
  };
}

reactor::Task<Result<ConfigurationStore::Stored>> ask_store(const Process* process, ClaimOptions options) {
  reactor::Signals signals(*process->reactor, {SIGTERM, SIGINT});
  reactor::Gate gate;
  bool stopping = false;
  process->reactor->spawn(gate, await_end(&signals, &stopping));
  fill_claim(*process, [&stopping] { return stopping; }, &options);
  auto stored = co_await claim_region(process->reactor, process->store, std::move(options));
  co_await signals.cancel();
  co_await gate.close();
  // The signal is delivered only once.
  if (stopping && stored.ok())
    co_return Status(ErrorCode::admin_shutdown, "stopped while it asked the configuration store");
  co_return stored;
}

int stopped_before_opening() {
  spdlog::info("stopped");
  return 0;
}

}  // namespace

Status become_copy(const Process& process, const ConfigurationStore::Stored& stored) {
  PlaceRecord record = process.keeper->record();
  const placement::Place& place = stored.configuration.place(record.server_id);
  spdlog::warn("the region of memory server {} is at {}, by the configuration store: this host has a copy",
               record.server_id, place.address);
  const std::filesystem::path path = std::filesystem::path(process.flags->data) / "data";
  record.state = DatabaseFolder::exists(path) ? PlaceState::follows : PlaceState::joins;
  record.database_id = stored.configuration.database_id();
  record.configuration.learn(stored.configuration);
  return process.reactor->run_until(process.keeper->store(std::move(record)));
}

std::optional<int> look_at_store(const Process& process) {
  if (process.store == nullptr || process.keeper->record().state != PlaceState::here) return std::nullopt;
  ClaimOptions options;
  options.claims = false;
  options.database_id = process.keeper->record().database_id;
  const auto stored = process.reactor->run_until(ask_store(&process, std::move(options)));
  if (!stored.ok() && stored.status().code() == ErrorCode::admin_shutdown) return stopped_before_opening();
  if (!stored.ok()) return refuse(stored.status());
  const placement::Place& place = stored->configuration.place(process.flags->options.server_id);
  const std::filesystem::path path = std::filesystem::path(process.flags->data) / "data";
  const bool has_folder = DatabaseFolder::exists(path) || process.keeper->record().database_id != 0;
  if (place.number == 0) return std::nullopt;
  if (place.address != process.flags->store.address) {
    const Status status = become_copy(process, *stored);
    if (!status.ok()) return refuse(status);
  } else if (!has_folder && process.flags->restore.empty()) {
    return refuse(Status(ErrorCode::configuration,
                         "the configuration store " + process.store->name() + " says that the region of " +
                             "memory server " + std::to_string(process.flags->options.server_id) +
                             " is here, at " + place.address + ", but " + path.string() + " has none",
                         "start with the folder that has it, or with another --configuration-store"));
  }
  return std::nullopt;
}

Result<ConfigurationStore::Stored> claim_opened_region(const Process& process, std::uint64_t database_id,
                                                       std::uint64_t generation) {
  ClaimOptions options;
  options.generation = generation;
  options.database_id = database_id;
  return process.reactor->run_until(ask_store(&process, std::move(options)));
}

reactor::Task<Result<ConfigurationStore::Stored>> claim_opening_region(const Process* process,
                                                                       std::uint64_t database_id,
                                                                       std::uint64_t generation,
                                                                       std::function<bool()> stopping) {
  ClaimOptions options;
  options.generation = generation;
  options.database_id = database_id;
  fill_claim(*process, std::move(stopping), &options);
  co_return co_await claim_region(process->reactor, process->store, std::move(options));
}

}  // namespace namdb::memory
