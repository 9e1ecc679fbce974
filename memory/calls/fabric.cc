// FABRIC: the transport of this server, for tools (common/fabric/facts.h).
#include <string>

#include "common/fabric/facts.h"
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

Status fabric(Caller caller, const control::FabricRequest& /*request*/, control::FabricReply& reply) {
  const ServerState& server = caller.server;
  reply.set_server_id(server.options.server_id);
  if (server.server_fabric == nullptr) return Status();  // before MemoryServer::start()
  reply.set_fabric(std::string(server.server_fabric->name()));
  fabric::Facts facts;
  server.server_fabric->describe(facts);
  for (const fabric::Fact& fact : facts.all()) {
    control::FabricFact& added = *reply.add_facts();
    added.set_name(fact.name);
    added.set_text(fact.text);
    added.set_amount(fact.amount);
  }
  return Status();
}

}  // namespace namdb::memory::handlers
