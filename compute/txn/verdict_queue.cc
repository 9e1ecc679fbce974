#include "compute/txn/verdict_queue.h"

#include <algorithm>
#include <utility>

namespace namdb::txn {
namespace {

constexpr std::uint64_t kLinger_ns = 2 * kMillisecond_ns;
constexpr std::size_t kEnough_bytes = 32U << 10;
// More than this is dropped: the memory server is not to be reached, or far behind. One commit may well have
// the verdicts on a million entries, and each that is lost costs a look at its record.
constexpr std::size_t kMost_bytes = 128U << 20;
// Between the calls of a commit with very many verdicts the memory server has so many times the time of a
// call for others, up to a bound. A verdict may take long (memory/index/doubts.h), a statement should not.
constexpr std::uint64_t kPauses = 3;
constexpr std::uint64_t kMostPause_ns = 4 * kMillisecond_ns;
// Calls to a memory server once this is closing: the connection's end does not wait for more.
constexpr std::size_t kLastCalls = 4;

}  // namespace

void VerdictQueue::add(layout::ServerId server, const calls::IndexVerdict& verdict) {
  if (gate_.closing()) return;
  Queue& queue = queues_.try_emplace(server, cluster_.executor()).first->second;
  if (queue.bytes > kMost_bytes) return;
  if (queue.parts.empty() || queue.parts.back().size() >= kEnough_bytes) queue.parts.emplace_back();
  std::string& part = queue.parts.back();
  const std::size_t before = part.size();
  append(part, verdict);
  queue.bytes += part.size() - before;
  if (!queue.sending) {
    queue.sending = true;
    cluster_.executor().spawn(gate_, send(server, &queue));
  } else if (part.size() >= kEnough_bytes) {
    queue.wake.notify_all();
  }
}

reactor::Task<void> VerdictQueue::send(layout::ServerId server, Queue* queue) {
  std::size_t last_calls = 0;
  while (queue->bytes != 0 && !cluster_.lacks(server)) {
    const std::uint64_t deadline_ns = cluster_.executor().now_ns() + kLinger_ns;
    bool more = true;
    while (more && queue->bytes < kEnough_bytes && !gate_.closing()) {
      more = co_await queue->wake.wait_until(deadline_ns);
    }
    if (cluster_.lacks(server)) break;
    if (gate_.closing() && last_calls++ == kLastCalls) break;
    // An error means that the server is gone: nothing to do about a verdict.
    std::string items = std::move(queue->parts.front());
    queue->parts.pop_front();
    queue->bytes -= items.size();
    const std::uint64_t began_ns = cluster_.executor().now_ns();
    const auto reply = co_await cluster_.call_bytes(server, calls::kIndexSettleMethod, std::move(items));
    (void)reply;
    if (queue->bytes < kEnough_bytes || gate_.closing()) continue;
    const std::uint64_t call_ns = cluster_.executor().now_ns() - began_ns;
    const std::uint64_t pause_ns = std::min(kPauses * call_ns, kMostPause_ns);
    co_await cluster_.executor().sleep_for(pause_ns);
  }
  queue->parts.clear();
  queue->bytes = 0;
  queue->sending = false;
}

reactor::Task<void> VerdictQueue::close() {
  auto closed = gate_.close();
  for (auto& [server, queue] : queues_) queue.wake.notify_all();
  co_await closed;
}

}  // namespace namdb::txn
