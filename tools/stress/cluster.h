// A whole cluster in this process: each memory server and each worker of each compute server on a thread of
// its own, with real transports and a real SQL port. The thread sanitizer finds races here, which the
// simulator with its one thread cannot show.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "compute/worker/worker_pool.h"
#include "memory/options.h"
#include "tools/support/client/connection.h"
#include "tools/support/servers/server_thread.h"

namespace namdb::stress {

// A compute server of several workers that share a small location cache, so that they meet in it.
class ComputeServer {
 public:
  // Blocks until it serves. Throws std::runtime_error.
  explicit ComputeServer(compute::Flags flags);
  ComputeServer(const ComputeServer&) = delete;
  ComputeServer& operator=(const ComputeServer&) = delete;
  // Clients that are still there are told so.
  ~ComputeServer();

  const support::Endpoint& endpoint() const { return endpoint_; }

 private:
  struct Process;
  std::unique_ptr<Process> process_;
  support::Endpoint endpoint_;
  std::thread thread_;
};

class Cluster {
 public:
  // Two memory servers whose background work never rests: rings of one version, short ages. Over tcp+shm each
  // compute server has a local path to one of them.
  explicit Cluster(std::string transport);

  ComputeServer& add_compute(std::uint32_t workers);
  // The one that was added first.
  void remove_compute() { computes_.erase(computes_.begin()); }
  // The endpoints of the compute servers that are there.
  std::vector<support::Endpoint> endpoints() const;

 private:
  std::string transport_;
  std::vector<std::unique_ptr<support::ServerThread>> memory_;
  std::vector<std::unique_ptr<ComputeServer>> computes_;
  std::vector<std::string> sockets_;  // of the memory servers, over tcp+shm
  std::uint16_t added_ = 0;
};

}  // namespace namdb::stress
