// The life of a memory server's process while its folder's region is elsewhere: it listens as a vacant host,
// until a region has come or the process is to end.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/base/error.h"
#include "common/fabric/fabric.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "memory/placement/arrival.h"
#include "memory/placement/place_record.h"
#include "memory/placement/vacant_host.h"

namespace namdb::memory {

class Vacancy {
 public:
  // The server side of a transport, with memory for form's sake.
  using MakeServer = std::function<std::unique_ptr<fabric::ServerFabric>(fabric::Service& service)>;

  // All outlive this.
  Vacancy(reactor::Executor& executor, std::unique_ptr<fabric::ClientFabric> client,
          const MakeServer& make_server, Disk& disk, PlaceKeeper& keeper, ArrivalOptions options);
  Vacancy(const Vacancy&) = delete;
  Vacancy& operator=(const Vacancy&) = delete;

  // Ok: the region is here (PlaceKeeper), or stop() was called. `listening` is called once it answers.
  reactor::Task<Status> run(std::string listen, std::function<void()> listening);
  void stop();
  // Arrival::paused_ns().
  std::uint64_t paused_ns() const { return arrival_ == nullptr ? 0 : arrival_->paused_ns(); }

 private:
  reactor::Task<void> await_arrival();

  reactor::Executor& executor_;
  std::unique_ptr<fabric::ClientFabric> client_;
  std::unique_ptr<Arrival> arrival_;  // null where the region has gone
  VacantHost host_;
  std::unique_ptr<fabric::ServerFabric> fabric_;
  Status failure_;
  bool over_ = false;
  reactor::Event changed_;
  reactor::Gate gate_;
};

}  // namespace namdb::memory
