// LIST_SLOTS, CLAIM_REPAIR, FINISH_REPAIR: slots of dead compute servers and their repair by live ones
// (memory/coordinator/slots.h).
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {
namespace {

control::Slot describe(const Slot& slot) {
  control::Slot message;
  message.set_slot(slot.id);
  switch (slot.state) {
    case SlotState::leased:
      message.set_state(control::SLOT_LEASED);
      break;
    case SlotState::dead:
      message.set_state(control::SLOT_DEAD);
      break;
    case SlotState::repairing:
      message.set_state(control::SLOT_REPAIRING);
      break;
    case SlotState::closed:
      message.set_state(control::SLOT_CLOSED);
      break;
  }
  message.set_compute_id(slot.compute_id);
  message.set_vector_position(slot.position);
  message.set_final_counter(slot.final_counter);
  return message;
}

}  // namespace

Status list_slots(Caller caller, const control::ListSlotsRequest& request, control::ListSlotsReply& reply) {
  const Slots& slots = *caller.server.slots;
  reply.set_next_slot(slots.next_slot());
  if (request.slots_size() == 0) {
    for (const auto& [id, slot] : slots.active()) *reply.add_slots() = describe(slot);
    return Status();
  }
  if (static_cast<std::uint64_t>(request.slots_size()) > caller.server.options.vector_capacity) {
    return Status(ErrorCode::limit_exceeded, "a list of too many slots");
  }
  for (const std::uint32_t id : request.slots()) {
    control::Slot& added = *reply.add_slots();
    if (const Slot* slot = slots.find(id)) {
      added = describe(*slot);
      continue;
    }
    added.set_slot(id);
    if (const auto final_counter = slots.retired(id)) {
      added.set_state(control::SLOT_RETIRED);
      added.set_final_counter(*final_counter);
    }
  }
  return Status();
}

Status claim_repair(Caller caller, const control::ClaimRepairRequest& request,
                    control::ClaimRepairReply& reply) {
  const Peer& claimant = caller.peer();
  if (claimant.tool) return Status(ErrorCode::insufficient_privilege, "tools repair nothing");
  Slots& slots = *caller.server.slots;
  const auto claim = slots.claim(caller.id, claimant.compute_id, request.slot());
  if (!claim.ok()) return claim.status();
  const Slot& slot = *slots.find(request.slot());
  reply.set_granted(claim->granted);
  if (claim->granted) reply.set_repair_epoch(slot.repair_epoch);
  *reply.mutable_slot() = describe(slot);
  for (const std::string& former : claim->former_repairers) reply.add_former_repairers(former);
  return Status();
}

reactor::Task<Status> finish_repair(Caller caller, const control::FinishRepairRequest& request,
                                    control::FinishRepairReply& /*reply*/) {
  ServerState& server = caller.server;
  Status status = server.slots->finish(caller.id, request.slot(), request.repair_epoch(),
                                       request.final_counter(), server.executor.now_ns());
  server.closed.notify_all();
  server.collector.wake();
  if (!status.ok()) co_return status;
  co_return co_await server.control->log_closed(request.slot(), request.final_counter());
}

}  // namespace namdb::memory::handlers
