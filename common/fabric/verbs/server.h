// The server side of the verbs transport: registers the region with the device that its address belongs to,
// and gives its key to peers that have passed the handshake. Their one-sided operations never reach this
// process; their calls do. A peer that is fenced loses its key and its queue pair, and with them all access.
// Needs a Reactor. The region's memory and the service belong to the caller and outlive it.
//
// One device: atomics of two devices are not atomic with each other.
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
#include "common/fabric/unauthenticated_peers.h"
#include "common/fabric/verbs/connection_manager.h"
#include "common/fabric/verbs/datagrams.h"
#include "common/fabric/verbs/device.h"
#include "common/fabric/verbs/link.h"
#include "common/fabric/verbs/loopback_channel.h"
#include "common/fabric/verbs/options.h"
#include "common/fabric/verbs/region_keys.h"
#include "common/fabric/verbs/server_connection.h"
#include "common/reactor/executor.h"

namespace namdb::fabric::verbs {

class VerbsServerFabric final : public ServerFabric, private ManagerHandler, private ConnectionOwner {
 public:
  // `region` is page-aligned.
  VerbsServerFabric(reactor::Reactor& reactor, const ServerRegion& region, Service& service,
                    VerbsOptions options);
  // Needs close() before, if it listened or its loopback was used.
  ~VerbsServerFabric() override;

  std::string_view name() const override { return "verbs"; }
  // HOST:PORT, HOST being an address of an RDMA device; not loopback, which belongs to none. Any address
  // (0.0.0.0 or [::]) is that of the device that the options name. Errors (configuration): no cluster key; no
  // such device; a refusal of the device.
  reactor::Task<Status> listen(std::string address) override;
  reactor::Task<void> fence(PeerId peer) override;
  Channel& loopback() override {
    if (by_cpu_) return cpu_;
    return loopback_;
  }
  void peers_swap_nothing() override { by_cpu_ = true; }
  // Never: peers hold keys of what was registered.
  void grow(std::size_t length_bytes) override;
  void describe(Facts& facts) const override;
  reactor::Task<void> close() override;

  // Where it listens; with the real port where 0 was asked for.
  const std::string& address() const { return address_; }

 private:
  Status start_listening(const std::string& asked);
  Status open_device(const std::string& address);
  void on_event(const ManagerEvent& event) override;
  void closed(PeerId peer) override;
  reactor::Task<void> greet(std::unique_ptr<Link> link, ManagerEvent request);
  reactor::Task<Status> admit(Link* link, PeerId peer, Admission* admission, std::uint64_t deadline_ns);
  reactor::Task<void> reap(PeerId peer);
  // The connection that carries the peer, or null.
  ServerConnection* carrier(PeerId peer) const;

  reactor::Reactor& reactor_;
  ServedRegion served_;
  VerbsOptions options_;
  std::string address_;
  bool closing_ = false;
  std::unique_ptr<ConnectionManager> manager_;
  rdma_cm_id* listener_ = nullptr;
  std::unique_ptr<Device> device_;
  RegionKeys keys_;
  CallsServed calls_;
  LoopbackChannel loopback_;
  CpuChannel cpu_;
  bool by_cpu_ = false;
  std::set<Link*> greeting_;
  UnauthenticatedPeers unauthenticated_;
  RefusalLog refusals_;
  std::map<PeerId, std::unique_ptr<ServerConnection>> connections_;  // by the peers that made them
  std::uint64_t accepted_ = 0;
  std::uint64_t refused_ = 0;
};

}  // namespace namdb::fabric::verbs
