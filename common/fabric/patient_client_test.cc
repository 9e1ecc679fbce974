#include "common/fabric/patient_client.h"

#include <catch2/catch.hpp>
#include <optional>

#include "common/fabric/sim/testing/test_cluster.h"

namespace namdb::fabric {
namespace patient_client_test {

using Connected = Result<std::unique_ptr<Channel>>;

constexpr std::uint64_t kWait_ns = 100 * kMillisecond_ns;
constexpr std::uint64_t kHang_ns = 100 * kSecond_ns;

// One server, and a client that is patient for a moment.
struct Patient {
  Patient() : cluster(7, 1, false), node(cluster.world.add_node("client")), inner(node) {}
  ~Patient() {
    channels.clear();
    cluster.world.run(node, client.settle());
  }
  Connected connect(const std::string& address) {
    return cluster.world.run(node, client.connect(address, "hello", &welcome));
  }
  std::size_t peers() const { return cluster.service.peers.size(); }

  sim::Cluster cluster;
  sim::SimNode& node;
  sim::SimClientFabric inner;
  PatientClient client{node, inner, kWait_ns};
  std::string welcome;
  std::vector<std::unique_ptr<Channel>> channels;
};

TEST_CASE("a patient client passes on channels, welcomes and errors", "[patient]") {
  Patient patient;
  auto connected = patient.connect("sim:memory");
  REQUIRE(connected.ok());
  CHECK(patient.welcome == "welcome hello");
  patient.channels.push_back(std::move(*connected));
  const auto refused =
      patient.cluster.world.run(patient.node, patient.client.connect("sim:memory", "refuse", nullptr));
  CHECK(refused.status().code() == ErrorCode::fenced);
  const auto nobody = patient.connect("sim:nobody");
  CHECK(nobody.status().message() == "nothing listens at sim:nobody");
}

TEST_CASE("a host that hangs is awaited once, and refused at once until the attempt has ended", "[patient]") {
  Patient patient;
  const std::size_t before = patient.peers();
  patient.cluster.world.pause(patient.cluster.server_node, kHang_ns);
  const std::uint64_t began_ns = patient.node.now_ns();
  const auto hung = patient.connect("sim:memory");
  REQUIRE_FALSE(hung.ok());
  CHECK(hung.status().code() == ErrorCode::connection_failure);
  CHECK(hung.status().message().find("has not answered within") != std::string::npos);
  const std::uint64_t waited_ns = patient.node.now_ns() - began_ns;
  CHECK(waited_ns >= kWait_ns);
  CHECK(waited_ns < 2 * kWait_ns);
  for (int i = 0; i < 3; ++i) {
    CHECK(patient.connect("sim:memory").status().message() == "sim:memory does not answer");
    CHECK(patient.connect("sim:nobody").status().message() == "nothing listens at sim:nobody");
  }
  CHECK(patient.node.now_ns() - began_ns < kHang_ns);
  // The one attempt ends with a channel that is not wanted any more.
  patient.cluster.world.run(patient.node, patient.client.settle());
  patient.cluster.world.run_for(kSecond_ns);
  CHECK(patient.peers() == before + 1);
  CHECK(patient.cluster.service.disconnected.size() == 1);
  // It was slow: it gets more time now.
  patient.cluster.world.pause(patient.cluster.server_node, kWait_ns * 3 / 2);
  auto slow = patient.connect("sim:memory");
  REQUIRE(slow.ok());
  patient.channels.push_back(std::move(*slow));
}

TEST_CASE("nobody waits for a host that is given up", "[patient]") {
  Patient patient;
  patient.cluster.world.pause(patient.cluster.server_node, kHang_ns);
  const std::uint64_t began_ns = patient.node.now_ns();
  patient.cluster.world.at(patient.cluster.world.now_ns() + kWait_ns / 10,
                           [&patient] { patient.client.give_up("sim:memory"); });
  CHECK_FALSE(patient.connect("sim:memory").ok());
  CHECK(patient.node.now_ns() - began_ns < kWait_ns);
}

}  // namespace patient_client_test
}  // namespace namdb::fabric
