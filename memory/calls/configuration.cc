// CONFIGURATION (common/placement/move_calls.h): where regions are, as the caller and this server know it.
#include "common/placement/configuration.h"
#include "common/placement/move_calls.h"
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

Status configuration(const Call& call) {
  Links& links = call.caller.server.links;
  if (!call.request.empty()) {
    const auto known = placement::Configuration::decode(call.request);
    if (!known) return malformed(call.method);
    links.learn_places(*known);
  }
  call.reply = links.configuration().encode();
  return Status();
}

}  // namespace namdb::memory::handlers
