#include "compute/txn/hint_queue.h"

#include "common/layout/hot_calls.h"

namespace namdb::txn {
namespace {

void append_word(std::string& bytes, std::uint64_t word) {
  bytes.append(reinterpret_cast<const char*>(&word), sizeof word);
}

}  // namespace

void HintQueue::ring_fills(std::uint32_t table, layout::GlobalAddress record) {
  add(layout::kMoveVersionsMethod, table, record);
}

void HintQueue::deleted(std::uint32_t table, layout::GlobalAddress record) {
  add(layout::kNoteDeletesMethod, table, record);
}

void HintQueue::add(std::uint16_t method, std::uint32_t table, layout::GlobalAddress record) {
  if (gate_.closing()) return;
  Queue& queue = queues_[{method, record.server()}];
  queue.offsets[table].insert(record.offset());
  if (queue.sending) return;
  queue.sending = true;
  cluster_.executor().spawn(gate_, send(method, record.server()));
}

reactor::Task<void> HintQueue::send(std::uint16_t method, layout::ServerId server) {
  while (true) {
    Queue& queue = queues_[{method, server}];
    if (queue.offsets.empty() || cluster_.failed()) {
      queue.offsets.clear();
      queue.sending = false;
      co_return;
    }
    auto table = queue.offsets.begin();
    std::string request;
    append_word(request, table->first);
    std::set<std::uint64_t>& offsets = table->second;
    for (std::uint32_t i = 0; i < layout::kMaxMoveVersions && !offsets.empty(); ++i) {
      append_word(request, *offsets.begin());
      offsets.erase(offsets.begin());
    }
    if (offsets.empty()) queue.offsets.erase(table);
    // An error means that the table or the server is gone: nothing to do about a hint.
    const auto reply = co_await cluster_.call_bytes(server, method, std::move(request));
    (void)reply;
  }
}

reactor::Task<Status> HintQueue::move_now(std::uint32_t table, layout::GlobalAddress record,
                                          fabric::OperationCounters& counters) {
  std::string request;
  append_word(request, table);
  append_word(request, record.offset());
  const auto reply = co_await cluster_.call_bytes(record.server(), layout::kMoveVersionsMethod,
                                                  std::move(request), &counters);
  co_return reply.status();
}

reactor::Task<void> HintQueue::close() {
  co_await gate_.close();
}

}  // namespace namdb::txn
