// BATCH_CALL (common/calls/batch_calls.h): does the operations of a two-sided stage, in order, through
// the loopback channel: in the atomicity domain of compute servers' one-sided operations. Error
// protocol_violation, and nothing was done; connection_failure when the loopback channel has failed.
#include <cstring>

#include "common/calls/batch_calls.h"
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

using calls::BatchOperation;

reactor::Task<Status> batch_call(Call call) {
  ServerState& server = call.caller.server;
  const Region& region = *server.region;
  fabric::Channel& loopback = server.server_fabric->loopback();
  const auto operations =
      calls::decode_batch(call.request, {region.bytes(), region.limit_bytes()}, fabric::kMaxCall_bytes);
  if (!operations) co_return Status(ErrorCode::protocol_violation, "a batch that cannot be read");
  std::size_t local_bytes = 0;
  for (const BatchOperation& operation : *operations) local_bytes += operation.length_bytes;
  const fabric::LocalBuffer local(loopback.pool(), local_bytes);
  fabric::Batch batch;
  std::byte* place = local.data();
  for (const BatchOperation& operation : *operations) {
    switch (operation.kind) {
      case BatchOperation::Kind::read:
        batch.read(operation.offset, place, operation.length_bytes);
        break;
      case BatchOperation::Kind::write:
        std::memcpy(place, operation.bytes.data(), operation.length_bytes);
        batch.write(operation.offset, place, operation.length_bytes);
        break;
      case BatchOperation::Kind::compare_and_swap:
        if (operation.offset < region.bytes()) {
          batch.compare_and_swap(operation.offset, operation.expected, operation.desired, place);
        } else {
          batch.read(operation.offset, place, operation.length_bytes);  // not there yet: it finds zero
        }
        break;
    }
    place += operation.length_bytes;
  }
  loopback.post(batch);
  const Status& status = co_await batch.done();
  server.journals.stage_ended();
  if (!status.ok()) co_return status;
  place = local.data();
  for (const BatchOperation& operation : *operations) {
    call.reply.append(reinterpret_cast<const char*>(place), operation.reply_bytes());
    place += operation.length_bytes;
  }
  co_return Status();
}

}  // namespace namdb::memory::handlers
