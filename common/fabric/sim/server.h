// The server side of the simulated transport: a region and a Service on one node. The region's memory and the
// service belong to the caller and outlive this object. A pause of the node delays calls and connects, never
// one-sided operations.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "common/fabric/fabric.h"
#include "common/fabric/sim/client.h"
#include "common/fabric/sim/connection.h"
#include "common/fabric/sim/node.h"
#include "common/fabric/sim/served_node.h"

namespace namdb::fabric::sim {

class SimServerFabric final : public ServerFabric, public ServedNode {
 public:
  // `region` is 8-byte aligned, its size a multiple of 8. With `capacity_bytes` it may grow, and the zeros
  // that it grows by follow it already.
  SimServerFabric(SimNode& node, std::span<std::byte> region, Service& service,
                  std::size_t capacity_bytes = 0);
  // Needs close() before, unless the node was killed.
  ~SimServerFabric() override;

  std::string_view name() const override { return "sim"; }
  // `address` is sim:NAME; a later server takes the name over from a dead one.
  reactor::Task<Status> listen(std::string address) override;
  reactor::Task<void> fence(PeerId peer) override;
  Channel& loopback() override;
  void grow(std::size_t length_bytes) override;
  reactor::Task<void> close() override;

  // --- for the network ---
  SimNode& node() override { return node_; }
  std::span<std::byte> region() const override { return region_; }
  std::size_t capacity_bytes() const override { return capacity_bytes_; }
  bool accepts() const override { return listening_ && node_.alive(); }
  void arrive(ConnectEvent& connect) override;
  void arrive(CallEvent& call) override;
  void drained(Connection& connection) override;

 private:
  struct Peer {
    Connection* connection;
    std::size_t handlers = 0;
  };
  // The state of spawned tasks. It is leaked with them when the node is killed.
  struct Tasks {
    explicit Tasks(reactor::Executor& executor) : changed(executor) {}
    reactor::Gate gate;
    reactor::Event changed;  // a handler ended, or a peer is gone
  };
  reactor::Task<void> handle_connect(ConnectEvent* connect);
  reactor::Task<void> handle_call(CallEvent* call);
  reactor::Task<void> handle_drained(PeerId peer);

  SimNode& node_;
  std::span<std::byte> region_;
  std::size_t capacity_bytes_;
  Service& service_;
  bool listening_ = false;
  bool closed_ = false;
  std::unique_ptr<Tasks> tasks_;
  std::map<PeerId, Peer> peers_;
  SimClientFabric loopback_fabric_;
  std::unique_ptr<Channel> loopback_;
};

}  // namespace namdb::fabric::sim
