// COMMIT_OUTCOME: a commit's owner asks for its outcome (memory/coordinator/outcomes.h).
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {
namespace {

// Whether the slot was leased in this database: by this server, or before it restarted with its data.
bool same_database(const ServerState& server, const control::CommitOutcomeRequest& request) {
  if (request.epoch() == server.region->map().epoch) return true;
  return server.control->database_id() != 0 && request.database_id() == server.control->database_id();
}

control::Outcome message_of(CommitOutcome outcome) {
  switch (outcome) {
    case CommitOutcome::committed:
      return control::OUTCOME_COMMITTED;
    case CommitOutcome::undone:
      return control::OUTCOME_UNDONE;
    case CommitOutcome::unknown:
      break;
  }
  return control::OUTCOME_UNKNOWN;
}

}  // namespace

Status commit_outcome(Caller caller, const control::CommitOutcomeRequest& request,
                      control::CommitOutcomeReply& reply) {
  const ServerState& server = caller.server;
  if (!same_database(server, request)) return Status();
  // An outcome that copies in sync do not know yet may be lost with this host.
  if (server.has_store && (server.copies_service == nullptr || !server.copies_service->holds_lease())) {
    reply.set_outcome(control::OUTCOME_UNDECIDED);
    return Status();
  }
  const Slot* const slot = server.slots->find(request.slot());
  if (slot != nullptr && slot->state != SlotState::closed) {
    reply.set_outcome(control::OUTCOME_UNDECIDED);
    return Status();
  }
  const layout::Stamp commit{request.slot(), request.counter()};
  const bool cut_off = server.slots->cut_off(request.slot());
  reply.set_outcome(message_of(server.outcomes.of(commit, cut_off, server.executor.now_ns())));
  return Status();
}

}  // namespace namdb::memory::handlers
