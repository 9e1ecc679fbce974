#include "compute/index/verdict_queue.h"

#include <utility>

namespace namdb::txn {
namespace {

constexpr std::uint64_t kLinger_ns = 2 * kMillisecond_ns;
constexpr std::size_t kEnough_bytes = 32U << 10;
// More than this is dropped: the memory server is not to be reached, or far behind.
constexpr std::size_t kMost_bytes = fabric::kMaxCall_bytes / 2;

}  // namespace

void VerdictQueue::add(layout::ServerId server, const calls::IndexVerdict& verdict) {
  if (gate_.closing()) return;
  Queue& queue = queues_.try_emplace(server, cluster_.executor()).first->second;
  if (queue.items.size() > kMost_bytes) return;
  append(queue.items, verdict);
  if (!queue.sending) {
    queue.sending = true;
    cluster_.executor().spawn(gate_, send(server, &queue));
  } else if (queue.items.size() >= kEnough_bytes) {
    queue.wake.notify_all();
  }
}

reactor::Task<void> VerdictQueue::send(layout::ServerId server, Queue* queue) {
  while (!queue->items.empty() && !cluster_.lacks(server)) {
    const std::uint64_t deadline_ns = cluster_.executor().now_ns() + kLinger_ns;
    bool more = true;
    while (more && queue->items.size() < kEnough_bytes && !gate_.closing()) {
      more = co_await queue->wake.wait_until(deadline_ns);
    }
    if (cluster_.lacks(server)) break;
    // An error means that the server is gone: nothing to do about a verdict.
    std::string items;
    std::swap(items, queue->items);
    const auto reply = co_await cluster_.call_bytes(server, calls::kIndexSettleMethod, std::move(items));
    (void)reply;
  }
  queue->items.clear();
  queue->sending = false;
}

reactor::Task<void> VerdictQueue::close() {
  auto closed = gate_.close();
  for (auto& [server, queue] : queues_) queue.wake.notify_all();
  co_await closed;
}

}  // namespace namdb::txn
