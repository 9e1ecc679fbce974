#include "tools/namsim/cluster/copy_hosts.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "common/base/checksum.h"
#include "memory/log/log_reader.h"
#include "memory/log/manifest.h"
#include "memory/log/verify.h"
#include "memory/placement/claim.h"

namespace namdb::sim {

using fabric::sim::SimClientFabric;
using fabric::sim::SimNode;
using fabric::sim::SimServerFabric;
using fabric::sim::SimWorld;
using memory::PlaceRecord;
using memory::PlaceState;
using placement::Place;
using placement::testing::MemoryStore;

namespace {

constexpr std::uint64_t kStoreLatency_ns = 200 * kMicrosecond_ns;
// A double's: between two looks.
constexpr std::uint64_t kTooEarly_ns = 50 * kMicrosecond_ns;

// The records of a log from some position on.
struct Digest {
  Status status;
  memory::LogPosition begin = 0;
  memory::LogPosition end = 0;
  std::uint64_t hash = 0;
  bool operator==(const Digest& other) const {
    return status.ok() && other.status.ok() && begin == other.begin && end == other.end && hash == other.hash;
  }
};

reactor::Task<Digest> digest(memory::Disk* disk, memory::LogPosition from, memory::LogOwner owner) {
  Digest found;
  memory::LogReader reader(*disk, kDatabaseFolder + "/log");
  found.status = co_await reader.open(from, owner);
  bool first = true;
  while (found.status.ok()) {
    const auto record = co_await reader.next();
    found.status = record.status();
    if (!found.status.ok() || !*record) break;
    if ((*record)->begin < from) continue;
    if (std::exchange(first, false)) found.begin = (*record)->begin;
    found.end = (*record)->end;
    found.hash = checksum64((*record)->bytes, found.hash);
  }
  co_await reader.close();
  co_return found;
}

Status told_to_end() {
  return Status(ErrorCode::admin_shutdown, "the process was told to end");
}

}  // namespace

// The lives of a host's process, one behind the other.
class CopyHosts::Life {
 public:
  Life(CopyHosts& hosts, HostMachine& machine)
      : hosts_(hosts),
        options_(hosts.options_),
        process_(machine.process.get()),
        disk_(machine.disk.get()),
        server_(machine.server),
        address_(machine.address),
        creates_(machine.creates) {}

  static reactor::Task<void> run(Life life) {
    HostProcess* const process = life.process_;
    Status status = co_await life.open_record();
    while (status.ok() && !process->stopping) {
      const bool here = process->keeper->record().state == PlaceState::here;
      auto living = here ? life.host_region() : life.host_nothing();
      status = co_await std::move(living);
    }
    process->status = status;
    process->ended = true;
  }

 private:
  reactor::Task<Status> open_record() {
    auto keeper = co_await memory::PlaceKeeper::open(
        *disk_, kDatabaseFolder, static_cast<std::uint16_t>(server_), options_.memory_servers, !creates_);
    if (!keeper.ok()) co_return keeper.status();
    process_->keeper = std::move(*keeper);
    co_return Status();
  }

  memory::ClaimOptions claim(bool claims) const {
    memory::ClaimOptions claim;
    claim.server_id = static_cast<std::uint16_t>(server_);
    claim.server_count = options_.memory_servers;
    claim.address = address_;
    claim.database_id = kDatabaseId;
    claim.known = process_->keeper->record().configuration.place(server_);
    claim.claims = claims;
    claim.stopping = [process = process_] {
      return process->stopping || (process->region != nullptr && process->region->server->parts().shutdown);
    };
    return claim;
  }
  bool is_elsewhere(const placement::ConfigurationStore::Stored& stored) const {
    const Place& place = stored.configuration.place(server_);
    return place.number != 0 && place.address != address_;
  }
  reactor::Task<Status> become_copy(placement::ConfigurationStore::Stored stored) {
    PlaceRecord record = process_->keeper->record();
    const auto there = co_await memory::DurableDatabase::exists(*disk_, kDatabaseFolder);
    if (!there.ok()) co_return there.status();
    record.state = there.value() ? PlaceState::follows : PlaceState::joins;
    record.database_id = stored.configuration.database_id();
    record.configuration.learn(stored.configuration);
    co_return co_await process_->keeper->store(std::move(record));
  }

