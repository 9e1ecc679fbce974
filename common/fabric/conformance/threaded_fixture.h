// Real transports, for the suite: the server and each client have a reactor with a thread of their own, in
// one process.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/fabric/conformance/fixture.h"
#include "common/fabric/registry.h"
#include "common/reactor/reactor.h"

namespace namdb::fabric::conformance {

struct ThreadedTransport {
  // The transport's ends live on the reactor.
  std::function<Transport(reactor::Reactor& reactor)> transport;
  // An address to listen at, and one without a listener; both in a new directory that only this test uses.
  std::function<std::string(const std::string& directory)> listen_address;
  std::function<std::string(const std::string& directory)> nowhere;
  // Where it listens then, if that is not what was asked for.
  std::function<std::string(const ServerFabric& server)> address;
  // Of the server's and every client's reactor.
  reactor::ReactorOptions reactor_options = {};
  std::size_t capacity_bytes = Fixture::kCapacity_bytes;
};

std::unique_ptr<Fixture> make_threaded_fixture(const ThreadedTransport& transport, Service& service,
                                               int clients);

}  // namespace namdb::fabric::conformance
