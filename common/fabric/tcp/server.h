// The server side of the tcp transport: executes its peers' requests on the region, in the order of arrival
// on each connection, with its own CPU. All that arrived from a peer in one turn is answered by one send.
// Needs a Reactor. The region's memory and the service belong to the caller and outlive it.
//
// A peer that sends what no peer may send (frames.h) is disconnected with a line in the log; it never gets
// beyond its own connection. A connection that has not proven the cluster key is short-lived, and one of few
// (unauthenticated_peers.h): members get in however many others connect.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "common/fabric/cpu_channel.h"
#include "common/fabric/fabric.h"
#include "common/fabric/refusal_log.h"
#include "common/fabric/registry.h"
#include "common/fabric/served_region.h"
#include "common/fabric/tcp/client.h"
#include "common/fabric/tcp/server_connection.h"
#include "common/fabric/unauthenticated_peers.h"
#include "common/reactor/executor.h"

namespace namdb::reactor {
class Reactor;
class SocketListener;
}  // namespace namdb::reactor

namespace namdb::fabric::tcp {

class Link;

class TcpServerFabric final : public ServerFabric, private ConnectionOwner {
 public:
  // `region` is 8-byte aligned, its lengths multiples of 8.
  TcpServerFabric(reactor::Reactor& reactor, const ServerRegion& region, Service& service,
                  TcpOptions options);
  // Needs close() before, if it listened or its loopback took calls.
  ~TcpServerFabric() override;

  std::string_view name() const override { return "tcp"; }
  // Errors (configuration): an address that others can reach, without a cluster key; one that cannot be
  // bound.
  reactor::Task<Status> listen(std::string address) override;
  reactor::Task<void> fence(PeerId peer) override;
  Channel& loopback() override;
  void grow(std::size_t length_bytes) override;
  void describe(Facts& facts) const override;
  reactor::Task<void> close() override;

  // Where it listens; with the real port where 0 was asked for.
  const std::string& address() const;

 private:
  void closed(PeerId peer) override;
  reactor::Task<void> accept_peers();
  reactor::Task<void> greet(int descriptor);
  reactor::Task<void> reap(PeerId peer);

  reactor::Reactor& reactor_;
  ServedRegion served_;
  TcpOptions options_;
  bool closing_ = false;
  std::unique_ptr<reactor::SocketListener> listener_;
  std::set<Link*> greeting_;
  UnauthenticatedPeers unauthenticated_;
  RefusalLog refusals_;
  std::map<PeerId, std::unique_ptr<ServerConnection>> connections_;
  std::uint64_t accepted_ = 0;
  std::uint64_t refused_ = 0;
  std::unique_ptr<CpuChannel> loopback_;
};

}  // namespace namdb::fabric::tcp
