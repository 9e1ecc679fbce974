// The common parts of whole runs that a seed decides: a cluster with clients on its compute servers, some of
// which are killed or paused, and the check of the regions at the end.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "tools/namsim/cluster/cluster.h"

namespace namdb::sim {

class SeededRun {
 public:
  SeededRun(const SeededRun&) = delete;
  SeededRun& operator=(const SeededRun&) = delete;

 protected:
  struct Setup {
    std::function<fabric::sim::SimOptions(Random&)> network;
    std::function<ClusterOptions(Random&)> cluster;
    Interposer* interposer;
    std::uint64_t limit_ns;  // of virtual time, for whatever is waited for
  };
  // All but the world is drawn from `draw_seed`. `anomaly` outlives the run.
  SeededRun(std::uint64_t seed, std::uint64_t draw_seed, const Setup& setup, std::string& anomaly);
  // After an anomaly a coroutine may wait for ever: nothing is stopped cleanly.
  ~SeededRun();

  bool sound() const { return anomaly_.empty(); }
  // The first one that is not empty counts.
  void fail(const std::string& what);
  void check(const Status& status, const std::string& what);
  // Without a bound that ends the program: something may be locked for ever.
  Status await(std::size_t compute, reactor::Task<Status> task);
  void start_client(std::size_t compute, reactor::Task<void> client);
  void await_clients();
  // How many transactions have ended.
  using Progress = std::function<std::uint64_t()>;
  // A compute server dies with its clients; it has, or had, some.
  void kill(std::size_t victim);
  // The same. The index of another that starts.
  std::size_t replace(std::size_t victim);
  // Twice, after some progress: a compute server dies with its clients, and another starts.
  void kill_some(std::size_t computes, const Progress& ended,
                 const std::function<void(std::size_t)>& start_clients);
  // The same, six times, with compute servers that take no turn for up to that long.
  void pause_some(std::size_t computes, const Progress& ended,
                  std::uint64_t longest_ns = 20 * kMillisecond_ns);
  std::size_t survivor() const;
  // The living compute servers stop cleanly.
  void stop_computes();
  void stop_and_check_regions();

  Random draw_;
  fabric::sim::SimWorld world_;
  Cluster cluster_;
  std::uint64_t running_ = 0;  // clients

 private:
  reactor::Task<void> counted(reactor::Task<void> client);
  void go_on(const Progress& ended);

  std::uint64_t limit_ns_;
  std::string& anomaly_;
  std::map<std::size_t, std::unique_ptr<reactor::Gate>> client_gates_;  // by compute server
  std::vector<std::unique_ptr<reactor::Gate>> gates_;                   // of what is awaited
};

}  // namespace namdb::sim
