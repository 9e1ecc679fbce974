// Looks after a memory server that serves: tells the service manager that it is well and how it is, and gives
// its metrics out over HTTP. One reactor's thread.
#pragma once

#include <memory>
#include <string>

#include "common/base/error.h"
#include "common/fabric/fabric.h"
#include "common/metrics/metrics_server.h"
#include "common/reactor/reactor.h"
#include "memory/server/server.h"

namespace namdb::memory {

class ServerWatch {
 public:
  // All outlive the watch. `metrics_listen`: HOST:PORT, or empty. Error configuration for an address that
  // cannot be listened at.
  static Result<std::unique_ptr<ServerWatch>> create(reactor::Reactor& reactor, const MemoryServer& server,
                                                     const fabric::ServerFabric& fabric,
                                                     const std::string& metrics_listen);
  ~ServerWatch();

  // Once.
  void start();
  // Once, behind start().
  reactor::Task<void> close();

  // Where the metrics are; empty: nowhere.
  std::string address() const { return metrics_ ? metrics_->address() : std::string(); }

 private:
  ServerWatch(reactor::Reactor& reactor, const MemoryServer& server, const fabric::ServerFabric& fabric);
  std::string page() const;
  reactor::Task<void> tell();

  reactor::Reactor& reactor_;
  const MemoryServer& server_;
  const fabric::ServerFabric& fabric_;
  std::unique_ptr<metrics::MetricsServer> metrics_;
  reactor::Event closing_;
  reactor::Gate gate_;
};

}  // namespace namdb::memory
