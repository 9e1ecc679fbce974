#include "tools/namsim/cluster.h"

#include "common/base/check.h"

namespace namdb::sim {

Cluster::Cluster(fabric::sim::SimWorld& world, ClusterOptions options)
    : world_(world), options_(std::move(options)) {
  for (std::uint32_t i = 0; i < options_.memory_servers; ++i) {
    auto process = std::make_unique<MemoryProcess>();
    process->node = &world_.add_node("m" + std::to_string(i));
    process->words.resize(options_.region_bytes / 8);
    const std::span<std::byte> region = std::as_writable_bytes(std::span(process->words));
    memory::Options memory = options_.memory;
    memory.server_id = static_cast<std::uint16_t>(i);
    memory.server_count = static_cast<std::uint16_t>(options_.memory_servers);
    auto server = memory::MemoryServer::create(*process->node, region, std::move(memory));
    NAMDB_CHECK(server.ok());
    process->server = std::move(server).value();
    process->fabric =
        std::make_unique<fabric::sim::SimServerFabric>(*process->node, region, *process->server);
    process->server->start(*process->fabric);
    const Status status = world_.run(*process->node, process->fabric->listen("sim:m" + std::to_string(i)));
    NAMDB_CHECK(status.ok());
    memories_.push_back(std::move(process));
  }
}

Cluster::~Cluster() {
  for (auto& compute : computes_) {
    if (compute != nullptr) world_.run(*compute->node, compute->worker->stop());
  }
  computes_.clear();
  for (auto& memory : memories_) {
    world_.run(*memory->node, memory->server->stop());
    world_.run(*memory->node, memory->fabric->close());
  }
}

std::size_t Cluster::add_compute() {
  const std::string name = "c" + std::to_string(computes_.size());
  auto process = std::make_unique<ComputeProcess>();
  process->node = &world_.add_node(name);
  process->locations = std::make_unique<storage::LocationCache>(options_.location_cache_bytes);
  process->fabric = std::make_unique<fabric::sim::SimClientFabric>(*process->node);
  compute::WorkerOptions worker = options_.worker;
  worker.name = name;
  for (std::uint32_t i = 0; i < options_.memory_servers; ++i)
    worker.memory_servers.push_back("sim:m" + std::to_string(i));
  Random* random = &world_.random();
  const auto make_compute_id = [random] {
    txn::ComputeId id;
    for (std::byte& byte : id) byte = static_cast<std::byte>(random->below(256));
    return id;
  };
  process->worker =
      std::make_unique<compute::Worker>(*process->node, *process->fabric, *process->locations,
                                        std::move(worker), make_compute_id, [](const std::string&) {});
  const Status status = world_.run(*process->node, process->worker->start());
  if (!status.ok()) std::fprintf(stderr, "compute %s: %s\n", name.c_str(), status.to_string().c_str());
  NAMDB_CHECK(status.ok());
  computes_.push_back(std::move(process));
  return computes_.size() - 1;
}

void Cluster::kill_compute(std::size_t compute) {
  world_.kill(*computes_[compute]->node);
  fabric::sim::SimWorld::bury(std::move(computes_[compute]));
}

}  // namespace namdb::sim
