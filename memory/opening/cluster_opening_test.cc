// Rounds that memory server 0 leads where its region has copies, against a made-up memory server 1 and
// a lease that the test gives and takes.
#include "memory/opening/cluster_opening.h"

#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/placement/move_calls.h"
#include "memory/checkpoint/restorer.h"
#include "memory/testing/test_cluster.h"

namespace namdb::memory {
namespace cluster_opening_test {

constexpr std::uint64_t kDatabase = 0xda7aba5e;

Options first_of_two() {
  Options options = testing::small_options();
  options.server_count = 2;
  options.durability = Durability::flushed;
  return options;
}

struct GivenLease final : CopiesService {
  reactor::Task<Status> follow(fabric::PeerId /*peer*/, placement::FollowRequest /*request*/,
                               std::string* /*reply*/) override {
    co_return Status(ErrorCode::cannot_connect_now, "nobody follows");
  }
  reactor::Task<Status> lease(Gone /*gone*/) override {
    co_return held ? Status() : Status(ErrorCode::cannot_connect_now, "there is no lease");
  }
  bool holds_lease() const override { return held; }
  reactor::Task<Status> leave(placement::LeaveRequest /*request*/, Gone /*gone*/) override {
    co_return Status(ErrorCode::cannot_connect_now, "it stays");
  }

  bool held = true;
};

// Memory server 1. It takes part in no round to its end.
struct OtherServer final : fabric::Service {
  Result<std::string> on_connect(fabric::PeerId /*peer*/, std::string_view /*hello*/) override {
    if (at_connect) at_connect();
    control::Welcome welcome;
    welcome.set_server_id(1);
    welcome.set_server_count(2);
    welcome.set_epoch(71);
    return welcome.SerializeAsString();
  }
  reactor::Task<Status> on_call(fabric::PeerId /*peer*/, std::uint16_t method, std::string_view /*request*/,
                                std::string& reply) override {
    if (method == placement::kConfigurationMethod) reply = placement::Configuration(2).encode();
    if (method != control::GATHER) co_return Status();
    ++gathered;
    co_return Status(ErrorCode::cannot_connect_now, "not now");
  }
  void on_disconnect(fabric::PeerId /*peer*/) override {}

  std::function<void()> at_connect;
  int gathered = 0;
};

class Unopened final : public UnopenedDatabase {
 public:
  reactor::Task<Status> confirm_log() override { co_return Status(); }
  reactor::Task<Status> derive(const control::DeriveRequest* /*request*/, IndexLoads* /*loads*/) override {
    co_return Status();
  }
  bool lost_log() const override { return false; }
  std::uint64_t largest_timestamp() const override { return 0; }
};

struct Leader {
  Leader() {
    parts().opening = true;
    parts().has_store = true;
    parts().copies_service = &lease;
    parts().links.set_fabric([this] { return std::make_unique<fabric::sim::SimClientFabric>(cluster.node); });
    REQUIRE(parts().links.learn({"sim:m0", "sim:m1"}, {0, 0}).ok());
    REQUIRE(cluster.world.run(other_node, other_fabric.listen("sim:m1")).ok());
  }
  ~Leader() {
    rounds.stop();
    parts().copies_service = nullptr;
    cluster.world.run(cluster.node, parts().links.close());
    cluster.world.run(cluster.node, opening.close());
    cluster.world.run(cluster.node, rounds.close());
    cluster.world.run(other_node, other_fabric.close());
  }

  ServerState& parts() { return cluster.server->parts(); }
  bool gathers(std::uint64_t limit_ns) {
    return cluster.world.run_until([this] { return other.gathered > 0; }, limit_ns);
  }

  testing::TestCluster cluster{first_of_two()};
  GivenLease lease;
  OtherServer other;
  std::vector<std::uint64_t> other_memory = std::vector<std::uint64_t>(64);
  fabric::sim::SimNode& other_node = cluster.world.add_node("m1");
  fabric::sim::SimServerFabric other_fabric{other_node, std::as_writable_bytes(std::span(other_memory)),
                                            other};
  control::ControlState state;
  Restorer restorer{*parts().region, parts().tables};
  LogReplay replay{*parts().region, parts().tables, restorer, parts().options, state};
  Unopened unopened;
  HostOpening opening{parts(), kDatabase, unopened, replay};
  ClusterOpening rounds{parts(), opening, kDatabase};
};

}  // namespace cluster_opening_test

using namespace cluster_opening_test;

TEST_CASE("a server whose lease ends while its link is made gathers nobody before it has one again",
          "[together]") {
  Leader leader;
  leader.other.at_connect = [&] { leader.lease.held = false; };
  leader.rounds.start();
  CHECK_FALSE(leader.gathers(10 * kSecond_ns));
  REQUIRE(leader.parts().links.state(1) == Links::State::up);
  leader.lease.held = true;
  CHECK(leader.gathers(10 * kSecond_ns));
}

TEST_CASE("a server with a lease gathers the others as soon as its link is made", "[together]") {
  Leader leader;
  leader.rounds.start();
  CHECK(leader.gathers(kSecond_ns));
}

}  // namespace namdb::memory