  // --- with the region ---

  reactor::Task<Status> host_region() {
    auto stored = co_await memory::claim_region(process_->node, process_->store.get(), claim(false));
    if (!stored.ok()) co_return stored.status();
    if (is_elsewhere(*stored)) co_return co_await become_copy(std::move(*stored));
    process_->keeper->know_database(kDatabaseId);
    process_->region = hosts_.make_server_(*process_->node, *disk_, server_);
    MemoryProcess* const region = process_->region.get();
    memory::ServerState& parts = region->server->parts();
    parts.has_store = options_.copy_rules.leases;
    region->server->links().learn_places(process_->keeper->record().configuration);
    Status status = co_await open(region);
    region->opened = status;
    if (status.ok()) {
      co_await region->server->shutdown_requested();
      if (process_->copies != nullptr) process_->copies->stop_soon();
    }
    co_await end(region);
    const bool elsewhere = process_->keeper->record().state != PlaceState::here;
    if (elsewhere) status = Status();
    if (!elsewhere && status.ok()) status = region->failure.ok() ? told_to_end() : region->failure;
    // Its region is checked behind the end.
    if (process_->stopping) co_return status;
    process_->departure.reset();
    process_->copies.reset();
    process_->region.reset();
    co_return status;
  }

  reactor::Task<Status> open(MemoryProcess* region) {
    memory::DurableOptions durable;
    durable.database_id = kDatabaseId;
    durable.log = options_.database.log;
    durable.log.on_failure = [region](const Status& failure) { region->failure = failure; };
    durable.stopping = [region] { return region->server->parts().shutdown; };
    durable.meet = [this](memory::DurableDatabase& database) { return meet(&database); };
    durable.part = [this] { return close_copies(); };
    const Result<bool> there = co_await memory::DurableDatabase::exists(*disk_, kDatabaseFolder);
    if (!there.ok()) co_return there.status();
    memory::DurableDatabase::Opening opening =
        there.value() ? memory::DurableDatabase::open(*process_->node, *disk_, kDatabaseFolder,
                                                      *region->server, std::move(durable))
                      : memory::DurableDatabase::create(*process_->node, *disk_, kDatabaseFolder,
                                                        *region->server, std::move(durable));
    auto database = co_await std::move(opening);
    if (!database.ok()) co_return database.status();
    region->database = std::move(*database);
    if (process_->copies == nullptr) {
      const Status status = co_await become_primary(region->database.get());
      if (!status.ok()) co_return status;
      connect_to_others(region);
    }
    memory::CheckpointOptions checkpoints = options_.database.checkpoints;
    checkpoints.folder = kDatabaseFolder;
    checkpoints.on_failure = [region](const Status& failure) { region->failure = failure; };
    region->checkpoints = std::make_unique<memory::Checkpoints>(
        region->server->parts(), region->database->log(), region->database->checkpoints(),
        region->database->sweep_log(), std::move(checkpoints));
    process_->departure = std::make_unique<memory::RegionHost>(
        region->server->parts(), *disk_, region->database->log(), *process_->keeper,
        [region](const Status& failure) { region->failure = failure; });
    region->server->start(*region->fabric);
    region->checkpoints->start();
    process_->departure->start();
    if (region->server->options().opens_together()) co_return Status();
    std::string address = address_;
    co_return co_await region->fabric->listen(std::move(address));
  }

  void connect_to_others(MemoryProcess* region) {
    region->server->meet(*region->fabric,
                         [node = process_->node] { return std::make_unique<SimClientFabric>(*node); });
  }

