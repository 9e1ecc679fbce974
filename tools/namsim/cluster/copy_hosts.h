// The hosts of a cluster whose regions have copies: a machine for each, with its disk, and on it a process
// that is now the host of its region, now a copy, as the daemon's (memory/daemon). They share a
// configuration store in memory, which each of them reaches by a way of its own.
//
// Host 0 of a region creates it; the others join it. All are the production code of memory/placement.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/fabric/sim/world.h"
#include "common/placement/testing/memory_store.h"
#include "memory/placement/copies.h"
#include "memory/placement/region_host.h"
#include "memory/placement/vacancy.h"
#include "tools/namsim/cluster/cluster_options.h"
#include "tools/namsim/cluster/memory_process.h"

namespace namdb::sim {

// A host's process.
struct HostProcess {
  fabric::sim::SimNode* node = nullptr;
  placement::testing::MemoryStore* way = nullptr;  // to the store; its faults are this host's
  std::unique_ptr<placement::ConfigurationStore> store;
  std::unique_ptr<memory::PlaceKeeper> keeper;
  std::unique_ptr<MemoryProcess> region;  // while it is here, and behind stop()
  std::unique_ptr<memory::RegionHost> departure;
  std::unique_ptr<memory::Copies> copies;
  std::unique_ptr<memory::Vacancy> vacancy;
  std::vector<std::uint64_t> no_memory;
  bool stopping = false;
  bool ended = false;
  Status status;  // of the end
  std::unique_ptr<reactor::Gate> gate;
};

struct HostMachine {
  std::uint32_t server = 0;  // of its region
  std::string address;
  std::unique_ptr<memory::testing::FaultDisk> disk;
  std::unique_ptr<HostProcess> process;  // null: there is none
  bool creates = false;                  // the region, if its disk has none
};

class CopyHosts {
 public:
  // Creates a region's server and fabric on a node.
  using MakeServer = std::function<std::unique_ptr<MemoryProcess>(
      fabric::sim::SimNode& node, memory::testing::FaultDisk& disk, std::uint32_t server)>;

  // All outlive this. Starts all hosts; regions are there once open() is true.
  CopyHosts(fabric::sim::SimWorld& world, const ClusterOptions& options, MakeServer make_server);
  // Behind stop().
  ~CopyHosts();
  CopyHosts(const CopyHosts&) = delete;
  CopyHosts& operator=(const CopyHosts&) = delete;

  // Region by region, host 0 first.
  std::size_t count() const { return machines_.size(); }
  HostMachine& machine(std::size_t host) { return machines_[host]; }
  const placement::Configuration& stored() const { return shared_.stored.configuration; }
  // The machine at that address.
  std::size_t at(const std::string& address) const;
  // The region's primary by the store; host 0 before there is one.
  std::size_t primary(std::size_t server) const;
  // The region's other host at that position, in a cluster with so many copies.
  std::size_t copy(std::size_t server, std::size_t position) const;
  // Null: no process is there.
  fabric::sim::SimNode* node(std::size_t host) {
    return machines_[host].process == nullptr ? nullptr : machines_[host].process->node;
  }
  // The process that serves the region, by the store and by itself. Null: none does now.
  MemoryProcess* serving(std::size_t server);
  bool all_serve();
  // The same, and each other host that lives is a copy in sync.
  bool all_in_sync();

  // As SIGKILL. `lost`: the machine is never seen again, and a new one takes its address, with an empty disk.
  void kill(std::size_t host, bool lost = false);
  // A process on a machine that has none, or whose process has ended.
  void start(std::size_t host, DiskAfter disk);
  // All processes end, as they do when they are told to. Regions may be checked behind it.
  void stop();

  // A line for each host, for people.
  std::string describe();
  // All in sync, and nothing is under way any more between primaries and copies.
  bool at_rest();
  // Then: the lines that say what is wrong with a host's files, or how a copy's differ from its primary's.
  // Empty: they do not.
  std::string compare();

 private:
  class Life;
  memory::testing::FaultDisk* disk_of(HostMachine& machine, fabric::sim::SimNode& node, DiskAfter after);

  fabric::sim::SimWorld& world_;
  const ClusterOptions& options_;
  MakeServer make_server_;
  placement::testing::SharedConfiguration shared_;
  std::vector<HostMachine> machines_;
  std::uint64_t lives_ = 0;
};

}  // namespace namdb::sim
