#include "compute/txn/hint_queue.h"

#include "common/calls/hot_calls.h"

namespace namdb::txn {
namespace {

// How long a hint waits for others.
constexpr std::uint64_t kHintLinger_ns = 2 * kMillisecond_ns;

void append_word(std::string& bytes, std::uint64_t word) {
  bytes.append(reinterpret_cast<const char*>(&word), sizeof word);
}

}  // namespace

void HintQueue::ring_fills(std::uint32_t table, layout::GlobalAddress record, bool urgent) {
  add(calls::kMoveVersionsMethod, table, record, urgent);
}

void HintQueue::deleted(std::uint32_t table, layout::GlobalAddress record) {
  add(calls::kNoteDeletesMethod, table, record, false);
}

void HintQueue::add(std::uint16_t method, std::uint32_t table, layout::GlobalAddress record, bool urgent) {
  if (gate_.closing()) return;
  Queue& queue = queues_.try_emplace({method, record.server()}, cluster_.executor()).first->second;
  if (queue.offsets[table].insert(record.offset()).second) ++queue.count;
  queue.urgent = queue.urgent || urgent;
  if (!queue.sending) {
    queue.sending = true;
    cluster_.executor().spawn(gate_, send(method, record.server(), &queue));
  } else if (queue.due()) {
    queue.wake.notify_all();
  }
}

reactor::Task<void> HintQueue::send(std::uint16_t method, layout::ServerId server, Queue* queue) {
  while (queue->count != 0 && !cluster_.lacks(server)) {
    const std::uint64_t deadline_ns = cluster_.executor().now_ns() + kHintLinger_ns;
    bool more = true;
    while (more && !queue->due() && !gate_.closing()) more = co_await queue->wake.wait_until(deadline_ns);
    if (cluster_.lacks(server)) break;
    queue->urgent = false;
    auto table = queue->offsets.begin();
    std::string request;
    append_word(request, table->first);
    std::set<std::uint64_t>& offsets = table->second;
    for (std::uint32_t i = 0; i < calls::kMaxMoveVersions && !offsets.empty(); ++i) {
      append_word(request, *offsets.begin());
      offsets.erase(offsets.begin());
      --queue->count;
    }
    if (offsets.empty()) queue->offsets.erase(table);
    // An error means that the table or the server is gone: nothing to do about a hint.
    const auto reply = co_await cluster_.call_bytes(server, method, std::move(request));
    (void)reply;
  }
  queue->offsets.clear();
  queue->count = 0;
  queue->sending = false;
}

reactor::Task<Status> HintQueue::move_now(std::uint32_t table, layout::GlobalAddress record,
                                          fabric::OperationCounters& counters) {
  std::string request;
  append_word(request, table);
  append_word(request, record.offset());
  const auto reply = co_await cluster_.call_bytes(record.server(), calls::kMoveVersionsMethod,
                                                  std::move(request), &counters);
  co_return reply.status();
}

reactor::Task<void> HintQueue::close() {
  auto closed = gate_.close();
  for (auto& [key, queue] : queues_) queue.wake.notify_all();
  co_await closed;
}

}  // namespace namdb::txn
