// MOVE_VERSIONS (common/calls/hot_calls.h): answered when the version mover was at every record. In a full
// region it waits for old versions to be freed.
#include <algorithm>

#include "memory/calls/methods.h"
#include "memory/calls/waiting.h"

namespace namdb::memory::handlers {
namespace {

// A call that finds no room for a version waits for others to be freed, for so many of the collector's
// intervals. Not for longer, since the snapshot of its own caller may be what keeps them.
constexpr std::uint64_t kVersionIntervals = 2;
// A version that has aged for so long is kept by another snapshot than the caller's.
constexpr std::uint64_t kKept_ns = 2 * kSecond_ns;

// True when old versions were freed. Waits until the deadline while some are about to be.
reactor::Task<bool> more_room_for_versions(Caller caller, std::uint64_t deadline_ns) {
  ServerState& server = caller.server;
  const std::uint64_t before = server.old_versions.collected();
  const Collector::Haste haste(server.collector);
  while (server.old_versions.collected() == before) {
    const std::uint64_t now_ns = server.executor.now_ns();
    if (caller_is_gone(caller) || server.old_versions.empty() || now_ns >= deadline_ns) co_return false;
    co_await server.collector.wait_for_return(std::min(deadline_ns, now_ns + kCallerCheck_ns));
  }
  co_return !caller_is_gone(caller);
}

}  // namespace

reactor::Task<Status> move_versions(Call call) {
  ServerState& server = call.caller.server;
  auto list = RecordList::parse(call.request);
  if (!list.ok()) co_return list.status();
  const std::uint64_t deadline_ns =
      server.executor.now_ns() + std::min(kVersionIntervals * server.options.collect_interval_ns, kKept_ns);
  while (true) {
    Status status = co_await server.mover.move(list->table, list->offsets);
    server.collector.wake();
    if (status.ok() || status.code() != ErrorCode::out_of_memory) co_return status;
    const bool worth_a_try = co_await more_room_for_versions(call.caller, deadline_ns);
    if (worth_a_try) continue;
    // A transaction that begins anew sees newer versions only: the older ones are freed then.
    const std::uint64_t now_ns = server.executor.now_ns();
    const OldVersions& versions = server.old_versions;
    if (versions.empty() || now_ns - versions.aging_since_ns(now_ns) > kKept_ns) co_return status;
    co_return Status(ErrorCode::ring_full, "the region is full of old versions that are about to be freed");
  }
}

}  // namespace namdb::memory::handlers
