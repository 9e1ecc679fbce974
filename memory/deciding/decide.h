// The duties of a host for the decider (common/calls/decider_calls.h). The handlers of the decider's calls
// use them, and so does a decider on the same server. ClusterHosts is all hosts of the cluster, as the
// decider of server 0 reaches them.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/error.h"
#include "common/calls/decider_calls.h"
#include "common/fabric/fabric.h"
#include "common/reactor/task.h"
#include "memory/coordinator/decider.h"
#include "memory/state/server_state.h"

namespace namdb::memory {

// Ok once no operation and no call of that compute server can reach this server any more, for ever. Error
// admin_shutdown. `server` outlives the task.
reactor::Task<Status> fence_here(ServerState* server, std::string compute_id);

// Errors of all of these: protocol_violation while the slot's owner is connected here; those of the log;
// corrupt_data if the journal lacks an entry that the call names. `server` outlives the tasks.
reactor::Task<Result<calls::LookReply>> look_here(ServerState* server, std::uint32_t slot);
reactor::Task<Status> make_void_here(ServerState* server, calls::VoidRequest request);
reactor::Task<Status> record_here(ServerState* server, calls::VerdictRequest request);

// Another memory server answered a call with that.
Status unreadable_reply(layout::ServerId server);

// This server by direct calls, the others by its links.
class ClusterHosts final : public DeciderHosts {
 public:
  explicit ClusterHosts(ServerState& server) : server_(server) {}

  reactor::Task<Status> fence(layout::ServerId server, std::string compute_id) override;
  reactor::Task<Result<calls::LookReply>> look(layout::ServerId host, calls::LookRequest request) override;
  reactor::Task<Status> make_void(layout::ServerId host, calls::VoidRequest request) override;
  reactor::Task<Status> record(layout::ServerId host, calls::VerdictRequest request) override;

  // Makes the slot's word on another server, at that position of the timestamp vector, show at least
  // `counter`. Returns the counter that it shows then. The slot's owner is fenced.
  reactor::Task<Result<std::uint32_t>> place(std::uint32_t slot, std::uint64_t position,
                                             std::uint32_t counter);

 private:
  bool here(layout::ServerId server) const { return server == server_.options.server_id; }
  reactor::Task<Status> call(layout::ServerId server, std::uint16_t method, std::string request);

  ServerState& server_;
};

}  // namespace namdb::memory
