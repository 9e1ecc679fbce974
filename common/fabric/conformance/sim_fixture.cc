#include "common/fabric/conformance/sim_fixture.h"

#include "common/fabric/checking.h"
#include "common/fabric/decorated_fabric.h"
#include "common/fabric/sim/client.h"
#include "common/fabric/sim/server.h"
#include "common/fabric/sim/world.h"

namespace namdb::fabric::conformance {
namespace {

sim::SimOptions options_of(int run) {
  Random random(static_cast<std::uint64_t>(run));
  return sim::SimOptions::swarm(random);
}

class SimFixture final : public Fixture {
 public:
  SimFixture(Service& service, int clients, int run)
      : world_(static_cast<std::uint64_t>(run), options_of(run)),
        region_(kCapacity_bytes / 8),
        server_node_(world_.add_node("server")),
        server_(server_node_, region(), service, kCapacity_bytes) {
    const Status status = world_.run(server_node_, server_.listen(address()));
    NAMDB_CHECK(status.ok());
    for (int i = 0; i < clients; ++i) {
      nodes_.push_back(&world_.add_node("client " + std::to_string(i)));
      std::unique_ptr<ClientFabric> fabric = std::make_unique<sim::SimClientFabric>(*nodes_.back());
      if (run % 2 == 1) {
        auto buffers = std::make_shared<BuffersInFlight>();
        fabric =
            std::make_unique<DecoratedFabric>(std::move(fabric), [buffers](std::unique_ptr<Channel> channel) {
              return std::make_unique<CheckingChannel>(std::move(channel), buffers, CheckingOptions());
            });
      }
      clients_.push_back(std::move(fabric));
    }
  }
  ~SimFixture() override {
    clients_.clear();
    world_.run(server_node_, server_.close());
    world_.run_until_idle();
  }

  std::span<std::byte> region() override {
    return std::as_writable_bytes(std::span(region_)).first(kRegion_bytes);
  }
  std::size_t capacity_bytes() override { return kCapacity_bytes; }
  std::string address() override { return "sim:server"; }
  std::string nowhere() override { return "sim:nowhere"; }
  ServerFabric& server() override { return server_; }
  ClientFabric& client(int index) override { return *clients_[static_cast<std::size_t>(index)]; }
  reactor::Executor& executor(int place) override { return node(place); }
  void run(std::vector<Work> work) override {
    reactor::Gate gate;
    for (const Work& piece : work) node(piece.place).spawn(gate, piece.job());
    const bool ended = world_.run_until([&] { return gate.count() == 0; });
    NAMDB_CHECK(ended);
  }

 private:
  sim::SimNode& node(int place) {
    return place == kServer ? server_node_ : *nodes_[static_cast<std::size_t>(place)];
  }

  sim::SimWorld world_;
  std::vector<std::uint64_t> region_;
  sim::SimNode& server_node_;
  sim::SimServerFabric server_;
  std::vector<sim::SimNode*> nodes_;
  std::vector<std::unique_ptr<ClientFabric>> clients_;
};

}  // namespace

std::unique_ptr<Fixture> make_sim_fixture(Service& service, int clients, int run) {
  return std::make_unique<SimFixture>(service, clients, run);
}

}  // namespace namdb::fabric::conformance
