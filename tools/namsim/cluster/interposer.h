// Stands between the processes of a simulated cluster and their fabric: operations and their results on
// compute servers, and calls to memory servers, pass through it. For test doubles that break a promise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "common/fabric/fabric.h"

namespace namdb::sim {

class Cluster;

class Interposer {
 public:
  virtual ~Interposer() = default;
  // The cluster is about to start its first process.
  virtual void attach(Cluster& cluster) = 0;
  // The fabric that the worker of this compute server gets.
  virtual std::unique_ptr<fabric::ClientFabric> client(std::size_t compute,
                                                       std::unique_ptr<fabric::ClientFabric> fabric) = 0;
  // The service that the fabric of this memory server calls. `service` outlives what is returned.
  virtual std::unique_ptr<fabric::Service> service(std::size_t server, fabric::Service& service) = 0;
};

}  // namespace namdb::sim
