// Looking for regions that are not where they were: asks hosts for their configurations.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/fabric/fabric.h"
#include "common/placement/configuration.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"

namespace namdb::placement {

// An answer that takes longer is not awaited.
inline constexpr std::uint64_t kAnswer_ns = 2 * kSecond_ns;

// The bytes of a hello (proto/control.proto) of a peer that is no worker.
using MakeHello = std::function<std::string()>;

// Connects, makes one call, and disconnects. Errors: those of connect() and of the call; connection_failure
// where the answer takes longer than `patience_ns`.
reactor::Task<Result<std::string>> call_once(reactor::Executor* executor, fabric::ClientFabric* fabric,
                                             std::string address, std::string hello, std::uint16_t method,
                                             std::string request, std::uint64_t patience_ns = kAnswer_ns);

// Asks the hosts at these addresses one after the other, until `known` has learned of a place. False: none
// of those that answered knew more. The objects behind pointers outlive the task.
reactor::Task<bool> ask(reactor::Executor* executor, fabric::ClientFabric* fabric, MakeHello make_hello,
                        std::vector<std::string> addresses, Configuration* known);

}  // namespace namdb::placement
