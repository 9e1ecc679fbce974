// For tests: a host that tells where regions are, in virtual time. It hangs while its node is paused.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/fabric/sim/server.h"
#include "common/fabric/sim/world.h"
#include "common/placement/configuration.h"
#include "common/placement/move_calls.h"

namespace namdb::placement::testing {

class SimulatedHost final : public fabric::Service {
 public:
  SimulatedHost(fabric::sim::SimWorld& world, const std::string& address, Configuration known)
      : node(world.add_node(address)),
        known_(std::move(known)),
        memory_(8),
        fabric_(node, std::as_writable_bytes(std::span(memory_)), *this),
        world_(world) {
    REQUIRE(world.run(node, fabric_.listen(address)).ok());
  }
  ~SimulatedHost() override { world_.run(node, fabric_.close()); }
  SimulatedHost(const SimulatedHost&) = delete;
  SimulatedHost& operator=(const SimulatedHost&) = delete;

  Result<std::string> on_connect(fabric::PeerId /*peer*/, std::string_view /*hello*/) override {
    ++connects;
    return std::string();
  }
  reactor::Task<Status> on_call(fabric::PeerId /*peer*/, std::uint16_t method, std::string_view request,
                                std::string& reply) override {
    CHECK(method == kConfigurationMethod);
    CHECK(Configuration::decode(request).has_value());
    reply = known_.encode();
    co_return Status();
  }
  void on_disconnect(fabric::PeerId /*peer*/) override {}

  fabric::sim::SimNode& node;
  int connects = 0;

 private:
  Configuration known_;
  std::vector<std::uint64_t> memory_;
  fabric::sim::SimServerFabric fabric_;
  fabric::sim::SimWorld& world_;
};

}  // namespace namdb::placement::testing
