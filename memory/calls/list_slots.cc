// LIST_SLOTS: the states of execution slots (memory/coordinator/slots.h).
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

}  // namespace namdb::memory::handlers
