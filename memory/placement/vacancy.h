// The life of a memory server's process while its folder's region is elsewhere: it listens as a vacant host,
// until a region has come or the process is to end. In a cluster with a configuration store it follows its
// region's primary meanwhile, unless it was told to leave; otherwise a region may move here.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/base/error.h"
#include "common/fabric/fabric.h"
#include "common/fabric/patient_client.h"
#include "common/placement/configuration_store.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "memory/placement/arrival.h"
#include "memory/placement/follower.h"
#include "memory/placement/place_record.h"
#include "memory/placement/vacant_host.h"

namespace namdb::memory {

// With a configuration store.
struct Following {
  placement::ConfigurationStore* store = nullptr;
  FollowerOptions options;
  bool waits = false;  // a vacant folder follows no primary before it is told to
};

class Vacancy final : public CopyOrders {
 public:
  // The server side of a transport, with memory for form's sake.
  using MakeServer = std::function<std::unique_ptr<fabric::ServerFabric>(fabric::Service& service)>;

  // All outlive this.
  Vacancy(reactor::Executor& executor, std::unique_ptr<fabric::ClientFabric> client,
          const MakeServer& make_server, Disk& disk, PlaceKeeper& keeper, ArrivalOptions options,
          std::optional<Following> following = std::nullopt);
  ~Vacancy() override;
  Vacancy(const Vacancy&) = delete;
  Vacancy& operator=(const Vacancy&) = delete;

  // Ok: the region is here (PlaceKeeper), or stop() was called; both where that came while the record was
  // written. `listening` is called once it answers.
  reactor::Task<Status> run(std::string listen, std::function<void()> listening);
  // The process is to end.
  void stop();
  bool stopped() const { return stopped_; }
  // Arrival::paused_ns().
  std::uint64_t paused_ns() const { return arrival_ == nullptr ? 0 : arrival_->paused_ns(); }

  // Behind run(), once the region is here: its image in memory, or null.
  std::unique_ptr<CopyImage> take_image() { return follower_ == nullptr ? nullptr : follower_->take_image(); }

  const Follower* follower() const override { return follower_.get(); }
  reactor::Task<Status> copy(placement::CopyRequest request) override;
  reactor::Task<Status> leave(placement::LeaveRequest request) override;

 private:
  void start_following();
  reactor::Task<void> await_arrival();
  reactor::Task<void> await_takeover();
  void end();

  reactor::Executor& executor_;
  Disk& disk_;
  PlaceKeeper& keeper_;
  std::optional<Following> following_;
  std::unique_ptr<fabric::ClientFabric> client_;
  fabric::PatientClient patient_;     // a copy does not wait long for a primary that hangs
  std::unique_ptr<Arrival> arrival_;  // null where the region has gone, and with a configuration store
  std::unique_ptr<Follower> follower_;
  VacantHost host_;
  std::unique_ptr<fabric::ServerFabric> fabric_;
  Status failure_;
  bool leaving_ = false;
  bool over_ = false;
  bool stopped_ = false;
  reactor::Event changed_;
  reactor::Gate gate_;
};

}  // namespace namdb::memory
