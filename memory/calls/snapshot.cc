// SNAPSHOT (common/calls/hot_calls.h): a copy of the timestamp vector, by double collection: two collections
// in a row that are equal.
#include <cstddef>
#include <vector>

#include "common/layout/timestamp_vector.h"
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {
namespace {

void collect(const Region& region, std::vector<std::byte>& copy) {
  copy.resize(layout::vector_bytes(region.vector_length()));
  region.read(region.map().vector_offset, copy);
}

}  // namespace

reactor::Task<Status> snapshot(Call call) {
  ServerState& server = call.caller.server;
  if (!call.request.empty()) co_return malformed(call.method);
  std::vector<std::byte> first;
  std::vector<std::byte> second;
  for (std::uint32_t attempt = 0; attempt < server.options.snapshot_attempts; ++attempt) {
    collect(*server.region, first);
    collect(*server.region, second);
    if (first == second) {
      call.reply.assign(reinterpret_cast<const char*>(second.data()), second.size());
      co_return Status();
    }
    if (attempt % 16 == 15) co_await server.executor.yield();
  }
  co_return Status(ErrorCode::snapshot_unstable, "the timestamp vector changes too fast to be copied");
}

}  // namespace namdb::memory::handlers
