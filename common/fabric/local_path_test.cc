// The local path as a whole, on two servers of the simulator with one region: which of them a client reaches,
// and which pairs of transports and of servers are refused. The conformance suite tests the contract over shm
// and tcp together.
#include "common/fabric/local_path.h"

#include <catch2/catch.hpp>
#include <vector>

#include "common/fabric/facts.h"
#include "common/fabric/region_words.h"
#include "common/fabric/sim/client.h"
#include "common/fabric/sim/server.h"
#include "common/fabric/sim/world.h"

namespace namdb::fabric {
namespace {

using reactor::Task;

constexpr std::size_t kRegion_bytes = 4096;

class TestService final : public Service {
 public:
  explicit TestService(std::string welcome) : welcome_(std::move(welcome)) {}
  Result<std::string> on_connect(PeerId peer, std::string_view hello) override {
    if (hello == "refuse me") return Status(ErrorCode::cannot_connect_now, "it opens");
    if (hello != "who is there") connected.push_back(peer);
    return welcome_;
  }
  Task<Status> on_call(PeerId, std::uint16_t, std::string_view, std::string&) override { co_return Status(); }
  void on_disconnect(PeerId) override {}
  std::vector<PeerId> connected;

 private:
  std::string welcome_;
};

sim::SimOptions options(bool atomics_with_cpu) {
  sim::SimOptions options;
  options.atomics_with_cpu = atomics_with_cpu;
  return options;
}

// A memory server that listens at sim:far and sim:near, another one at sim:other, and a client.
class World {
 public:
  explicit World(bool atomics_with_cpu = true)
      : world_(7, options(atomics_with_cpu)), memory_(kRegion_bytes / 8) {
    auto far = std::make_unique<sim::SimServerFabric>(server_node_, region(), service, kRegion_bytes);
    auto near = std::make_unique<sim::SimServerFabric>(server_node_, region(), service, kRegion_bytes);
    server = std::make_unique<LocalPathServer>(std::move(far), std::move(near), "sim:near");
    listened = world_.run(server_node_, server->listen("sim:far"));
    const Status also = world_.run(server_node_, other_.listen("sim:other"));
    REQUIRE(also.ok());
  }
  ~World() {
    channel.reset();
    client_.reset();
    world_.run(server_node_, server->close());
    world_.run(server_node_, other_.close());
    world_.run_until_idle();
    server.reset();
  }
  // The client reaches the server at sim:far by that socket.
  Status connect(const std::string& socket, const std::string& address = "sim:far",
                 const std::string& hello = "hello") {
    channel.reset();
    LocalPath path{"sim:far", socket, [] { return std::string("who is there"); }, {}};
    path.same_server = [](std::string_view remote, std::string_view local) {
      return remote == local ? Status() : Status(ErrorCode::configuration, "of another server");
    };
    client_ = std::make_unique<LocalPathClient>(std::make_unique<sim::SimClientFabric>(client_node_),
                                                std::make_unique<sim::SimClientFabric>(client_node_),
                                                std::move(path));
    welcome.clear();
    auto connected = world_.run(client_node_, client_->connect(address, hello, &welcome));
    if (connected.ok()) channel = std::move(*connected);
    return connected.status();
  }
  std::string reached(const std::string& address) const {
    Facts facts;
    describe_link(*client_, address, facts);
    for (const Fact& fact : facts.all()) {
      if (fact.name == "address") return fact.text;
    }
    return {};
  }
  std::string fact(const std::string& name) const {
    Facts facts;
    server->describe(facts);
    for (const Fact& each : facts.all()) {
      if (each.name == name) return each.text.empty() ? std::to_string(each.amount) : each.text;
    }
    return {};
  }
  void fence(PeerId peer) { world_.run(server_node_, server->fence(peer)); }
  void settle() { world_.run_until_idle(); }

  TestService service{"the server"};
  std::unique_ptr<LocalPathServer> server;
  std::unique_ptr<Channel> channel;
  std::string welcome;
  Status listened;

 private:
  std::span<std::byte> region() { return std::as_writable_bytes(std::span(memory_)); }

  sim::SimWorld world_;
  std::vector<std::uint64_t> memory_;
  std::vector<std::uint64_t> other_memory_ = std::vector<std::uint64_t>(kRegion_bytes / 8);
  sim::SimNode& server_node_ = world_.add_node("server");
  sim::SimNode& client_node_ = world_.add_node("client");
  TestService other_service_{"another server"};
  sim::SimServerFabric other_{server_node_, std::as_writable_bytes(std::span(other_memory_)), other_service_,
                              kRegion_bytes};
  std::unique_ptr<LocalPathClient> client_;
};

}  // namespace

TEST_CASE("a client reaches the memory server beside it at its socket, and others at their addresses") {
  World world;
  REQUIRE(world.listened.ok());
  REQUIRE(world.connect("sim:near").ok());
  CHECK(world.welcome == "the server");
  CHECK(world.reached("sim:far") == "sim:near");
  CHECK(world.reached("sim:other") == "sim:other");
  REQUIRE(world.connect("sim:near", "sim:other").ok());
  CHECK(world.welcome == "another server");
}

TEST_CASE("a socket of another memory server is refused") {
  World world;
  CHECK(world.connect("sim:other").code() == ErrorCode::configuration);
  REQUIRE(world.connect("sim:near").ok());
}

TEST_CASE("a memory server without a socket is a lost connection, and the message says what to do") {
  World world;
  const Status status = world.connect("sim:nowhere");
  CHECK(status.code() == ErrorCode::connection_failure);
  CHECK(status.message().find("the memory server at sim:far") != std::string::npos);
  CHECK(status.hint().find("--listen-local sim:nowhere") != std::string::npos);
  // The memory server's own refusals stay as they are.
  CHECK(world.connect("sim:near", "sim:far", "refuse me").code() == ErrorCode::cannot_connect_now);
}

TEST_CASE("transports without common atomics are refused, whichever the other one is") {
  const World world(false);
  CHECK(world.listened.code() == ErrorCode::configuration);
  CHECK(world.listened.message().find("atomic with the CPU") != std::string::npos);
}

TEST_CASE("a peer is fenced whichever transport it came by") {
  World world;
  // The socket of the second one is the other transport's address.
  for (const char* socket : {"sim:near", "sim:far"}) {
    REQUIRE(world.connect(socket).ok());
    CHECK(!world.channel->failed());
    world.fence(world.service.connected.back());
    world.settle();
    CHECK(world.channel->failed());
  }
}

TEST_CASE("a server tells of both its transports") {
  const World world;
  CHECK(world.server->name() == "sim+sim");
  CHECK(world.fact("local_address") == "sim:near");
}

}  // namespace namdb::fabric
