// The client side of the verbs transport: a channel is a reliable connection to a memory server's device. All
// posts of a turn to one server leave with one doorbell. One device context, completion queue and receive
// queue for each device that servers are reached by. Needs a Reactor.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "common/fabric/fabric.h"
#include "common/fabric/verbs/endpoint_counters.h"
#include "common/fabric/verbs/options.h"

struct ibv_context;

namespace namdb::reactor {
class Reactor;
}

namespace namdb::fabric::verbs {

class ConnectionManager;
class DatagramPort;
class Device;

class VerbsClientFabric final : public ClientFabric {
 public:
  VerbsClientFabric(reactor::Reactor& reactor, VerbsOptions options);
  ~VerbsClientFabric() override;

  std::string_view name() const override { return "verbs"; }
  LocalPool& pool() override { return pool_; }
  // The channel is a VerbsChannel.
  reactor::Task<Result<std::unique_ptr<Channel>>> connect(std::string address, std::string hello,
                                                          std::string* welcome) override;

  // Memory that operations may name besides the pool's, from now until it is removed. Nothing that names it
  // is under way then.
  void add_memory(std::byte* base, std::size_t length_bytes);
  void remove_memory(std::byte* base);
  // The sum over all connections, past ones included.
  EndpointCounters totals() const;

 private:
  struct Chunk {
    std::byte* base;
    std::size_t length_bytes;
  };
  struct PortOfDevice {
    Device* device;
    std::uint8_t port;
    std::unique_ptr<DatagramPort> datagrams;  // null: it cannot be had
  };
  Result<Device*> device_of(ibv_context* context, std::uint8_t port);
  // Null where calls do not go as datagrams.
  DatagramPort* port_of(Device& device, std::uint8_t port);

  reactor::Reactor& reactor_;
  VerbsOptions options_;
  std::unique_ptr<ConnectionManager> manager_;
  std::vector<Chunk> chunks_;
  LocalPool pool_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<PortOfDevice> ports_;
};

std::unique_ptr<ClientFabric> make_verbs_client_fabric(reactor::Reactor& reactor, VerbsOptions options);

}  // namespace namdb::fabric::verbs
