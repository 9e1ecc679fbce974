// Byte streams over TCP and unix sockets. The contract is stream.h's; everything belongs to the reactor's
// thread, and the reactor outlives it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/base/error.h"
#include "common/reactor/stream.h"

namespace namdb::reactor {

class Reactor;

// For each of an address's addresses, since a host that is off does not answer at all.
inline constexpr std::uint64_t kConnectTimeout_ns = 10'000'000'000;

// Connects to the first of the address's addresses that answers. Errors: configuration for a malformed
// address, connection_failure.
Task<Result<int>> connect_descriptor(Reactor& reactor, std::string address,
                                     std::uint64_t timeout_ns = kConnectTimeout_ns);
// A stream on a connected socket, which it owns from now on.
std::unique_ptr<ByteStream> make_socket_stream(Reactor& reactor, int descriptor);

}  // namespace namdb::reactor
