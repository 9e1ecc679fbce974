#include "tools/namctl/copy_orders.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "common/placement/configuration.h"
#include "common/placement/follow_calls.h"
#include "common/placement/move_calls.h"
#include "tools/namctl/rebalance_plan.h"
#include "tools/namctl/region_hosts.h"
#include "tools/namctl/region_move.h"

namespace namdb::namctl {
namespace {

using placement::MoveReply;
using placement::MoveState;

constexpr std::chrono::milliseconds kOrderLook{100};
// How long a host may be silent while it opens a region, or closes one.
constexpr std::chrono::seconds kOrderSilence{60};

std::string server_name(unsigned server_id) {
  return "memory server " + std::to_string(server_id);
}

// With a store it copies in order to follow.
bool is_copy(MoveState state) {
  return state == MoveState::copies || state == MoveState::follows || state == MoveState::in_sync;
}

Status order_copy(ControlPlane& control, const std::string& address, std::uint16_t server_id) {
  return control.call_bytes(address, placement::kCopyMethod, encode(placement::CopyRequest{server_id}))
      .status();
}

// Until the host says that it is in sync.
Result<MoveReply> await_sync(ControlPlane& control, const std::string& address) {
  auto heard = std::chrono::steady_clock::now();
  while (true) {
    auto reply = ask_host(control, address);
    const auto now = std::chrono::steady_clock::now();
    if (reply.ok() && reply->state == MoveState::in_sync) {
      show_progress("");
      return reply;
    }
    if (reply.ok() && is_copy(reply->state)) {
      heard = now;
      show_progress(address + " copies: " + progress_text(*reply));
    } else if (now - heard > kOrderSilence) {
      show_progress("");
      if (!reply.ok()) return reply.status();
      return Status(ErrorCode::object_not_in_prerequisite_state, address + " has ended to follow",
                    "look at its log");
    }
    std::this_thread::sleep_for(kOrderLook);
  }
}

// The host that has the region now, once it serves it.
Result<std::string> await_new_primary(ControlPlane& control, const std::string& old,
                                      std::uint16_t server_id) {
  const auto began = std::chrono::steady_clock::now();
  std::string place;
  Status status;
  while (std::chrono::steady_clock::now() - began < kOrderSilence) {
    const auto configuration = ask_configuration(control, old);
    if (configuration.ok() && server_id < configuration->regions() &&
        configuration->place(server_id).address != old)
      place = configuration->place(server_id).address;
    if (!configuration.ok()) status = configuration.status();
    if (!place.empty()) {
      const auto reply = ask_host(control, place);
      if (reply.ok() && reply->state == MoveState::here) {
        show_progress("");
        return place;
      }
      status = reply.status();
      show_progress(place + " opens the database");
    }
    std::this_thread::sleep_for(kOrderLook);
  }
  show_progress("");
  return Status(ErrorCode::connection_failure,
                (place.empty() ? "the new host of the region" : place) + " does not serve it yet" +
                    (status.ok() ? "" : ": " + status.message()),
                "look at its log; once it runs it goes on by itself");
}

// The region goes to a copy. Its new host.
Result<std::string> switch_region(const Output& output, ControlPlane& control, const DrainOrder& order,
                                  std::uint16_t server_id) {
  output.line(server_name(server_id) + " goes from " + order.from + " to " +
              (order.to.empty() ? "a copy" : order.to));
  placement::LeaveRequest request;
  request.to = order.to;
  request.force = order.force;
  const Status status = control.call_bytes(order.from, placement::kLeaveMethod, encode(request)).status();
  // It ends its memory server, perhaps before the answer is out.
  if (!status.ok() && status.code() != ErrorCode::connection_failure) return status;
  auto place = await_new_primary(control, order.from, server_id);
  if (place.ok()) output.line(server_name(server_id) + " is at " + *place + " now");
  return place;
}

Status remove_copy(const Output& output, ControlPlane& control, const DrainOrder& order,
                   const MoveReply& copy) {
  if (!order.to.empty()) {
    return Status(ErrorCode::configuration, order.from + " has a copy only, which goes nowhere",
                  "leave out --to");
  }
  placement::LeaveRequest request;
  request.force = order.force;
  Status status = control.call_bytes(order.from, placement::kLeaveMethod, encode(request)).status();
  if (status.ok()) output.line(order.from + " is no copy of " + server_name(copy.server_id) + " any more");
  return status;
}

// A copy at `to`, if the cluster has a configuration store. False: it has none.
Result<bool> prepare_target(const Output& output, ControlPlane& control, const std::string& to,
                            std::uint16_t server_id) {
  const auto next = ask_host(control, to);
  if (!next.ok()) return next.status();
  if (next->state == MoveState::in_sync) return true;
  if (!is_copy(next->state)) {
    if (next->state == MoveState::here || !order_copy(control, to, server_id).ok()) return false;
    output.line(to + " copies " + server_name(server_id) + " first");
  }
  const auto synced = await_sync(control, to);
  if (!synced.ok()) return synced.status();
  return true;
}

}  // namespace

Status add_copy(const Output& output, ControlPlane& control, const std::string& address,
                nlohmann::json* document) {
  const auto host = ask_host(control, address);
  if (!host.ok()) return host.status();
  if (host->state == MoveState::here) {
    return Status(ErrorCode::configuration,
                  address + " has the region of " + server_name(host->server_id) + " itself");
  }
  if (!is_copy(host->state)) {
    const Status status = order_copy(control, address, host->server_id);
    if (!status.ok()) return status;
  }
  const auto began = std::chrono::steady_clock::now();
  output.line(address + " becomes a copy of " + server_name(host->server_id));
  const auto synced = await_sync(control, address);
  if (!synced.ok()) return synced.status();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
  output.line(address + " is in sync with " + synced->from);
  *document = {{"address", address},
               {"server_id", synced->server_id},
               {"primary", synced->from},
               {"copied_bytes", synced->copied_bytes},
               {"seconds", seconds.count()}};
  return Status();
}

Status drain_host(const Output& output, ControlPlane& control, const DrainOrder& order,
                  nlohmann::json* document) {
  const auto host = ask_host(control, order.from);
  if (!host.ok()) return host.status();
  if (is_copy(host->state)) {
    *document = {{"server_id", host->server_id}, {"from", order.from}, {"to", nullptr}};
    return remove_copy(output, control, order, *host);
  }
  if (host->state != MoveState::here && order.to.empty()) {
    output.line(order.from + " has neither a region nor a copy");
    *document = {{"server_id", host->server_id}, {"from", order.from}, {"to", nullptr}};
    return Status();
  }
  if (host->state != MoveState::here) return move_region(output, control, order.from, order.to, document);
  if (!order.to.empty()) {
    const auto prepared = prepare_target(output, control, order.to, host->server_id);
    if (!prepared.ok()) return prepared.status();
    if (!prepared.value()) return move_region(output, control, order.from, order.to, document);
  }
  const auto place = switch_region(output, control, order, host->server_id);
  if (!place.ok()) return place.status();
  *document = {{"server_id", host->server_id}, {"from", order.from}, {"to", *place}};
  return Status();
}

Status rebalance(const Output& output, ControlPlane& control, const std::vector<std::string>& addresses,
                 nlohmann::json* document) {
  nlohmann::json steps = nlohmann::json::array();
  while (true) {
    const auto step = next_rebalance_step(merge_configurations(view_hosts(control, addresses)));
    if (!step) break;
    DrainOrder order;
    order.from = step->from;
    order.to = step->to;
    const auto server_id = static_cast<std::uint16_t>(step->region);
    const auto place = switch_region(output, control, order, server_id);
    if (!place.ok()) return place.status();
    steps.push_back({{"server_id", server_id}, {"from", step->from}, {"to", *place}});
    nlohmann::json ignored;
    const Status status = add_copy(output, control, step->from, &ignored);
    if (!status.ok()) return status;
  }
  if (steps.empty()) output.line("primaries are as even over machines as copies in sync allow");
  *document = {{"steps", steps}};
  return Status();
}

}  // namespace namdb::namctl