  // Of one of several.
  reactor::Task<Status> meet(memory::DurableDatabase* database) {
    MemoryProcess* const region = process_->region.get();
    Status status = co_await become_primary(database);
    if (!status.ok()) co_return status;
    connect_to_others(region);
    std::string address = address_;
    status = co_await region->fabric->listen(std::move(address));
    if (status.ok()) region->server->links().keep_all();
    co_return status;
  }

  reactor::Task<Status> become_primary(memory::DurableDatabase* database) {
    auto stored = co_await memory::claim_region(process_->node, process_->store.get(), claim(true));
    if (!stored.ok()) co_return stored.status();
    if (is_elsewhere(*stored)) {
      const Status status = co_await become_copy(std::move(*stored));
      co_return status.ok() ? told_to_end() : status;
    }
    MemoryProcess* const region = process_->region.get();
    region->server->links().learn_places(stored->configuration);
    memory::CopiesOptions options;
    options.address = address_;
    options.on_failure = [region](const Status& failure) { region->failure = failure; };
    process_->copies = std::make_unique<memory::Copies>(
        region->server->parts(), *disk_, database->log(), database->checkpoints(), *process_->keeper,
        *process_->store, std::move(*stored), std::move(options));
    const Status started = co_await process_->copies->start();
    if (!started.ok()) co_return started;
    if (!options_.copy_rules.waits_for_copies)
      process_->node->spawn(*process_->gate, answer_early(process_, &database->log()));
    co_return Status();
  }

  static reactor::Task<void> answer_early(HostProcess* process, memory::Log* log) {
    while (!process->stopping && log->failure().ok()) {
      log->set_confirmed(~memory::LogPosition{0});
      co_await process->node->sleep_for(kTooEarly_ns);
    }
  }

  reactor::Task<void> close_copies() {
    if (process_->copies == nullptr) co_return;
    co_await process_->copies->close();
    process_->copies.reset();  // it watches the log, which goes next
  }

  reactor::Task<void> end(MemoryProcess* region) {
    co_await region->server->stop();
    if (process_->departure != nullptr) co_await process_->departure->close();
    if (region->checkpoints != nullptr) co_await region->checkpoints->close();
    // An opening that failed has closed them.
    if (region->database != nullptr) co_await close_copies();
    co_await region->fabric->close();
    if (region->database != nullptr) co_await region->database->close();
  }

  // --- without ---

  reactor::Task<Status> host_nothing() {
    memory::Following following;
    following.store = process_->store.get();
    following.options.server_id = static_cast<std::uint16_t>(server_);
    following.options.server_count = options_.memory_servers;
    following.options.address = address_;
    following.options.piece_bytes = 64U << 10;
    memory::ArrivalOptions arrival;
    arrival.server_id = static_cast<std::uint16_t>(server_);
    arrival.server_count = options_.memory_servers;
    const memory::Vacancy::MakeServer make_server = [this](fabric::Service& service) {
      return std::make_unique<SimServerFabric>(
          *process_->node, std::as_writable_bytes(std::span(process_->no_memory)), service);
    };
    process_->vacancy = std::make_unique<memory::Vacancy>(
        *process_->node, std::make_unique<SimClientFabric>(*process_->node), make_server, *disk_,
        *process_->keeper, std::move(arrival), std::move(following));
    if (process_->stopping) process_->vacancy->stop();
    std::string address = address_;
    Status status = co_await process_->vacancy->run(std::move(address), [] {});
    process_->vacancy.reset();
    co_return status;
  }

