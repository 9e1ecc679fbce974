// A question to a host of which nothing is known but its address (search.h asks several).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/fabric/fabric.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"

namespace namdb::placement {

// An answer that takes longer is not awaited.
inline constexpr std::uint64_t kAnswer_ns = 2 * kSecond_ns;

// The bytes of a hello (proto/control.proto) of a peer that is not a worker.
using MakeHello = std::function<std::string()>;

// Makes the call. Its error; connection_failure where the answer takes longer than `patience_ns`, and the
// channel is given up then. All outlive the task.
reactor::Task<Status> call_in_time(reactor::Executor* executor, fabric::Channel* channel, fabric::Call* call,
                                   std::uint64_t patience_ns = kAnswer_ns);

// Connects, makes one call, and disconnects. Errors: those of connect() and of the call; connection_failure
// where the answer takes longer than `patience_ns`.
reactor::Task<Result<std::string>> call_once(reactor::Executor* executor, fabric::ClientFabric* fabric,
                                             std::string address, std::string hello, std::uint16_t method,
                                             std::string request, std::uint64_t patience_ns = kAnswer_ns);

}  // namespace namdb::placement
