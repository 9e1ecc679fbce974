#include "common/fabric/verbs/client.h"

#include <spdlog/spdlog.h>

#include <cstring>
#include <utility>
#include <vector>

#include "common/fabric/handshake.h"
#include "common/fabric/verbs/client_channel.h"
#include "common/fabric/verbs/connection_manager.h"
#include "common/fabric/verbs/datagrams.h"
#include "common/fabric/verbs/device.h"
#include "common/fabric/verbs/link.h"
#include "common/reactor/reactor.h"

namespace namdb::fabric::verbs {

VerbsClientFabric::VerbsClientFabric(reactor::Reactor& reactor, VerbsOptions options)
    : reactor_(reactor),
      options_(std::move(options)),
      pool_([this](std::byte* base, std::size_t length_bytes) { add_memory(base, length_bytes); }) {}

VerbsClientFabric::~VerbsClientFabric() = default;

void VerbsClientFabric::add_memory(std::byte* base, std::size_t length_bytes) {
  chunks_.push_back({base, length_bytes});
  // A device that refuses says so itself, and refuses the operations that name the chunk.
  for (const auto& device : devices_) static_cast<void>(device->register_local(base, length_bytes));
}

void VerbsClientFabric::remove_memory(std::byte* base) {
  std::erase_if(chunks_, [base](const Chunk& chunk) { return chunk.base == base; });
  for (const auto& device : devices_) device->unregister_local(base);
}

EndpointCounters VerbsClientFabric::totals() const {
  EndpointCounters sum;
  for (const auto& device : devices_) sum += device->totals();
  return sum;
}

Result<Device*> VerbsClientFabric::device_of(ibv_context* context, std::uint8_t port) {
  const char* name = ibv_get_device_name(context->device);
  for (const auto& device : devices_) {
    if (device->name() == name) return device.get();
  }
  Result<std::unique_ptr<Device>> device =
      Device::open(reactor_, context->device, options_.client_receive_buffers);
  if (!device.ok()) return device.status();
  // At least one, so that a limit that is too small is found now and not by the first transaction.
  if (chunks_.empty()) LocalBuffer first(pool_, 64);
  for (const Chunk& chunk : chunks_) {
    Status status = (*device)->register_local(chunk.base, chunk.length_bytes);
    if (!status.ok()) return status;
  }
  devices_.push_back(std::move(*device));
  spdlog::info("verbs fabric: memory servers are reached by {}", devices_.back()->describe(port));
  return devices_.back().get();
}

DatagramPort* VerbsClientFabric::port_of(Device& device, std::uint8_t port) {
  if (options_.calls != CallKind::datagrams) return nullptr;
  for (const PortOfDevice& known : ports_) {
    if (known.device == &device && known.port == port) return known.datagrams.get();
  }
  auto datagrams = std::make_unique<DatagramPort>(device);
  const Status status = datagrams->create(port, options_.send_queue_depth, options_.lose_every_datagram);
  if (!status.ok()) {
    spdlog::warn("verbs fabric: calls go over connections: {}", status.message());
    datagrams.reset();
  }
  ports_.push_back({&device, port, std::move(datagrams)});
  return ports_.back().datagrams.get();
}

reactor::Task<Result<std::unique_ptr<Channel>>> VerbsClientFabric::connect(std::string address,
                                                                           std::string hello,
                                                                           std::string* welcome) {
  const std::uint64_t deadline_ns = reactor_.now_ns() + options_.handshake_timeout_ns;
  if (manager_ == nullptr) {
    Result<std::unique_ptr<ConnectionManager>> manager = ConnectionManager::create(reactor_);
    if (!manager.ok()) co_return manager.status();
    manager_ = std::move(*manager);
  }
  auto link = std::make_unique<Link>(reactor_, *manager_, options_);
  const DeviceOf find_device = [this](ibv_context* context, std::uint8_t port) {
    return device_of(context, port);
  };
  Status status = co_await link->connect(address, find_device, deadline_ns);
  std::string answer;
  if (status.ok()) {
    Result<std::string> greeted =
        co_await greet_server(*link, kDialect, options_.key, std::move(hello), deadline_ns);
    status = greeted.status();
    if (greeted.ok()) answer = std::move(*greeted);
  }
  if (!status.ok()) co_return refused_by(address, status, options_.key);
  RegionAccess access;
  if (answer.size() < sizeof access) {
    co_return Status(ErrorCode::protocol_violation, address + " sent a welcome that is too short");
  }
  std::memcpy(&access, answer.data(), sizeof access);
  if (welcome != nullptr) *welcome = answer.substr(sizeof access);
  Device& link_device = link->endpoint().device();
  const std::uint8_t link_port = link->port();
  auto channel = std::make_unique<VerbsChannel>(reactor_, pool_, std::move(link), access);
  channel->start(port_of(link_device, link_port));
  co_return std::unique_ptr<Channel>(std::move(channel));
}

std::unique_ptr<ClientFabric> make_verbs_client_fabric(reactor::Reactor& reactor, VerbsOptions options) {
  return std::make_unique<VerbsClientFabric>(reactor, std::move(options));
}

}  // namespace namdb::fabric::verbs
