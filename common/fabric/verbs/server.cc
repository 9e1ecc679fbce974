#include "common/fabric/verbs/server.h"

#include <linux/magic.h>
#include <spdlog/spdlog.h>
#include <sys/random.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "common/fabric/handshake.h"
#include "common/fabric/verbs/device_choice.h"
#include "common/reactor/reactor.h"
#include "common/reactor/system_error.h"

namespace namdb::fabric::verbs {
namespace {

// Connections whose peers have not proven anything yet.
constexpr std::size_t kUnauthenticatedPeers = 128;
constexpr int kBacklog = 128;
// How long a fenced peer that shares its queue pair has to let go of it.
constexpr std::uint64_t kEviction_ns = kSecond_ns;

bool is_any_host(const std::string& address) {
  const std::string host = address.substr(0, address.rfind(':'));
  return host == "0.0.0.0" || host == "[::]";
}

std::uint64_t memory_page_bytes(int descriptor) {
  struct statfs file{};
  if (descriptor >= 0 && ::fstatfs(descriptor, &file) == 0 && file.f_type == HUGETLBFS_MAGIC)
    return static_cast<std::uint64_t>(file.f_bsize);
  return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

VerbsServerFabric::VerbsServerFabric(reactor::Reactor& reactor, const ServerRegion& region, Service& service,
                                     VerbsOptions options)
    : reactor_(reactor),
      served_(reactor, region, service),
      options_(std::move(options)),
      loopback_(reactor, served_),
      cpu_(served_),
      unauthenticated_(kUnauthenticatedPeers),
      refusals_(reactor, [](const std::string& line) { spdlog::warn("verbs fabric: {}", line); }) {
  NAMDB_CHECK(reinterpret_cast<std::uintptr_t>(region.base) % 4096 == 0 && region.length_bytes % 8 == 0);
}

VerbsServerFabric::~VerbsServerFabric() {
  NAMDB_CHECK(connections_.empty() && served_.gate.count() == 0);
  loopback_.close(Status(ErrorCode::connection_failure, "the server ends"));
  if (listener_ != nullptr) rdma_destroy_id(listener_);
}

reactor::Task<Status> VerbsServerFabric::listen(std::string address) {
  NAMDB_CHECK(listener_ == nullptr && !closing_);
  Status status = start_listening(address);
  // No task may wait for ever for operations that were posted before.
  if (!status.ok()) loopback_.close(status);
  co_return status;
}

Status VerbsServerFabric::start_listening(const std::string& asked) {
  Result<reactor::SocketAddress> own = resolve(asked, true);
  if (!own.ok()) return own.status();
  if (served_.region.capacity_bytes > served_.region.length_bytes) {
    return Status(ErrorCode::configuration,
                  "a region that is reached over verbs cannot grow: each peer has one key, of all that the "
                  "device has registered and pinned",
                  "give --region-bytes what --region-limit says");
  }
  if (!options_.key) {
    return Status(ErrorCode::configuration, "the verbs fabric does not listen without a cluster key",
                  "give every daemon of the cluster the same key file");
  }
  const Result<std::string> host = host_of(options_.device, own->family());
  if (!host.ok()) return host.status();
  std::string address = asked;
  if (!host->empty() && is_any_host(asked)) {
    address = *host + asked.substr(asked.rfind(':'));
    own = resolve(address, true);
    if (!own.ok()) return own.status();
  }
  Result<std::unique_ptr<ConnectionManager>> manager = ConnectionManager::create(reactor_);
  if (!manager.ok()) return manager.status();
  manager_ = std::move(*manager);
  Result<rdma_cm_id*> id = manager_->make_identifier(*this);
  if (!id.ok()) return id.status();
  listener_ = *id;
  sockaddr_storage place{};
  std::memcpy(&place, own->data(), own->size());
  if (rdma_bind_addr(listener_, reinterpret_cast<sockaddr*>(&place)) != 0) {
    return reactor::system_error(ErrorCode::configuration, "the verbs fabric cannot listen at " + address,
                                 errno);
  }
  Status status = open_device(address);
  if (!status.ok()) return status;
  if (rdma_listen(listener_, kBacklog) != 0) {
    return reactor::system_error(ErrorCode::configuration, "the verbs fabric cannot listen at " + address,
                                 errno);
  }
  const std::size_t colon = address.rfind(':');
  address_ = address.substr(0, colon + 1) + std::to_string(ntohs(rdma_get_src_port(listener_)));
  return Status();
}

Status VerbsServerFabric::open_device(const std::string& address) {
  if (listener_->verbs == nullptr) {
    return Status(
        ErrorCode::configuration, address + " is the address of no RDMA device",
        "listen at the address of one device (`rdma link show`); atomics of several would not be atomic");
  }
  if (Status chosen = check(options_.device, *listener_, address); !chosen.ok()) return chosen;
  Result<std::unique_ptr<Device>> device =
      Device::open(reactor_, listener_->verbs->device, options_.server_receive_buffers);
  if (!device.ok()) return device.status();
  device_ = std::move(*device);
  Status status =
      keys_.open(*device_, served_.region.base, served_.region.length_bytes, options_.region_keys);
  if (!status.ok()) return status;
  const std::uint8_t port = listener_->port_num;
  status = loopback_.open(*device_, port, listener_->route.addr.addr.ibaddr.sgid, keys_.own_key(),
                          options_.send_queue_depth);
  if (!status.ok()) return status;
  calls_.datagrams = std::make_unique<DatagramPort>(*device_);
  // Peers do without.
  const Status made = calls_.datagrams->create(port, options_.send_queue_depth, options_.lose_every_datagram);
  if (!made.ok()) {
    spdlog::warn("verbs fabric: calls go over connections: {}", made.message());
    calls_.datagrams.reset();
  }
  spdlog::info("verbs fabric: the region is reached by {}", device_->describe(port));
  return status;
}

void VerbsServerFabric::on_event(const ManagerEvent& event) {
  if (event.type != RDMA_CM_EVENT_CONNECT_REQUEST) return;
  if (closing_) {
    rdma_reject(event.id, nullptr, 0);
    rdma_destroy_id(event.id);
    return;
  }
  reactor_.spawn(served_.gate, greet(std::make_unique<Link>(reactor_, options_, event.id), event));
}

reactor::Task<Status> VerbsServerFabric::admit(Link* link, PeerId peer, Admission* admission,
                                               std::uint64_t deadline_ns) {
  Status proven;
  {
    const UnauthenticatedPeers::Seat seat =
        unauthenticated_.enter([link] { link->abort("newer connections took all seats of strangers"); });
    proven =
        co_await prove_client(*link, kDialect, options_.key,
                              std::min(deadline_ns, reactor_.now_ns() + options_.authentication_timeout_ns));
  }
  if (!proven.ok() || closing_) co_return proven;
  const Result<std::string> hello = co_await take_hello(*link, deadline_ns);
  if (!hello.ok() || closing_) co_return hello.status();
  Result<std::unique_ptr<PeerKey>> made = keys_.make(link->endpoint());
  if (!made.ok()) {
    refuse(*link, made.status());
    co_return made.status();
  }
  admission->key = std::move(*made);
  NAMDB_CHECK(::getrandom(&admission->token, sizeof admission->token, 0) ==
              static_cast<ssize_t>(sizeof admission->token));
  Result<std::string> welcome = served_.service.on_connect(peer, *hello);
  if (!welcome.ok()) {
    refuse(*link, welcome.status());
    co_return welcome.status();
  }
  Status status = link->open_memory();
  if (!status.ok()) {
    served_.service.on_disconnect(peer);
    co_return status;
  }
  const std::uint32_t flags =
      device_->attributes().atomic_cap == IBV_ATOMIC_GLOB ? RegionAccess::kAtomicsWithCpu : 0;
  const RegionAccess access{served_.region.length_bytes, admission->key->key(), flags, admission->token,
                            calls_.datagrams == nullptr ? DatagramAddress{} : calls_.datagrams->address()};
  std::string bytes(reinterpret_cast<const char*>(&access), sizeof access);
  answer(*link, bytes + *welcome);
  co_return status;
}

reactor::Task<void> VerbsServerFabric::greet(std::unique_ptr<Link> link, ManagerEvent request) {
  const std::uint64_t deadline_ns = reactor_.now_ns() + options_.handshake_timeout_ns;
  greeting_.insert(link.get());
  Status status = link->accept(*device_, request);
  if (closing_) link->abort();
  const PeerId peer = next_peer_id();
  Admission admission;
  if (status.ok()) status = co_await admit(link.get(), peer, &admission, deadline_ns);
  if (!status.ok() || closing_) {
    ++refused_;
    if (!closing_) refusals_.refuse(link->peer(), status.message());
    co_await link->flush(deadline_ns);
    greeting_.erase(link.get());
    link->close();  // the key goes first, and nothing may be posted that names it
    co_return;
  }
  greeting_.erase(link.get());
  ConnectionOwner& owner = *this;
  auto connection =
      std::make_unique<ServerConnection>(owner, served_, calls_, peer, std::move(link), std::move(admission));
  ServerConnection& added = *connection;
  connections_.emplace(peer, std::move(connection));
  ++accepted_;
  added.start();
}

void VerbsServerFabric::grow(std::size_t length_bytes) {
  NAMDB_CHECK(length_bytes == served_.region.length_bytes);
}

void VerbsServerFabric::describe(Facts& facts) const {
  facts.say("address", address_);
  facts.say("region_keys", std::string(keys_.kind_name()));
  std::size_t peers = 0;
  for (const auto& [first, connection] : connections_) peers += connection->peers().size();
  facts.count("peers", peers);
  facts.count("handshakes", greeting_.size());
  facts.count("connections", accepted_);
  facts.count("refused", refused_);
  if (device_ == nullptr) return;
  device_->describe(listener_->port_num, listener_->route.addr.addr.ibaddr.sgid, facts);
  facts.count("region_page_bytes", device_->page_bytes(memory_page_bytes(served_.region.descriptor)));
  device_->totals().describe(facts);
  if (calls_.datagrams != nullptr) calls_.datagrams->describe(facts);
  facts.count("calls_doubled", calls_.doubled);
  device_->describe_hardware(listener_->port_num, facts);
}

void VerbsServerFabric::closed(PeerId peer) {
  reactor_.spawn(served_.gate, reap(peer));
}

reactor::Task<void> VerbsServerFabric::reap(PeerId peer) {
  const auto found = connections_.find(peer);
  found->second->destroy();
  // Each as soon as its own calls have ended: another one's may be waiting for just that.
  while (true) {
    const std::vector<PeerId> idle = found->second->take_idle_peers();
    for (const PeerId ended : idle) served_.service.on_disconnect(ended);
    if (!idle.empty()) served_.changed.notify_all();
    if (found->second->peers().empty() && found->second->running_calls() == 0) break;
    co_await served_.changed.wait();
  }
  connections_.erase(found);
  served_.changed.notify_all();
}

reactor::Task<void> VerbsServerFabric::fence(PeerId peer) {
  ServerConnection* connection = carrier(peer);
  if (connection == nullptr) co_return;
  if (connection->peers().size() > 1) {
    // The others keep the queue pair if this one says in time that it posts nothing more, and all that it
    // posted has been executed; otherwise they lose it too.
    connection->evict(peer);
    const std::uint64_t deadline_ns = reactor_.now_ns() + kEviction_ns;
    bool in_time = true;
    while (in_time && connection != nullptr && !connection->is_leaving(peer)) {
      in_time = co_await served_.changed.wait_until(deadline_ns);
      connection = carrier(peer);
    }
  }
  if (connection != nullptr && !connection->is_leaving(peer)) connection->close("it is fenced", false);
  while (carrier(peer) != nullptr) co_await served_.changed.wait();
}

ServerConnection* VerbsServerFabric::carrier(PeerId peer) const {
  for (const auto& [first, connection] : connections_) {
    if (connection->carries(peer)) return connection.get();
  }
  return nullptr;
}

reactor::Task<void> VerbsServerFabric::close() {
  closing_ = true;
  for (Link* link : greeting_) link->abort();
  for (const auto& [peer, connection] : connections_) connection->close("the server ends", false);
  co_await served_.gate.close();
  co_await refusals_.close();
  loopback_.close(Status(ErrorCode::connection_failure, "the server ends"));
}

}  // namespace namdb::fabric::verbs
