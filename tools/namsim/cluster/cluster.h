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
#include "memory/opening/checkpoints.h"
#include "memory/opening/durable_database.h"
#include "memory/options.h"
#include "memory/server/server.h"
#include "tools/namsim/cluster/interposer.h"
#include "tools/namsim/cluster/zeroed_memory.h"

namespace namdb::sim {

// Of a durable cluster's databases: small, so that segments and generations come and go within a short run.
struct DatabaseOptions {
  DatabaseOptions();
  // `segment_bytes` of 64 KiB to 1 MiB, a bound of 6 to 24 of them, checkpoints each 5 to 500 ms.
  static DatabaseOptions swarm(Random& random);

  memory::LogOptions log;                 // on_failure is set by the cluster
  memory::CheckpointOptions checkpoints;  // likewise
};

struct ClusterOptions {
  std::uint32_t memory_servers = 1;
  std::uint64_t region_bytes = 16U << 20;
  bool growing_regions = false;   // they begin with a few extents and grow to region_bytes
  memory::Options memory;         // server_id and server_count are set by the cluster
  compute::WorkerOptions worker;  // memory_servers and name are set by the cluster
  std::size_t location_cache_bytes = 64U << 10;
  // Memory servers keep a database on their machines' disks, level `flushed`, and open it when they start
  // again.
  bool durable = false;
  DatabaseOptions database;
  std::string memory_name = "m";     // of the memory servers, which listen on sim:m0 and so on
  Interposer* interposer = nullptr;  // outlives the cluster
  compute::LogLine log = [](const std::string&) {};  // of all compute processes
};

// One memory server's process.
struct MemoryProcess {
  fabric::sim::SimNode* node = nullptr;
  memory::testing::FaultDisk* disk = nullptr;  // the machine's: it outlives the process
  ZeroedWords words;
  std::unique_ptr<memory::MemoryServer> server;
  std::unique_ptr<fabric::Service> interposed;  // null without an interposer
  std::unique_ptr<fabric::sim::SimServerFabric> fabric;
  // Of a durable cluster, null before it is opened. Below what they use.
  std::unique_ptr<memory::Disk> interposed_disk;  // null without an interposer that has one
  std::unique_ptr<memory::DurableDatabase> database;
  std::unique_ptr<memory::SweepLog> interposed_log;  // likewise
  std::unique_ptr<memory::Checkpoints> checkpoints;
  std::unique_ptr<reactor::Gate> gate;
  std::optional<Status> opened;  // it serves, or why it does not
  Status failure;                // of its disk: the process has no use any more
};

// The disk that a memory server's next process finds: a new one; that of a killed process, with all that had
// arrived there; that of a machine that lost its power, with what was durable and some of the rest.
enum class DiskAfter : std::uint8_t { replaced, killed, power_lost };

// One compute server's process with one worker.
struct ComputeProcess {
  fabric::sim::SimNode* node = nullptr;
  std::unique_ptr<storage::LocationCache> locations;
  std::unique_ptr<fabric::ClientFabric> fabric;
  std::unique_ptr<compute::Worker> worker;
};

// Channels to the memory server, but for those of other memory servers, which stay.
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
  // Nobody else is told. The old process is dead; or it hangs for so long, and is dead then. Returns at once.
  // In a durable cluster only.
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
  MemoryProcess& memory(std::size_t server) { return *memories_[server]; }
  fabric::sim::SimWorld& world() { return world_; }

 private:
  std::unique_ptr<MemoryProcess> start_memory(std::uint32_t server, DiskAfter after);
  // The rest of a durable server's start, in the background.
  void start_to_open(MemoryProcess& process, std::uint32_t server);
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
  std::vector<std::unique_ptr<ComputeProcess>> computes_;
};

}  // namespace namdb::sim
