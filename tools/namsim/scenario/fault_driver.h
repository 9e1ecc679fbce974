// Makes a run's faults happen, and ends them: between the events of the world, in no node's turn.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/namsim/cluster/cluster.h"
#include "tools/namsim/scenario/faults.h"

namespace namdb::sim {

// The faults that only the run can do, since they concern clients. Compute servers are named by their
// positions in the cluster.
class FaultActions {
 public:
  virtual void crash_compute(std::size_t compute) = 0;
  virtual void restart_cluster(std::size_t memory) = 0;
  // Of a durable cluster.
  virtual void restart_memory(std::size_t memory) = 0;
  virtual void lose_power() = 0;
  virtual void abandon_session(std::size_t compute, std::uint64_t duration_ns) = 0;
  // Of a cluster whose regions have copies: the faults of hosts and of their store, and restart_memory and
  // lose_power. Hosts by their positions in CopyHosts. Whether it did something: a host was there.
  virtual bool disturb_hosts(const Fault& /*fault*/, const std::vector<std::size_t>& /*hosts*/) {
    return false;
  }

 protected:
  ~FaultActions() = default;
};

class FaultDriver {
 public:
  // All outlive the driver. Faults of the kind `set` are not its business. Without faults it draws nothing.
  FaultDriver(fabric::sim::SimWorld& world, Cluster& cluster, const Faults& faults, std::uint64_t seed);

  // The clients run from now on. Sets the clocks.
  void begin();
  // After each event of the world: true when fire() has something to do.
  bool due(std::uint64_t transactions);
  // Not from within a task.
  void fire(FaultActions& actions);
  // No more faults happen, and lasting ones end.
  void heal();
  // All faults have begun.
  bool over() const { return pending_.empty() && due_.empty(); }
  // Faults that did something.
  const FaultCounts& happened() const { return happened_; }

 private:
  struct Pending {
    const Fault* fault;
    std::uint64_t left;
  };
  void count(const Fault& fault) { ++happened_[static_cast<std::size_t>(fault.kind)]; }
  // Whether it did something: a process was there.
  bool happen(const Fault& fault, FaultActions& actions);
  void disturb_link(const Fault& fault, fabric::sim::SimNode* client, fabric::sim::SimNode* server);
  bool slow(const Fault& fault);
  void end_at(std::uint64_t time_ns, std::function<void()> end);
  std::vector<std::size_t> living() const;
  std::size_t pick_compute(const Fault& fault);
  std::size_t pick_memory(const Fault& fault);
  // With copies: of the region's hosts.
  std::size_t pick_host(const Fault& fault);
  std::vector<std::size_t> pick_hosts(const Fault& fault);
  // Null: no process is there.
  fabric::sim::SimNode* memory_node(const Fault& fault);

  fabric::sim::SimWorld& world_;
  Cluster& cluster_;
  const Faults& faults_;
  Random draw_;
  std::uint64_t begun_ns_ = 0;
  FaultCounts happened_{};
  std::vector<Pending> pending_;
  std::vector<const Fault*> due_;
  std::vector<std::function<void()>> ends_;  // each undoes something, however often it is called
};

}  // namespace namdb::sim
