// Composition root of the simulator: memory servers and compute workers, the production code, on simulated
// nodes. Everything is decided by the world's seed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/fabric/sim/client.h"
#include "common/fabric/sim/server.h"
#include "common/fabric/sim/world.h"
#include "compute/cluster/location_cache.h"
#include "compute/worker/worker.h"
#include "memory/log/testing/fault_disk.h"
#include "memory/server/server.h"
#include "tools/namsim/cluster/cluster_options.h"
#include "tools/namsim/cluster/memory_process.h"

namespace namdb::sim {

class CopyHosts;

// One compute server's process with one worker.
struct ComputeProcess {
  fabric::sim::SimNode* node = nullptr;
  std::unique_ptr<storage::LocationCache> locations;
  std::unique_ptr<fabric::ClientFabric> fabric;
  std::unique_ptr<compute::Worker> worker;
};

// Channels to the memory server, except those of other memory servers, which stay.
std::size_t connected_computes(const memory::MemoryServer& server);

class Cluster {
 public:
  Cluster(fabric::sim::SimWorld& world, ClusterOptions options);
  // Stops what still lives.
  ~Cluster();

  // Starts a compute process and connects it; its position. It is a programming error if it cannot start.
  std::size_t add_compute();
  // The same; if it cannot start, the process is dead and the error says why.
  Status try_add_compute();
  compute::Worker& worker(std::size_t compute) { return *computes_[compute]->worker; }
  fabric::sim::SimNode& node(std::size_t compute) { return *computes_[compute]->node; }
  // In order; its process is gone then. False, and it still runs, if it takes longer than that in virtual
  // time.
  bool stop_compute(std::size_t compute, std::uint64_t limit_ns);
  // As SIGKILL: nothing of it runs any more.
  void kill_compute(std::size_t compute);
  bool alive(std::size_t compute) const { return computes_[compute] != nullptr; }
  std::size_t computes() const { return computes_.size(); }
  // Once every compute server has stopped or is dead: waits until the memory servers have noticed that, and
  // ends their own tasks. Returns the findings of check_regions() (region_check.h) as lines; empty if none.
  std::string check_at_rest(std::uint64_t limit_ns);
  const ClusterOptions& options() const { return options_; }
  // As SIGKILL. There is no process until it is restarted.
  void kill_memory(std::size_t server);
  // As SIGKILL, and a new process at the same address. Its region is empty, and in a durable cluster it opens
  // what the disk has before it serves. Returns when it serves.
  void restart_memory(std::size_t server, DiskAfter disk = DiskAfter::replaced);
  // All of them end at the same moment.
  void restart_all_memory(DiskAfter disk);
  // The same, and returns at once.
  void begin_restart_memory(std::size_t server, DiskAfter disk);
  // Its region goes on at another address, from the disk as it is, by a process that knows where it is.
  // No other process is told. The old process is dead; or it hangs for `hangs_ns`, and is dead then. Returns
  // at once. In a durable cluster only.
  void begin_move_memory(std::size_t server, std::uint64_t hangs_ns = 0);
  // It serves, or its `opened` says why it does not. False, and it still opens, if it takes longer than that
  // in virtual time.
  bool await_opened(std::size_t server, std::uint64_t limit_ns);
  // Reads all of each server's log and checkpoints, while nothing is written: the findings as lines, empty if
  // there are none.
  std::string verify_disks();
  // As the flags of all processes have it.
  std::string memory_address(std::size_t server) const {
    return "sim:" + options_.memory_name + std::to_string(server);
  }
  // With copies: the one that serves the region. There is one then.
  MemoryProcess& memory(std::size_t server);
  // The hosts of a cluster with a configuration store.
  CopyHosts& hosts() { return *hosts_; }
  fabric::sim::SimWorld& world() { return world_; }

 private:
  std::unique_ptr<MemoryProcess> start_memory(std::uint32_t server, DiskAfter after);
  // The rest of a durable server's start, in the background.
  void start_to_open(MemoryProcess& process, std::uint32_t server);
  // A process without a service at an address yet.
  std::unique_ptr<MemoryProcess> make_memory(fabric::sim::SimNode& node, memory::testing::FaultDisk* disk,
                                             std::uint32_t server) const;
  std::vector<MemoryProcess*> processes();
  void require_opened(std::size_t server);
  void stop_memory();
  std::string place_address(std::size_t server) const {
    const std::uint64_t moves = moves_[server];
    return memory_address(server) + (moves == 0 ? "" : "-" + std::to_string(moves));
  }
  // The disk of the machine, for a process on that node. Draws nothing from the world's generator.
  memory::testing::FaultDisk* prepare_disk(std::uint32_t server, fabric::sim::SimNode& node, DiskAfter after);

  fabric::sim::SimWorld& world_;
  ClusterOptions options_;
  bool stopped_ = false;                                            // the memory servers
  std::vector<std::unique_ptr<memory::testing::FaultDisk>> disks_;  // of the memory servers' machines
  std::vector<std::uint64_t> moves_;                                // of each memory server's region
  std::vector<std::unique_ptr<MemoryProcess>> memories_;
  std::unique_ptr<CopyHosts> hosts_;  // instead, with a configuration store
  std::vector<std::unique_ptr<ComputeProcess>> computes_;
};

}  // namespace namdb::sim
