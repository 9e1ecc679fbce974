// A stream to an address, for tests that are a server's client.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "common/reactor/socket_stream.h"

namespace namdb::reactor::testing {

// The reactor outlives it. Errors as of connect_descriptor().
inline Task<Result<std::unique_ptr<ByteStream>>> connect_stream(Reactor& reactor, std::string address) {
  Result<int> descriptor = co_await connect_descriptor(reactor, std::move(address));
  if (!descriptor.ok()) co_return descriptor.status();
  co_return make_socket_stream(reactor, *descriptor);
}

}  // namespace namdb::reactor::testing
