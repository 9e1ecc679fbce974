#include "compute/recovery/slot_states.h"

namespace namdb::txn {

reactor::Task<Result<bool>> ask_closed(Cluster& cluster, std::uint32_t slot) {
  control::ListSlotsRequest request;
  request.add_slots(slot);
  control::ListSlotsReply reply;
  const Status status = co_await cluster.call(0, control::LIST_SLOTS, request, &reply);
  if (!status.ok()) co_return status;
  if (reply.slots_size() != 1) co_return Status(ErrorCode::protocol_violation, "a list of other slots");
  co_return is_closed(reply.slots(0).state());
}

}  // namespace namdb::txn
