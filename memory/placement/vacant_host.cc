#include "memory/placement/vacant_host.h"

#include <utility>

#include "common/calls/hot_calls.h"
#include "common/calls/protocol_version.h"
#include "memory/peers/peers.h"
#include "proto/control.pb.h"

namespace namdb::memory {

using placement::Configuration;

namespace {

Status malformed_call(std::uint16_t method) {
  return Status(ErrorCode::protocol_violation,
                "the request of call " + std::to_string(method) + " cannot be read");
}

control::Hello hello_of(Random& random, const std::string& name) {
  std::string id;
  while (id.size() < Peers::kComputeId_bytes) id.push_back(static_cast<char>(random.below(256)));
  control::Hello hello;
  hello.set_protocol_version(calls::kProtocolVersion);
  hello.set_compute_id(id);
  hello.set_name(name);
  hello.set_tool(true);
  return hello;
}

}  // namespace

std::string tool_hello(Random& random, const std::string& name) {
  return hello_of(random, name).SerializeAsString();
}

std::string copy_hello(Random& random, const std::string& name) {
  control::Hello hello = hello_of(random, name);
  hello.set_memory_server(true);
  return hello.SerializeAsString();
}

VacantHost::VacantHost(std::uint32_t server_count, PlaceKeeper& keeper, Arrival* arrival, CopyOrders& orders,
                       std::function<void()> shut_down)
    : server_count_(server_count),
      keeper_(keeper),
      arrival_(arrival),
      orders_(orders),
      shut_down_(std::move(shut_down)) {}

Status VacantHost::no_region() const {
  const PlaceRecord& record = keeper_.record();
  const std::string name = "memory server " + std::to_string(record.server_id);
  const std::string& address = record.configuration.place(record.server_id).address;
  const bool elsewhere = record.state == PlaceState::departed || record.state == PlaceState::follows ||
                         record.state == PlaceState::joins;
  if (elsewhere && !address.empty()) {
    return Status(ErrorCode::cannot_connect_now, "the region of " + name + " is at " + address + " now");
  }
  return Status(ErrorCode::cannot_connect_now, "the region of " + name + " is not here yet");
}

Result<std::string> VacantHost::on_connect(fabric::PeerId /*peer*/, std::string_view bytes) {
  control::Hello hello;
  if (!hello.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return Status(ErrorCode::protocol_violation, "the greeting cannot be read");
  if (hello.protocol_version() != calls::kProtocolVersion) {
    return Status(ErrorCode::protocol_violation,
                  "protocol version " + std::to_string(hello.protocol_version()) + " of \"" + hello.name() +
                      "\" is not spoken here, only " + std::to_string(calls::kProtocolVersion),
                  "run versions of namdb with the same protocol version everywhere");
  }
  if (!hello.tool()) return no_region();
  control::Welcome welcome;
  welcome.set_protocol_version(calls::kProtocolVersion);
  welcome.set_server_id(keeper_.record().server_id);
  welcome.set_server_count(server_count_);
  return welcome.SerializeAsString();
}

reactor::Task<Status> VacantHost::on_call(fabric::PeerId /*peer*/, std::uint16_t method,
                                          std::string_view request, std::string& reply) {
  switch (method) {
    case calls::kPingMethod:
      co_return Status();
    case control::SHUTDOWN:
      shut_down_();
      co_return Status();
    case placement::kConfigurationMethod:
      co_return co_await configuration(request, &reply);
    case placement::kHandOverMethod:
      co_return hand_over(request, reply);
    case placement::kMoveMethod:
      co_return move(request, reply);
    case placement::kCopyMethod:
      co_return co_await copy(request);
    case placement::kLeaveMethod:
      co_return co_await leave(request);
    default:
      co_return no_region();
  }
}

reactor::Task<Status> VacantHost::configuration(std::string_view request, std::string* reply) {
  PlaceRecord record = keeper_.record();
  if (!request.empty()) {
    const auto told = Configuration::decode(request);
    if (!told) co_return malformed_call(placement::kConfigurationMethod);
    // While a region comes the record is that task's to write.
    const bool settled = record.state == PlaceState::departed || record.state == PlaceState::vacant;
    const bool busy = orders_.follower() != nullptr || (arrival_ != nullptr && arrival_->busy());
    if (record.configuration.learn(*told) && settled && !busy) {
      const Status status = co_await keeper_.store(record);
      if (!status.ok()) co_return status;
    }
  }
  *reply = record.configuration.encode();
  co_return Status();
}

Status VacantHost::hand_over(std::string_view bytes, std::string& reply) const {
  const auto request = placement::decode_hand_over(bytes);
  if (!request) return malformed_call(placement::kHandOverMethod);
  const PlaceRecord& record = keeper_.record();
  if (record.state != PlaceState::departed || record.claim != request->claim) {
    return Status(ErrorCode::object_not_in_prerequisite_state,
                  "the region is not given up by this claim: " + no_region().message());
  }
  reply = record.configuration.encode();
  return Status();
}

Status VacantHost::move(std::string_view bytes, std::string& reply) {
  const auto request = placement::decode_move(bytes);
  if (!request) return malformed_call(placement::kMoveMethod);
  placement::MoveReply answer;
  if (const Follower* const follower = orders_.follower(); follower != nullptr) {
    if (!request->from.empty()) {
      return Status(ErrorCode::object_not_in_prerequisite_state,
                    "the configuration store decides where regions are",
                    "this host has a copy; drain the one that has the region");
    }
    answer = follower->progress();
  } else if (arrival_ == nullptr) {
    if (!request->from.empty()) {
      return Status(ErrorCode::object_not_in_prerequisite_state,
                    "this host had a region once: " + no_region().message(),
                    "start a memory server with a new data folder, and --join");
    }
    answer.state = keeper_.record().state == PlaceState::departed ? placement::MoveState::departed
                                                                  : placement::MoveState::waits;
    answer.server_id = keeper_.record().server_id;
  } else {
    if (!request->from.empty()) {
      if (Status status = arrival_->order(*request); !status.ok()) return status;
    }
    answer = arrival_->progress();
  }
  reply = encode(answer);
  return Status();
}

reactor::Task<Status> VacantHost::copy(std::string_view bytes) {
  const auto request = placement::decode_copy(bytes);
  if (!request) co_return malformed_call(placement::kCopyMethod);
  co_return co_await orders_.copy(*request);
}

reactor::Task<Status> VacantHost::leave(std::string_view bytes) {
  const auto request = placement::decode_leave(bytes);
  if (!request) co_return malformed_call(placement::kLeaveMethod);
  co_return co_await orders_.leave(*request);
}

}  // namespace namdb::memory
