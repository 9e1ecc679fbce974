#include "tools/namsim/cluster/cluster.h"

#include <algorithm>

#include "common/base/check.h"
#include "common/fabric/checking.h"
#include "common/layout/order_lanes.h"
#include "common/layout/timestamp_vector.h"
#include "common/placement/configuration.h"
#include "common/protocols/protocol.h"
#include "memory/log/verify.h"
#include "tools/namsim/checks/region_check.h"
#include "tools/namsim/cluster/copy_hosts.h"

namespace namdb::sim {
namespace {

struct Stopping {
  reactor::Gate gate;
  bool done = false;
};

std::uint64_t first_region_bytes(const ClusterOptions& options) {
  if (!options.growing_regions) return options.region_bytes;
  const std::uint64_t vector_bytes = layout::vector_bytes(options.memory.vector_capacity);
  const bool ordered = protocol::find_protocol(options.memory.protocol)->ordered;
  const std::uint64_t lanes_bytes = ordered ? 64 + layout::kOrderLanes_bytes : 0;
  const std::uint64_t first_bytes =
      layout::kRegionMap_bytes + vector_bytes + lanes_bytes + 3 * options.memory.extent_bytes;
  return std::min(options.region_bytes, first_bytes) & ~7ULL;
}

void connect_to_others(MemoryProcess* process) {
  fabric::sim::SimNode* const node = process->node;
  process->server->meet(*process->fabric,
                        [node] { return std::make_unique<fabric::sim::SimClientFabric>(*node); });
}

reactor::Task<Status> meet_others(MemoryProcess* process, std::string address) {
  connect_to_others(process);
  Status status = co_await process->fabric->listen(std::move(address));
  memory::Links& links = process->server->links();
  if (status.ok() && links.has_moved()) links.keep_all();
  co_return status;
}

reactor::Task<Status> open_database(MemoryProcess* process, DatabaseOptions options, Interposer* interposer,
                                    std::size_t server, std::string address) {
  const auto failed = [process](const Status& status) { process->failure = status; };
  memory::DurableOptions durable;
  durable.database_id = kDatabaseId;
  durable.log = options.log;
  durable.log.on_failure = failed;
  durable.meet = [process, address](memory::DurableDatabase&) { return meet_others(process, address); };
  reactor::Executor& executor = *process->node;
  if (interposer != nullptr) process->interposed_disk = interposer->disk(server, *process->disk);
  memory::Disk& disk = process->interposed_disk != nullptr ? *process->interposed_disk : *process->disk;
  const Result<bool> there = co_await memory::DurableDatabase::exists(disk, kDatabaseFolder);
  if (!there.ok()) co_return there.status();
  Result<std::unique_ptr<memory::DurableDatabase>> database = Status(ErrorCode::internal, "not opened");
  if (there.value()) {
    database =
        co_await memory::DurableDatabase::open(executor, disk, kDatabaseFolder, *process->server, durable);
  } else {
    database =
        co_await memory::DurableDatabase::create(executor, disk, kDatabaseFolder, *process->server, durable);
  }
  if (!database.ok()) co_return database.status();
  process->database = std::move(database).value();
  if (interposer != nullptr) {
    process->interposed_log =
        interposer->sweep_log(server, process->database->log(), process->database->sweep_log());
  }
  memory::CheckpointOptions checkpoints = options.checkpoints;
  checkpoints.folder = kDatabaseFolder;
  checkpoints.on_failure = failed;
  process->checkpoints = std::make_unique<memory::Checkpoints>(
      process->server->parts(), process->database->log(), process->database->checkpoints(),
      process->interposed_log != nullptr ? *process->interposed_log : process->database->sweep_log(),
      checkpoints);
  co_return Status();
}

reactor::Task<void> serve(MemoryProcess* process, DatabaseOptions options, Interposer* interposer,
                          std::size_t server, std::string address) {
  Status status = co_await open_database(process, options, interposer, server, address);
  if (status.ok()) {
    const bool listens = process->server->options().opens_together();
    if (!listens) connect_to_others(process);
    process->server->start(*process->fabric);
    process->checkpoints->start();
    if (!listens) status = co_await process->fabric->listen(address);
  }
  process->opened = status;
}

reactor::Task<void> stop(compute::Worker* worker, bool* done) {
  co_await worker->stop();
  *done = true;
}

}  // namespace

DatabaseOptions::DatabaseOptions() {
  log.segment_bytes = 256U << 10;
  log.max_bytes = 4U << 20;
  log.max_block_bytes = 64U << 10;
  log.reserve_bytes = 128U << 10;
  checkpoints.interval_ns = 50 * kMillisecond_ns;
  checkpoints.rate_bytes = 0;
  checkpoints.retry_ns = 10 * kMillisecond_ns;
}

DatabaseOptions DatabaseOptions::swarm(Random& random) {
  DatabaseOptions options;
  options.log.segment_bytes = std::uint64_t{64U << 10} << random.below(5);
  options.log.max_bytes = options.log.segment_bytes * random.between(6, 24);
  // A transaction's entry fits into it with room to spare.
  options.log.max_bytes = std::max<std::uint64_t>(options.log.max_bytes, 1U << 20);
  options.log.max_block_bytes = std::uint64_t{8U << 10} << random.below(4);
  options.log.reserve_bytes = options.log.segment_bytes / 2;
  options.checkpoints.interval_ns = random.between(5, 500) * kMillisecond_ns;
  options.checkpoints.rate_bytes = random.chance(0.5) ? 0 : 16U << 20;
  return options;
}

std::size_t connected_computes(const memory::MemoryServer& server) {
  return static_cast<std::size_t>(std::ranges::count_if(
      server.peers().all(), [](const auto& peer) { return !peer.second.memory_server; }));
}

Cluster::Cluster(fabric::sim::SimWorld& world, ClusterOptions options)
    : world_(world), options_(std::move(options)) {
  if (options_.interposer != nullptr) options_.interposer->attach(*this);
  if (options_.has_store) {
    NAMDB_CHECK(options_.durable && options_.interposer == nullptr);
    hosts_ = std::make_unique<CopyHosts>(
        world_, options_,
        [this](fabric::sim::SimNode& node, memory::testing::FaultDisk& disk, std::uint32_t server) {
          return make_memory(node, &disk, server);
        });
    NAMDB_CHECK(world_.run_until([this] { return hosts_->all_in_sync(); }));
    return;
  }
  disks_.resize(options_.memory_servers);
  moves_.resize(options_.memory_servers);
  for (std::uint32_t i = 0; i < options_.memory_servers; ++i)
    memories_.push_back(start_memory(i, DiskAfter::replaced));
  for (std::uint32_t i = 0; i < options_.memory_servers; ++i) require_opened(i);
}

memory::testing::FaultDisk* Cluster::prepare_disk(std::uint32_t i, fabric::sim::SimNode& node,
                                                  DiskAfter after) {
  std::unique_ptr<memory::testing::FaultDisk>& disk = disks_[i];
  if (after == DiskAfter::replaced) {
    if (disk != nullptr) fabric::sim::SimWorld::bury(std::move(disk));
    disk = std::make_unique<memory::testing::FaultDisk>(node, world_.random().state_hash() + i);
    disk->set_latency(kDiskLatency_ns, kDiskLatencySpread_ns);
  } else {
    using End = memory::testing::FaultDisk::End;
    disk->restart(after == DiskAfter::killed ? End::killed : End::power_lost, node);
  }
  return disk.get();
}

std::unique_ptr<MemoryProcess> Cluster::make_memory(fabric::sim::SimNode& node,
                                                    memory::testing::FaultDisk* disk, std::uint32_t i) const {
  auto process = std::make_unique<MemoryProcess>();
  process->node = &node;
  process->disk = disk;
  const std::uint64_t limit_bytes = options_.region_bytes;
  process->words.resize(limit_bytes / 8);
  const std::span<std::byte> region =
      std::as_writable_bytes(std::span(process->words)).first(first_region_bytes(options_));
  memory::Options memory = options_.memory;
  memory.server_id = static_cast<std::uint16_t>(i);
  memory.server_count = static_cast<std::uint16_t>(options_.memory_servers);
  if (options_.durable) {
    memory.durability = memory::Durability::flushed;
    for (std::uint32_t server = 0; server < options_.memory_servers; ++server)
      memory.memory_servers.push_back(memory_address(server));
  }
  // All of it is there from the start.
  auto server = memory::MemoryServer::create(
      *process->node, region, std::move(memory),
      {limit_bytes, [](std::uint64_t length_bytes) { return Result<std::uint64_t>(length_bytes); }});
  NAMDB_CHECK(server.ok());
  process->server = std::move(server).value();
  fabric::Service* service = process->server.get();
  if (options_.interposer != nullptr) {
    process->interposed = options_.interposer->service(i, *service);
    service = process->interposed.get();
  }
  process->fabric =
      std::make_unique<fabric::sim::SimServerFabric>(*process->node, region, *service, limit_bytes);
  return process;
}

std::unique_ptr<MemoryProcess> Cluster::start_memory(std::uint32_t i, DiskAfter after) {
  fabric::sim::SimNode& new_node = world_.add_node(options_.memory_name + std::to_string(i));
  auto process = make_memory(new_node, prepare_disk(i, new_node, after), i);
  if (options_.durable) {
    start_to_open(*process, i);
    return process;
  }
  fabric::sim::SimNode* const node = process->node;
  process->server->start(*process->fabric,
                         [node] { return std::make_unique<fabric::sim::SimClientFabric>(*node); });
  const Status status = world_.run(*process->node, process->fabric->listen(memory_address(i)));
  NAMDB_CHECK(status.ok());
  process->opened = status;
  return process;
}

void Cluster::start_to_open(MemoryProcess& process, std::uint32_t server) {
  placement::Configuration places(options_.memory_servers);
  places.set_database_id(kDatabaseId);
  if (moves_[server] != 0) places.set(server, {moves_[server], place_address(server)});
  process.server->links().learn_places(places);
  process.gate = std::make_unique<reactor::Gate>();
  process.node->spawn(*process.gate,
                      serve(&process, options_.database, options_.interposer, server, place_address(server)));
}

MemoryProcess& Cluster::memory(std::size_t server) {
  if (hosts_ == nullptr) return *memories_[server];
  MemoryProcess* const serving = hosts_->serving(server);
  NAMDB_CHECK(serving != nullptr);
  return *serving;
}

std::vector<MemoryProcess*> Cluster::processes() {
  std::vector<MemoryProcess*> all;
  for (std::size_t server = 0; server < options_.memory_servers; ++server) all.push_back(&memory(server));
  return all;
}

bool Cluster::await_opened(std::size_t server, std::uint64_t limit_ns) {
  if (hosts_ != nullptr)
    return world_.run_until([&] { return hosts_->serving(server) != nullptr; }, limit_ns);
  return world_.run_until([&] { return memories_[server]->opened.has_value(); }, limit_ns);
}

void Cluster::require_opened(std::size_t server) {
  const bool ended = await_opened(server, 3600 * kSecond_ns);
  const Status status = ended ? *memories_[server]->opened : Status(ErrorCode::internal, "it opens for ever");
  if (!status.ok()) std::fprintf(stderr, "memory server: %s\n", status.to_string().c_str());
  NAMDB_CHECK(status.ok());
}

void Cluster::kill_memory(std::size_t server) {
  world_.kill(*memories_[server]->node);
  memories_[server]->words = {};  // not read any more, and large
  fabric::sim::SimWorld::bury(std::move(memories_[server]));
}

void Cluster::begin_restart_memory(std::size_t server, DiskAfter disk) {
  if (memories_[server] != nullptr) kill_memory(server);
  stopped_ = false;
  memories_[server] = start_memory(static_cast<std::uint32_t>(server), disk);
}

void Cluster::begin_move_memory(std::size_t server, std::uint64_t hangs_ns) {
  NAMDB_CHECK(options_.durable);
  if (hangs_ns == 0) {
    kill_memory(server);
  } else {
    fabric::sim::SimNode* const node = memories_[server]->node;
    world_.pause(*node, hangs_ns);
    world_.at(world_.now_ns() + hangs_ns - 1, [this, node] { world_.kill(*node); });
    fabric::sim::SimWorld::bury(std::move(memories_[server]));
  }
  ++moves_[server];
  stopped_ = false;
  memories_[server] = start_memory(static_cast<std::uint32_t>(server), DiskAfter::killed);
}

void Cluster::restart_memory(std::size_t server, DiskAfter disk) {
  begin_restart_memory(server, disk);
  require_opened(server);
}

void Cluster::restart_all_memory(DiskAfter disk) {
  stopped_ = false;
  for (std::size_t server = 0; server < memories_.size(); ++server) kill_memory(server);
  for (std::uint32_t server = 0; server < memories_.size(); ++server)
    memories_[server] = start_memory(server, disk);
  for (std::size_t server = 0; server < memories_.size(); ++server) require_opened(server);
}

void Cluster::stop_memory() {
  if (std::exchange(stopped_, true)) return;
  if (hosts_ != nullptr) return hosts_->stop();
  for (auto& memory : memories_) {
    world_.run(*memory->node, memory->server->stop());
    // One that still opens gives it up.
    if (memory->gate != nullptr)
      world_.run_until([&memory] { return memory->opened.has_value(); }, 60 * kSecond_ns);
    if (memory->checkpoints != nullptr) world_.run(*memory->node, memory->checkpoints->close());
  }
}

std::string Cluster::verify_disks() {
  std::string lines;
  for (const MemoryProcess* const memory : processes()) {
    auto report = world_.run(*memory->node, memory::verify_folder(*memory->disk, kDatabaseFolder));
    if (!report.ok()) return report.status().to_string();
    for (const memory::VerifyFinding& finding : report->findings)
      lines += (lines.empty() ? "" : "\n") + memory->node->name() + ": " + finding.text();
  }
  return lines;
}

Cluster::~Cluster() {
  for (auto& compute : computes_) {
    if (compute != nullptr) world_.run(*compute->node, compute->worker->stop());
  }
  computes_.clear();
  stop_memory();
  for (auto& memory : memories_) {
    world_.run(*memory->node, memory->fabric->close());
    if (memory->database != nullptr) world_.run(*memory->node, memory->database->close());
  }
}

std::size_t Cluster::add_compute() {
  // One that is slow to start may be taken for dead on the way.
  constexpr int kMaxAttempts = 20;
  Status status = try_add_compute();
  for (int attempt = 1; !status.ok() && attempt < kMaxAttempts; ++attempt) {
    computes_.pop_back();  // the killed one
    world_.run_for(10 * kMillisecond_ns);
    status = try_add_compute();
  }
  if (!status.ok()) std::fprintf(stderr, "compute: %s\n", status.to_string().c_str());
  NAMDB_CHECK(status.ok());
  return computes_.size() - 1;
}

Status Cluster::try_add_compute() {
  const std::string name = "c" + std::to_string(computes_.size());
  auto process = std::make_unique<ComputeProcess>();
  process->node = &world_.add_node(name);
  process->locations = std::make_unique<storage::LocationCache>(options_.location_cache_bytes);
  process->fabric = std::make_unique<fabric::sim::SimClientFabric>(*process->node);
  // Doubles do what no channel should see.
  if (options_.interposer != nullptr)
    process->fabric = options_.interposer->client(computes_.size(), std::move(process->fabric));
  else
    process->fabric =
        std::make_unique<fabric::CheckingClientFabric>(std::move(process->fabric), fabric::CheckingOptions{});
  compute::WorkerOptions worker = options_.worker;
  worker.name = name;
  for (std::uint32_t i = 0; i < options_.memory_servers; ++i)
    worker.memory_servers.push_back(memory_address(i));
  Random* random = &world_.random();
  const auto make_compute_id = [random] {
    txn::ComputeId id;
    for (std::byte& byte : id) byte = static_cast<std::byte>(random->below(256));
    return id;
  };
  process->worker = std::make_unique<compute::Worker>(*process->node, *process->fabric, *process->locations,
                                                      std::move(worker), make_compute_id, options_.log);
  Status status = world_.run(*process->node, process->worker->start());
  computes_.push_back(std::move(process));
  if (!status.ok()) kill_compute(computes_.size() - 1);
  return status;
}

bool Cluster::stop_compute(std::size_t compute, std::uint64_t limit_ns) {
  auto stopping = std::make_unique<Stopping>();
  computes_[compute]->node->spawn(stopping->gate, stop(computes_[compute]->worker.get(), &stopping->done));
  if (!world_.run_until([&] { return stopping->done; }, limit_ns)) {
    fabric::sim::SimWorld::bury(std::move(stopping));
    return false;
  }
  computes_[compute].reset();
  return true;
}

std::string Cluster::check_at_rest(std::uint64_t limit_ns) {
  for (std::size_t server = 0; options_.durable && server < options_.memory_servers; ++server) {
    if (!await_opened(server, limit_ns)) return "memory server " + std::to_string(server) + " does not open";
    if (!memory(server).opened->ok()) return memory(server).opened->to_string();
  }
  std::vector<const memory::MemoryServer*> servers;
  for (const MemoryProcess* const memory : processes()) servers.push_back(memory->server.get());
  // The checker says which are left if they are not all gone by then.
  world_.run_until(
      [&] {
        return std::all_of(servers.begin(), servers.end(),
                           [](const auto* server) { return connected_computes(*server) == 0; });
      },
      limit_ns);
  // The collector sees at its next turn that no peer is left.
  world_.run_for(3 * std::max(options_.memory.collect_interval_ns, kMillisecond_ns));
  std::string lines;
  if (hosts_ != nullptr) {
    // The last checkpoints have ended behind it.
    world_.run_for(3 * kSecond_ns);
    if (!world_.run_until([this] { return hosts_->at_rest(); }, limit_ns))
      return "copies do not come to rest";
    lines = hosts_->compare();
  }
  stop_memory();
  if (options_.durable && lines.empty()) lines = verify_disks();
  for (const std::string& sentence : check_regions(servers)) lines += (lines.empty() ? "" : "\n") + sentence;
  return lines;
}

void Cluster::kill_compute(std::size_t compute) {
  world_.kill(*computes_[compute]->node);
  fabric::sim::SimWorld::bury(std::move(computes_[compute]));
}

}  // namespace namdb::sim
