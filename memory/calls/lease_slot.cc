// LEASE_SLOT and CLOSE_SLOT: execution slots of the callers (memory/coordinator/slots.h).
#include <algorithm>

#include "memory/calls/methods.h"
#include "memory/calls/waiting.h"

namespace namdb::memory::handlers {
namespace {

// Bytes of a journal that are cleared between two yields.
constexpr std::uint64_t kZeroStep_bytes = 256U << 10;
// Journals of slots that wait for their repair may take this part of the region's limit, one in so many; a
// lease beyond that waits for the repair, for so long.
constexpr std::uint64_t kDeadJournalsPart = 8;
constexpr std::uint64_t kRepairPatience_ns = 5 * kSecond_ns;

// Memory for a journal, not zeroed when `dirty`. Waits, bounded, for the repair of slots whose journals take
// too much or the last of the region.
reactor::Task<Result<Block>> take_journal(Caller caller) {
  ServerState& server = caller.server;
  const std::uint64_t deadline_ns = server.executor.now_ns() + kRepairPatience_ns;
  while (true) {
    const bool too_many =
        server.slots->dead_journal_bytes() > server.region->limit_bytes() / kDeadJournalsPart;
    if (!too_many) {
      auto journal = server.slots->allocate_journal();
      if (journal.ok() || server.slots->dead_count() == 0) co_return journal;
    }
    const std::uint64_t now_ns = server.executor.now_ns();
    if (caller_is_gone(caller) || now_ns >= deadline_ns) {
      co_return Result<Block>(Status(
          ErrorCode::out_of_memory, "the journals of compute servers that died take too much of the region",
          "they are free again when a compute server has repaired what those left"));
    }
    co_await server.closed.wait_until(std::min(deadline_ns, now_ns + kCallerCheck_ns));
  }
}

}  // namespace

reactor::Task<Status> lease_slot(Caller caller, const control::LeaseSlotRequest& /*request*/,
                                 control::LeaseSlotReply& reply) {
  ServerState& server = caller.server;
  if (caller.peer().tool) {
    co_return Status(ErrorCode::insufficient_privilege, "tools run no transactions");
  }
  const auto journal = co_await take_journal(caller);
  if (!journal.ok()) co_return journal.status();
  const Block block = *journal;
  if (block.dirty) {
    for (std::uint64_t done = 0; done < block.bytes; done += kZeroStep_bytes) {
      server.region->zero(block.offset + done, std::min(kZeroStep_bytes, block.bytes - done));
      co_await server.executor.yield();
    }
  }
  if (Status reserved = co_await server.control->reserve_slot(); !reserved.ok()) {
    server.slots->give_back_journal(block);
    co_return reserved;
  }
  const Peer* peer = server.peers.find(caller.id);
  if (peer == nullptr) {  // gone meanwhile
    server.slots->give_back_journal(block);
    co_return Status(ErrorCode::fenced, "this channel is not connected");
  }
  const auto leased = server.slots->lease(caller.id, peer->compute_id, peer->name, block);
  if (!leased.ok()) {
    server.slots->give_back_journal(block);
    co_return leased.status();
  }
  const Slot& slot = **leased;
  reply.set_slot(slot.id);
  reply.set_vector_position(slot.position);
  reply.set_first_counter(server.options.first_counter);
  reply.set_journal_server(0);
  reply.set_journal_offset(slot.journal_offset);
  reply.set_journal_bytes(slot.journal_bytes);
  reply.set_vector_length(server.slots->positions_in_use());
  reply.set_max_journal_room_bytes(server.options.max_journal_room_bytes);
  co_return Status();
}

reactor::Task<Status> close_slot(Caller caller, const control::CloseSlotRequest& request,
                                 control::CloseSlotReply& /*reply*/) {
  ServerState& server = caller.server;
  Status status =
      server.slots->close(caller.id, request.slot(), request.final_counter(), server.executor.now_ns());
  server.closed.notify_all();
  server.collector.wake();
  if (!status.ok()) co_return status;
  co_return co_await server.control->log_closed(request.slot(), request.final_counter());
}

}  // namespace namdb::memory::handlers
