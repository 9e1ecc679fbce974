#include "common/fabric/tcp/server.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "common/fabric/facts.h"
#include "common/fabric/tcp/frames.h"
#include "common/fabric/tcp/link.h"
#include "common/reactor/reactor.h"
#include "common/reactor/socket_address.h"
#include "common/reactor/socket_listener.h"

namespace namdb::fabric::tcp {
namespace {

// Connections whose peers have not proven anything yet.
constexpr std::size_t kUnauthenticatedPeers = 256;

}  // namespace

TcpServerFabric::TcpServerFabric(reactor::Reactor& reactor, const ServerRegion& region, Service& service,
                                 TcpOptions options)
    : reactor_(reactor),
      served_(reactor, region, service),
      options_(std::move(options)),
      unauthenticated_(kUnauthenticatedPeers),
      refusals_(reactor, [](const std::string& line) { spdlog::warn("tcp fabric: {}", line); }),
      loopback_(std::make_unique<CpuChannel>(served_)) {
  NAMDB_CHECK(reinterpret_cast<std::uintptr_t>(region.base) % 8 == 0 && region.length_bytes % 8 == 0);
}

TcpServerFabric::~TcpServerFabric() {
  NAMDB_CHECK(connections_.empty() && served_.gate.count() == 0);
}

Channel& TcpServerFabric::loopback() {
  return *loopback_;
}

const std::string& TcpServerFabric::address() const {
  return listener_->address();
}

void TcpServerFabric::grow(std::size_t length_bytes) {
  ServerRegion& region = served_.region;
  NAMDB_CHECK(length_bytes >= region.length_bytes && length_bytes <= region.capacity_bytes &&
              length_bytes % 8 == 0);
  region.length_bytes = length_bytes;
}

reactor::Task<Status> TcpServerFabric::listen(std::string address) {
  NAMDB_CHECK(listener_ == nullptr && !closing_);
  if (!options_.key && options_.encryption == Encryption::required)
    co_return Status(ErrorCode::configuration, "encrypted connections need a cluster key");
  if (!options_.key) {
    const Result<std::vector<reactor::SocketAddress>> candidates =
        reactor::SocketAddress::resolve(address, true);
    if (!candidates.ok()) co_return candidates.status();
    for (const reactor::SocketAddress& candidate : *candidates) {
      if (!candidate.is_local()) {
        co_return Status(ErrorCode::configuration,
                         "the fabric does not listen on " + address + " without a cluster key",
                         "give every daemon of the cluster the same key file, or listen on 127.0.0.1");
      }
    }
  }
  Result<std::unique_ptr<reactor::SocketListener>> listener =
      reactor::SocketListener::listen(reactor_, address);
  if (!listener.ok()) co_return listener.status();
  listener_ = std::move(*listener);
  reactor_.spawn(served_.gate, accept_peers());
  co_return Status();
}

reactor::Task<void> TcpServerFabric::accept_peers() {
  while (true) {
    const Result<int> descriptor = co_await listener_->accept_descriptor();
    if (closing_) {
      if (descriptor.ok()) ::close(*descriptor);
      co_return;
    }
    if (!descriptor.ok()) {
      spdlog::warn("tcp fabric: {}", descriptor.status().message());
      co_await reactor_.sleep_for(100 * kMillisecond_ns);
    } else {
      reactor_.spawn(served_.gate, greet(*descriptor));
    }
  }
}

reactor::Task<void> TcpServerFabric::greet(int descriptor) {
  auto link = std::make_unique<Link>(reactor_, descriptor);
  const std::uint64_t deadline_ns = reactor_.now_ns() + options_.handshake_timeout_ns;
  const std::uint64_t proof_deadline_ns =
      std::min(deadline_ns, reactor_.now_ns() + options_.authentication_timeout_ns);
  Link* const stranger = link.get();
  UnauthenticatedPeers::Seat seat = unauthenticated_.enter(
      [stranger] { stranger->abort("newer connections took all seats of strangers"); });
  greeting_.insert(link.get());
  if (closing_) link->abort();
  Status status = co_await prove_client(*link, link->dialect(options_), options_.key, proof_deadline_ns);
  std::string hello;
  if (status.ok()) {
    // Without a key there is nothing to prove: a hello is all that tells a member from a stranger.
    if (options_.key) seat.leave();
    Result<std::string> taken = co_await take_hello(*link, options_.key ? deadline_ns : proof_deadline_ns);
    status = taken.status();
    if (taken.ok()) hello = std::move(*taken);
  }
  seat.leave();
  PeerId peer = 0;
  if (status.ok() && !closing_) {
    peer = next_peer_id();
    Result<std::string> welcome = served_.service.on_connect(peer, hello);
    if (welcome.ok()) {
      answer(*link, *welcome);
    } else {
      status = welcome.status();
      refuse(*link, status);
    }
  }
  if (!status.ok() || closing_) {
    ++refused_;
    if (!closing_) refusals_.refuse(link->peer(), status.message());
    co_await link->flush(deadline_ns);
    greeting_.erase(link.get());
    co_return;
  }
  greeting_.erase(link.get());
  ConnectionOwner& owner = *this;
  auto connection = std::make_unique<ServerConnection>(owner, served_, peer, std::move(link));
  ServerConnection& added = *connection;
  connections_.emplace(peer, std::move(connection));
  ++accepted_;
  added.start();
}

void TcpServerFabric::describe(Facts& facts) const {
  facts.say("address", listener_ == nullptr ? "" : address());
  facts.say("atomics", "with the CPU");
  facts.count("peers", connections_.size());
  facts.count("encrypted_peers",
              static_cast<std::uint64_t>(std::ranges::count_if(
                  connections_, [](const auto& peer) { return peer.second->encrypted(); })));
  facts.count("handshakes", greeting_.size());
  facts.count("connections", accepted_);
  facts.count("refused", refused_);
}

void TcpServerFabric::closed(PeerId peer) {
  reactor_.spawn(served_.gate, reap(peer));
}

reactor::Task<void> TcpServerFabric::reap(PeerId peer) {
  const auto found = connections_.find(peer);
  while (found->second->running_calls() != 0) co_await served_.changed.wait();
  served_.service.on_disconnect(peer);
  connections_.erase(found);
  served_.changed.notify_all();
}

reactor::Task<void> TcpServerFabric::fence(PeerId peer) {
  const auto found = connections_.find(peer);
  if (found == connections_.end()) co_return;
  found->second->close("it is fenced", false);
  while (connections_.contains(peer)) co_await served_.changed.wait();
}

reactor::Task<void> TcpServerFabric::close() {
  closing_ = true;
  if (listener_ != nullptr) listener_->close();
  for (Link* link : greeting_) link->abort();
  for (const auto& [peer, connection] : connections_) connection->close("the server ends", false);
  co_await served_.gate.close();
  co_await refusals_.close();
}

}  // namespace namdb::fabric::tcp
