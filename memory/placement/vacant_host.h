// The host of a folder whose region is not there: it waits for one (arrival.h), or had one that is elsewhere
// now. It says where regions are, and takes orders to move one here. Workers are told to look elsewhere;
// other memory servers see by the epoch 0 of its welcome that no region is here.
//
// It may have a copy of one (follower.h).
//
// It says yes to the claim that took the region away: this object is made when the former memory server has
// ended, so no peer of that server has a channel any more (region_host.h).
//
// One executor's thread.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "common/fabric/fabric.h"
#include "common/placement/follow_calls.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "memory/placement/arrival.h"
#include "memory/placement/follower.h"
#include "memory/placement/place_record.h"

namespace namdb::memory {

// The copy that a host without a region may have, and orders about it.
class CopyOrders {
 public:
  virtual ~CopyOrders() = default;
  // Null: the host follows no primary.
  virtual const Follower* follower() const = 0;
  virtual reactor::Task<Status> copy(placement::CopyRequest request) = 0;
  virtual reactor::Task<Status> leave(placement::LeaveRequest request) = 0;
};

class VacantHost final : public fabric::Service {
 public:
  // All outlive this. `arrival`: null where the region has gone, or the host may have a copy. `shut_down` is
  // called when a tool asks for that.
  VacantHost(std::uint32_t server_count, PlaceKeeper& keeper, Arrival* arrival, CopyOrders& orders,
             std::function<void()> shut_down);

  Result<std::string> on_connect(fabric::PeerId peer, std::string_view hello) override;
  reactor::Task<Status> on_call(fabric::PeerId peer, std::uint16_t method, std::string_view request,
                                std::string& reply) override;
  void on_disconnect(fabric::PeerId /*peer*/) override {}

 private:
  Status no_region() const;
  reactor::Task<Status> configuration(std::string_view request, std::string* reply);
  Status hand_over(std::string_view request, std::string& reply) const;
  Status move(std::string_view request, std::string& reply);
  reactor::Task<Status> copy(std::string_view request);
  reactor::Task<Status> leave(std::string_view request);

  std::uint32_t server_count_;
  PlaceKeeper& keeper_;
  Arrival* arrival_;
  CopyOrders& orders_;
  std::function<void()> shut_down_;
};

// The hello of a tool with that name and a fresh id.
std::string tool_hello(Random& random, const std::string& name);
// The same of a copy, which is let in while the region opens, as other memory servers are.
std::string copy_hello(Random& random, const std::string& name);

}  // namespace namdb::memory
