// A mutant of what workers tell memory servers.
#pragma once

#include <map>
#include <string>

#include "common/calls/hot_calls.h"
#include "proto/control.pb.h"
#include "tools/namsim/mutants/mutant.h"

namespace namdb::sim {

// Alters HEARTBEATs on their way to a memory server.
class HeartbeatMutant : public Mutant {
 public:
  reactor::Task<Status> on_call(fabric::Service* inner, std::size_t server, fabric::PeerId peer,
                                std::uint16_t method, std::string_view request, std::string* reply) override {
    control::HeartbeatRequest heartbeat;
    if (method != control::HEARTBEAT ||
        !heartbeat.ParseFromArray(request.data(), static_cast<int>(request.size()))) {
      co_return co_await inner->on_call(peer, method, request, *reply);
    }
    const std::string records = hint(server);
    if (!records.empty()) {
      std::string nothing;
      static_cast<void>(co_await inner->on_call(peer, calls::kMoveVersionsMethod, records, nothing));
    }
    alter(heartbeat, known_[server]);
    const std::string altered = heartbeat.SerializeAsString();
    Status status = co_await inner->on_call(peer, method, altered, *reply);
    control::HeartbeatReply answer;
    if (status.ok() && answer.ParseFromString(*reply)) known_[server] = answer;
    co_return status;
  }

 protected:
  // `known`: the server's last answer, to any compute server.
  virtual void alter(control::HeartbeatRequest& heartbeat, const control::HeartbeatReply& known) = 0;
  // Comes before each heartbeat.
  virtual std::string hint(std::size_t server) {
    static_cast<void>(server);
    return {};
  }

 private:
  std::map<std::size_t, control::HeartbeatReply> known_;
};

}  // namespace namdb::sim
