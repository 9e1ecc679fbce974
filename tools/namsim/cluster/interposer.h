// Stands between the processes of a simulated cluster and their fabric: operations and their results on
// compute servers, and calls to memory servers, pass through it. For test doubles that break a promise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "common/fabric/fabric.h"
#include "memory/checkpoint/chunk_store.h"
#include "memory/log/disk.h"
#include "memory/log/log.h"

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
  // Of a durable cluster: the disk that the database of this memory server gets, and the log as its
  // checkpoints see it. Null: those that are given, which outlive what is returned.
  virtual std::unique_ptr<memory::Disk> disk(std::size_t server, memory::Disk& disk) {
    static_cast<void>(server);
    static_cast<void>(disk);
    return nullptr;
  }
  virtual std::unique_ptr<memory::SweepLog> sweep_log(std::size_t server, memory::Log& log,
                                                      memory::SweepLog& sweep) {
    static_cast<void>(server);
    static_cast<void>(log);
    static_cast<void>(sweep);
    return nullptr;
  }
};

}  // namespace namdb::sim