  CopyHosts& hosts_;
  const ClusterOptions& options_;
  HostProcess* process_;
  memory::testing::FaultDisk* disk_;
  std::uint32_t server_;
  std::string address_;
  bool creates_;
};

CopyHosts::CopyHosts(SimWorld& world, const ClusterOptions& options, MakeServer make_server)
    : world_(world), options_(options), make_server_(std::move(make_server)) {
  for (std::uint32_t server = 0; server < options.memory_servers; ++server) {
    for (std::uint32_t host = 0; host <= options.copies; ++host) {
      const std::string name = options.memory_name + std::to_string(server);
      machines_.push_back({server, "sim:" + name + (host == 0 ? "" : "-" + std::to_string(host)), nullptr,
                           nullptr, host == 0});
    }
  }
  for (std::size_t host = 0; host < machines_.size(); ++host) start(host, DiskAfter::replaced);
}

CopyHosts::~CopyHosts() = default;

memory::testing::FaultDisk* CopyHosts::disk_of(HostMachine& machine, SimNode& node, DiskAfter after) {
  if (machine.disk == nullptr || after == DiskAfter::replaced) {
    if (machine.disk != nullptr) SimWorld::bury(std::move(machine.disk));
    machine.disk =
        std::make_unique<memory::testing::FaultDisk>(node, world_.random().state_hash() + ++lives_);
    machine.disk->set_latency(kDiskLatency_ns, kDiskLatencySpread_ns);
  } else {
    using End = memory::testing::FaultDisk::End;
    machine.disk->restart(after == DiskAfter::power_lost ? End::power_lost : End::killed, node);
  }
  return machine.disk.get();
}

std::size_t CopyHosts::at(const std::string& address) const {
  const auto found = std::ranges::find(machines_, address, &HostMachine::address);
  NAMDB_CHECK(found != machines_.end());
  return static_cast<std::size_t>(found - machines_.begin());
}

std::size_t CopyHosts::primary(std::size_t server) const {
  const bool known = server < stored().regions() && stored().place(server).number != 0;
  return known ? at(stored().place(server).address) : server * (options_.copies + 1);
}

std::size_t CopyHosts::copy(std::size_t server, std::size_t position) const {
  const std::size_t host = server * (options_.copies + 1) + position;
  return host < primary(server) ? host : host + 1;
}

MemoryProcess* CopyHosts::serving(std::size_t server) {
  const HostProcess* const process = machines_[primary(server)].process.get();
  if (process == nullptr || process->region == nullptr) return nullptr;
  MemoryProcess* const region = process->region.get();
  const bool serves = region->opened && region->opened->ok();
  return serves && (process->stopping || !region->server->parts().shutdown) ? region : nullptr;
}

bool CopyHosts::all_serve() {
  for (std::size_t server = 0; server < options_.memory_servers; ++server) {
    if (serving(server) == nullptr) return false;
  }
  return true;
}

bool CopyHosts::all_in_sync() {
  if (!all_serve()) return false;
  return std::ranges::all_of(machines_, [this](const HostMachine& machine) {
    const Place& place = stored().place(machine.server);
    return machine.process == nullptr || place.address == machine.address || place.has_copy(machine.address);
  });
}

std::string CopyHosts::describe() {
  std::string lines;
  for (const HostMachine& machine : machines_) {
    const Place& place = stored().place(machine.server);
    lines += "\n" + machine.address +
             (place.address == machine.address  ? ", the primary"
              : place.has_copy(machine.address) ? ", in sync"
                                                : "") +
             ": ";
    const HostProcess* const process = machine.process.get();
    if (process == nullptr) {
      lines += "there is no process";
    } else if (process->ended) {
      lines += process->status.to_string();
    } else if (process->vacancy != nullptr && process->vacancy->follower() != nullptr) {
      const auto progress = process->vacancy->follower()->progress();
      lines += "follows " + progress.from + ", " + progress.error;
    } else if (process->region != nullptr) {
      lines += process->region->opened ? process->region->opened->to_string() : "opens";
    }
  }
  return lines;
}

bool CopyHosts::at_rest() {
  if (!all_in_sync()) return false;
  return std::ranges::all_of(machines_, [this](const HostMachine& machine) {
    if (machine.process == nullptr) return true;
    memory::DurableDatabase& database = *serving(machine.server)->database;
    const memory::Log& log = database.log();
    const std::string newest = memory::manifest_name(database.checkpoints().newest()->generation);
    return log.appended() == log.durable() && log.appended() <= log.confirmed() &&
           machine.disk->has(kDatabaseFolder + "/checkpoint/" + newest);
  });
}

void CopyHosts::kill(std::size_t host, bool lost) {
  HostMachine& machine = machines_[host];
  if (machine.process != nullptr) {
    world_.kill(*machine.process->node);
    if (machine.process->region != nullptr) machine.process->region->words = {};
    SimWorld::bury(std::move(machine.process));
  }
  if (!lost) return;
  SimWorld::bury(std::move(machine.disk));
  machine.creates = false;
}

void CopyHosts::start(std::size_t host, DiskAfter disk) {
  HostMachine& machine = machines_[host];
  if (machine.process != nullptr) kill(host);
  machine.process = std::make_unique<HostProcess>();
  HostProcess& process = *machine.process;
  process.node = &world_.add_node(machine.address.substr(4) + "." + std::to_string(++lives_));
  auto way = std::make_unique<MemoryStore>(*process.node, shared_);
  way->set_latency(kStoreLatency_ns);
  process.way = way.get();
  if (options_.copy_rules.store) {
    process.store = options_.copy_rules.store(std::move(way), machine.address);
  } else {
    process.store = std::move(way);
  }
  process.no_memory.resize(64);
  disk_of(machine, *process.node, disk);
  process.gate = std::make_unique<reactor::Gate>();
  process.node->spawn(*process.gate, Life::run(Life(*this, machine)));
}

void CopyHosts::stop() {
  for (HostMachine& machine : machines_) {
    if (machine.process == nullptr || std::exchange(machine.process->stopping, true)) continue;
    if (machine.process->vacancy != nullptr) machine.process->vacancy->stop();
  }
  for (HostMachine& machine : machines_) {
    if (machine.process != nullptr && machine.process->region != nullptr)
      machine.process->region->server->request_shutdown();
  }
  for (HostMachine& machine : machines_) {
    if (machine.process == nullptr) continue;
    HostProcess& process = *machine.process;
    NAMDB_CHECK(world_.run_until([&process] { return process.ended && process.gate->count() == 0; },
                                 600 * kSecond_ns));
    world_.run(*process.node, process.store->close());
  }
}

std::string CopyHosts::compare() {
  std::string lines;
  const auto add = [&lines](const std::string& line) { lines += (lines.empty() ? "" : "\n") + line; };
  for (HostMachine& machine : machines_) {
    if (machine.process == nullptr) continue;
    SimNode& node = *machine.process->node;
    const auto report = world_.run(node, memory::verify_folder(*machine.disk, kDatabaseFolder));
    if (!report.ok()) return machine.address + ": " + report.status().to_string();
    for (const memory::VerifyFinding& finding : report->findings)
      add(machine.address + ": " + finding.text());
    HostMachine& source = machines_[primary(machine.server)];
    if (&source == &machine) continue;
    const memory::LogOwner owner = report->identity.owner;
    const auto begins = [this, owner](HostMachine& host) {
      return world_.run(*host.process->node, digest(host.disk.get(), 0, owner));
    };
    const memory::LogPosition from = std::max(begins(machine).begin, begins(source).begin);
    const Digest own = world_.run(node, digest(machine.disk.get(), from, owner));
    if (own != world_.run(*source.process->node, digest(source.disk.get(), from, owner)))
      add("the log of " + machine.address + " is not that of " + source.address);
    const std::string folder = kDatabaseFolder + "/checkpoint";
    const auto names = world_.run(node, machine.disk->list(folder));
    if (!names.ok()) return names.status().to_string();
    for (const std::string& name : *names) {
      const std::string path = folder + "/" + name;
      if (source.disk->has(path) && source.disk->bytes(path) != machine.disk->bytes(path))
        add(machine.address + " has another file " + path);
    }
  }
  return lines;
}

}  // namespace namdb::sim
