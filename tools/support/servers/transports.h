// The transports that tools know by name. Only composition roots name concrete ones, and this is one.
#pragma once

#include <string_view>

#include "common/fabric/registry.h"
#include "common/fabric/tcp/client.h"
#include "common/fabric/verbs/options.h"
#include "common/reactor/reactor.h"
#include "compute/txn/snapshot.h"

namespace namdb::support {

// Their clients and servers live on the reactor.
fabric::TransportRegistry transports(reactor::Reactor& reactor, const fabric::tcp::TcpOptions& tcp = {},
                                     const fabric::verbs::VerbsOptions& verbs = {});

// Over verbs a fence is a round trip.
inline txn::SnapshotSource::Mode snapshot_mode(std::string_view transport) {
  return transport == "verbs" ? txn::SnapshotSource::Mode::call : txn::SnapshotSource::Mode::together;
}

}  // namespace namdb::support
