// The common parts of whole runs on a cluster whose regions have copies: clients that go on until the run is
// over, processes of hosts that start again, partitions, and the checks at the end.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tools/namsim/cluster/copy_hosts.h"
#include "tools/namsim/history/check.h"
#include "tools/namsim/scenario/copies_verdict.h"
#include "tools/namsim/scenario/seeded_run.h"
#include "tools/namsim/workloads/workloads.h"

namespace namdb::sim {

class HostsRun : protected SeededRun {
 protected:
  // The verdict outlives it.
  HostsRun(std::uint64_t seed, std::uint64_t draw_seed, const Setup& setup, CopiesVerdict& verdict);
  // Before load().
  void use_workload(const std::string& name, const WorkloadOptions& options);

  std::size_t servers() const { return cluster_.options().memory_servers; }
  // About what the workload's clients have read.
  void complain();
  void load();
  // With so many transactions at most, and pauses between them.
  void add_client(std::size_t compute, std::uint64_t most, std::uint64_t think_ns);
  void count_takeovers();
  // Processes that have ended start again, as a service manager has them.
  void revive();

  // --- faults; each ends by itself, and with heal() ---
  fabric::sim::SimNode* node(std::size_t host) { return hosts_.node(host); }
  void end_later(std::uint64_t duration_ns, std::function<void()> end);
  // A process on a machine without one.
  void start_later(std::size_t host, DiskAfter disk, std::uint64_t pause_ns);
  // Of a region that another host has in sync, too: its primary's machine may be lost for good.
  bool may_lose_primary(std::size_t server);
  void leave_store(std::size_t host, std::uint64_t duration_ns);
  enum class Direction : std::uint8_t { both, from_left, from_right };
  // There are no connections between the sides; or messages hang in that direction.
  void part(std::vector<fabric::sim::SimNode*> left, std::vector<fabric::sim::SimNode*> right,
            Direction direction, std::uint64_t duration_ns);
  // A compute server dies with its clients, and another one starts. Whether it has.
  bool replace_compute(std::size_t victim);
  void heal();

  // --- the end ---
  void await_sync();
  // Every primary is gone for good, and the copies have all that clients were told of.
  void take_over_all();
  // Every compute server is connected, and every row takes a write.
  void touch();
  // Behind the end of all clients.
  void check_regions();
  void check_history(const history::CheckOptions& options);

  CopiesVerdict& verdict_;
  history::History history_{history::Model::registers};
  std::unique_ptr<Workload> workload_;
  CopyHosts& hosts_;
  bool over_ = false;  // clients end

 private:
  reactor::Task<void> client(compute::Worker* worker, std::uint64_t session_id, std::uint64_t most,
                             std::uint64_t think_ns);

  std::vector<std::size_t> primaries_;
  std::uint64_t sessions_ = 0;
  bool healed_ = false;
  std::vector<std::function<void()>> ends_;
};

}  // namespace namdb::sim
